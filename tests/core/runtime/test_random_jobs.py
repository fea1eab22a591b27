"""Random jobs on random placements give what numpy gives, whatever memory they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from random_jobs import OPS, Case, Spreading, cases, check, feeds_of
from toy_backends import FarBuffer, FarKernel, far, near

from headrace.compiler.concurrency import Concurrency
from headrace.compiler.memory.options import MemoryOptions
from headrace.device import (
    Buffer,
    DeviceContext,
    HostBuffer,
    Launch,
    StreamIndexEntry,
)
from headrace.frontend.compile_options import CompileOptions
from headrace.frontend.compiled_job import CompiledJob
from headrace.hookspecs import hookimpl
from headrace.numpy_ops import NumpyKernel
from headrace.op_call import OpCall
from headrace.registry.registry import BackendRegistry
from headrace.tensor_spec import Array

DEVICES = ("near:0", "near:1", "far:0", "far:1")
POISON = 0xAB


def memory_of(buffer: Buffer) -> Array:
    """The bytes of a buffer of either backend."""
    if isinstance(buffer, FarBuffer):
        return buffer.hidden
    assert isinstance(buffer, HostBuffer)
    return buffer.memory


def poisoning(base: type[NumpyKernel]) -> Callable[[OpCall], NumpyKernel]:
    """Kernels that overwrite their outputs before the work, and their scratch before and after.

    What is written in place of an input keeps it until then.

    If an input, an output and the scratch of one launch shared a byte, numbers would be wrong.
    """

    class Poisoning(base):  # type: ignore[misc, valid-type]
        def workspace_bytes(self) -> int:
            return 40

        def bind(
            self,
            context: DeviceContext,
            inputs: Sequence[Buffer | None],
            outputs: Sequence[Buffer],
            workspace: Buffer | None,
        ) -> Launch:
            assert workspace is not None
            scratch = memory_of(workspace)
            read = [memory_of(b) for b in inputs if b is not None]
            made = [memory_of(b) for b in outputs]
            made = [m for m in made if not any(np.shares_memory(m, r) for r in read)]  # in place

            def poison() -> None:
                for bytes_ in (scratch, *made):
                    bytes_[:] = POISON

            before = self.enqueue(context, poison)
            work = super().bind(context, inputs, outputs, None)
            after = self.enqueue(context, lambda: scratch.fill(POISON))

            def launch() -> None:
                before()
                work()
                after()

            return launch

    return Poisoning


def poisoned_registry() -> BackendRegistry:
    """``near`` and ``far`` with poisoning kernels; ``far`` spreads work over two streams."""
    hooks = dict(vars(far(OPS, poisoning(FarKernel))))
    hooks["headrace_stream_index_generators"] = hookimpl(
        lambda: [StreamIndexEntry("far", Spreading)]
    )
    modules = {"near": near(OPS, poisoning(NumpyKernel)), "far": SimpleNamespace(**hooks)}
    return BackendRegistry.from_modules(modules)


concurrencies = st.builds(Concurrency, st.integers(1, 4), st.integers(1, 3))


@settings(max_examples=150)
@given(cases(DEVICES), st.booleans(), st.booleans(), concurrencies)
def test_a_random_job_gives_what_numpy_gives(
    case: Case, inplace: bool, reuse: bool, concurrency: Concurrency
) -> None:
    """One after another and several at a time, calls give the right numbers in memory of their own.

    Every launch poisons what it may write, so memory that is reused too early shows.
    """
    memory = MemoryOptions(inplace, reuse)
    with CompiledJob(
        case.graph,
        poisoned_registry(),
        CompileOptions(memory=memory, concurrency=concurrency),
    ) as compiled:
        all_feeds = [feeds_of(case, seed) for seed in range(4)]
        all_results = [compiled.run(feeds) for feeds in all_feeds[:2]]
        calls = [compiled._executor.submit(feeds) for feeds in all_feeds[1:]]
        for feeds, call in zip(all_feeds[1:], calls, strict=True):
            check(case, feeds, {name: call.wait()[name] for name in all_results[0]})
        for feeds, results in zip(all_feeds[:2], all_results, strict=True):
            check(case, feeds, results)
        arrays = [array for results in all_results for array in results.values()]
        arrays += [array for feeds in all_feeds for array in feeds.values()]
        for number, array in enumerate(arrays):
            assert not any(np.shares_memory(array, other) for other in arrays[:number])
        for array in case.graph.constants.values():
            assert not any(np.shares_memory(array, other) for other in arrays)
