"""Random jobs on random placements give what numpy gives, whatever memory they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_backends import FarBuffer, FarKernel, far, near

from headrace.device import (
    Buffer,
    DeviceContext,
    HostBuffer,
    Launch,
    StreamIndexEntry,
    StreamIndexGenerator,
)
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.job_graph import JobGraph, JobGraphBuilder
from headrace.hookspecs import hookimpl
from headrace.numpy_ops import NumpyKernel
from headrace.op_call import OpCall
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.registry.registry import BackendRegistry
from headrace.tensor_spec import Array, TensorSpec

DEVICES = ("near:0", "near:1", "far:0", "far:1")
SHAPES = ((), (1,), (3,), (2, 3), (0, 3), (200,))
UNARY: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "negative": np.negative,
    "identity": np.copy,
}
BINARY: dict[str, Callable[[Array, Array], Array]] = {"add": np.add, "subtract": np.subtract}
OPS = (*UNARY, *BINARY)  # add_n has no kernel: it is decomposed
NAMES = ("x", "add_0", "a/y", "x@far:0", "x@far:0'", "relu_0#workspace", "é\n ", "add_1/z")
POISON = 0xAB


def memory_of(buffer: Buffer) -> Array:
    """The bytes of a buffer of either backend."""
    if isinstance(buffer, FarBuffer):
        return buffer.hidden
    assert isinstance(buffer, HostBuffer)
    return buffer.memory


def poisoning(base: type[NumpyKernel]) -> Callable[[OpCall], NumpyKernel]:
    """Kernels that overwrite their outputs before the work, and their scratch before and after.

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
            scratch, made = memory_of(workspace), [memory_of(b) for b in outputs]

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


class Spreading(StreamIndexGenerator):
    """Two compute streams in turn."""

    def __init__(self, device_index: int = 0) -> None:
        super().__init__(device_index)
        self.turn = 0

    def compute(self) -> int:
        self.turn += 1
        return (0, 3)[self.turn % 2]


def poisoned_registry() -> BackendRegistry:
    """``near`` and ``far`` with poisoning kernels; ``far`` spreads work over two streams."""
    hooks = dict(vars(far(OPS, poisoning(FarKernel))))
    hooks["headrace_stream_index_generators"] = hookimpl(
        lambda: [StreamIndexEntry("far", Spreading)]
    )
    modules = {"near": near(OPS, poisoning(NumpyKernel)), "far": SimpleNamespace(**hooks)}
    return BackendRegistry.from_modules(modules)


@dataclass
class Case:
    """A job, and how numpy computes its results from the values of its inputs."""

    graph: JobGraph
    compute: Callable[[dict[str, Array]], dict[str, Array]]
    specs: dict[str, TensorSpec]


@dataclass
class Drawn:
    """A job being drawn: its tensors, each with what computes it from values by tensor name."""

    builder: JobGraphBuilder
    steps: list[tuple[Tensor, Callable[[dict[str, Array]], Array]]] = field(default_factory=list)

    def add(self, tensor: Tensor, step: Callable[[dict[str, Array]], Array]) -> None:
        self.steps.append((tensor, step))

    def fed(self, tensor: Tensor) -> None:
        self.add(tensor, lambda values: values[f"fed {tensor.name}"])

    def known(self, value: Array) -> None:
        self.add(self.builder.constant(value), lambda _: value)

    def op(self, op: str, inputs: Sequence[Tensor], numpy_op: Callable[..., Array]) -> None:
        names = [tensor.name for tensor in inputs]
        (made,) = self.builder.op(op, inputs)
        self.add(made, lambda values: numpy_op(*(values[name] for name in names)))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Inputs read or not, constants, shared tensors, any placement; results of every kind."""
    drawn = Drawn(JobGraphBuilder("job", Placement.of_device("near")))
    specs: dict[str, TensorSpec] = {}
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True)):
        specs[name] = TensorSpec(draw(st.sampled_from(SHAPES)), "int64")
        drawn.fed(drawn.builder.input(name, specs[name]))
    for number in range(draw(st.integers(0 if specs else 1, 2))):
        drawn.known(np.full(draw(st.sampled_from(SHAPES)), number - 1, np.int64))
    for _ in range(draw(st.integers(0, 12))):
        tensors = [tensor for tensor, _ in drawn.steps]
        one = draw(st.sampled_from(tensors))
        with drawn.builder.placed(Placement.of_device(draw(st.sampled_from(DEVICES)))):
            op = draw(st.sampled_from((*OPS, "add_n")))
            if op in UNARY:
                drawn.op(op, [one], UNARY[op])
            elif op == "add_n":
                same = [t for t in tensors if t.spec == one.spec]
                others = draw(st.lists(st.sampled_from(same), min_size=1, max_size=3))
                drawn.op(op, [one, *others], lambda *xs: np.sum(xs, axis=0, dtype=np.int64))
            else:
                other = draw(st.sampled_from([t for t in tensors if fits(one, t)]))
                drawn.op(op, [one, other], BINARY[op])
    chosen = draw(st.lists(st.sampled_from([t for t, _ in drawn.steps]), max_size=4))
    for number, tensor in enumerate(chosen):
        drawn.builder.output(f"result {number}", tensor)

    def compute(feeds: dict[str, Array]) -> dict[str, Array]:
        values = {f"fed {name}": array for name, array in feeds.items()}
        for tensor, step in drawn.steps:
            values[tensor.name] = step(values)
        return {f"result {i}": values[tensor.name] for i, tensor in enumerate(chosen)}

    return Case(drawn.builder.finish(), compute, specs)


def fits(a: Tensor, b: Tensor) -> bool:
    """True when the shapes broadcast."""
    try:
        np.broadcast_shapes(a.spec.shape, b.spec.shape)
    except ValueError:
        return False
    return True


def feeds_of(case: Case, seed: int) -> dict[str, Array]:
    """Numbers of both signs for each input, other ones for each seed."""
    random = np.random.default_rng(seed)
    return {
        name: np.asarray(random.integers(-99, 99, spec.shape)) for name, spec in case.specs.items()
    }


def check(case: Case, feeds: dict[str, Array], results: dict[str, Array]) -> None:
    expected = case.compute(feeds)
    assert list(results) == list(expected)
    for name, array in results.items():
        assert array.dtype == np.int64
        assert array.shape == expected[name].shape
        np.testing.assert_array_equal(array, expected[name])


@settings(max_examples=150, deadline=None)
@given(cases())
def test_a_random_job_gives_what_numpy_gives(case: Case) -> None:
    """One after another and several at a time, calls give the right numbers in memory of their own.

    Every launch poisons what it may write, so memory that is reused too early shows.
    """
    with CompiledJob(case.graph, poisoned_registry()) as compiled:
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
