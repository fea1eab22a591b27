"""What launches of the extension allocate: ``allocations.py PATH``, where PATH was loaded first.

Runs the cases of the conformance suite, with all inputs given and with all but the first held as
constants, which this backend packs. Each launch is done once as it is meant, once more for memory
that threads keep, and then counted. Prints the ops of kernels, and how many launches of each
allocated, as JSON.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence

import headrace_cpu
from headrace.device import Buffer, DeviceContext, Launch
from headrace.errors import HeadraceError
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.registry import default_registry
from headrace.tensor_spec import Array, TensorSpec
from headrace.testing.case import Case
from headrace.testing.cases import all_cases
from headrace_cpu import _native
from headrace_cpu.kernels.native import NativeKernel


class Watch:
    """Counts in what launches allocate.

    Attributes:
        launches: by op, how many were counted.
        allocating: by op, how many of them allocated.
    """

    def __init__(self, allocations: Callable[[], int]) -> None:
        self._allocations = allocations
        nothing = _native.Sequence([])
        self._made_by(nothing)
        self._of_a_call = self._made_by(nothing)
        self.launches: Counter[str] = Counter()
        self.allocating: Counter[str] = Counter()

    def over(self, op: str, launch: Launch) -> Launch:
        """The launch, which is done and counted when it is called."""

        def counted() -> None:
            launch()
            launch()
            self.launches[op] += 1
            self.allocating[op] += self._made_by(launch) > self._of_a_call

        return counted

    def _made_by(self, launch: Launch) -> int:
        before = self._allocations()
        launch()
        return self._allocations() - before


def main() -> None:
    """Run all cases and print what was seen."""
    headrace_cpu.set_threads(1)  # which thread has what part, and so what memory, is chance else
    watch = Watch(ctypes.CDLL(sys.argv[1]).allocations)
    plain = NativeKernel.bind

    def bind(
        self: NativeKernel,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        launch = plain(self, context, inputs, outputs, workspace)
        is_native = isinstance(launch, _native.Launch)  # others compute with numpy
        return watch.over(self._call.op, launch) if is_native else launch

    NativeKernel.bind = bind  # type: ignore[method-assign]
    for case in all_cases():
        for held in (False, True):
            try:
                _run(case, held)
            except HeadraceError:  # no kernel, or an input that is an error
                continue
    made = {op: count for op, count in watch.allocating.items() if count}
    sys.stdout.write(json.dumps({"launches": watch.launches, "allocating": made}))


def _run(case: Case, held: bool) -> None:
    registry = default_registry()
    place = Placement.of_device("cpu")
    builder = JobGraphBuilder(str(case), place, fold=False, ops=registry)
    tensors: list[Tensor | None] = []
    feeds: dict[str, Array] = {}
    for index, array in enumerate(case.inputs):
        if array is None:
            tensors.append(None)
        elif held and index:
            tensors.append(builder.constant(array))
        else:
            tensors.append(builder.input(f"input_{index}", TensorSpec.of(array)))
            feeds[f"input_{index}"] = array
    made = builder.op(case.op, tensors, outputs=case.outputs, attrs=case.attrs)
    for index, tensor in enumerate(made):
        builder.output(f"output_{index}", tensor)
    with CompiledJob(builder.finish(), registry) as job:
        job.run(feeds)


if __name__ == "__main__":
    main()
