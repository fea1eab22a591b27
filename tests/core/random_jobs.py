"""Random jobs with what numpy says of them, for any backends that can be installed or made up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from headrace.device import StreamIndexGenerator
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.job_graph import JobGraph
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.tensor_spec import Array, TensorSpec

SHAPES = ((), (1,), (3,), (2, 3), (0, 3), (200,), (3, 64))
UNARY: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "negative": np.negative,
    "identity": np.copy,
}
BINARY: dict[str, Callable[[Array, Array], Array]] = {"add": np.add, "subtract": np.subtract}
OPS = (*UNARY, *BINARY, "reshape", "slice")  # add_n has no kernel: it is decomposed
NAMES = ("x", "add_0", "a/y", "x@far:0", "x@far:0'", "relu_0#workspace", "é\n ", "add_1/z")


class Spreading(StreamIndexGenerator):
    """Two compute streams in turn."""

    def __init__(self, device_index: int = 0) -> None:
        super().__init__(device_index)
        self.turn = 0

    def compute(self) -> int:
        self.turn += 1
        return (0, 3)[self.turn % 2]


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

    def op(
        self, op: str, inputs: Sequence[Tensor], numpy_op: Callable[..., Array], **attrs: Any
    ) -> None:
        names = [tensor.name for tensor in inputs]
        (made,) = self.builder.op(op, inputs, **attrs)
        self.add(made, lambda values: numpy_op(*(values[name] for name in names)))


@st.composite
def cases(draw: st.DrawFn, devices: Sequence[str], most: int = 16) -> Case:
    """Inputs read or not, constants, shared tensors, any placement; results of every kind."""
    drawn = Drawn(JobGraphBuilder("job", Placement.of_device(devices[0])))
    specs: dict[str, TensorSpec] = {}
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True)):
        specs[name] = TensorSpec(draw(st.sampled_from(SHAPES)), "int64")
        drawn.fed(drawn.builder.input(name, specs[name]))
    for number in range(draw(st.integers(0 if specs else 1, 2))):
        drawn.known(np.full(draw(st.sampled_from(SHAPES)), number - 1, np.int64))
    for _ in range(draw(st.integers(0, most))):
        tensors = [tensor for tensor, _ in drawn.steps]
        one = draw(st.sampled_from(tensors))
        with drawn.builder.placed(Placement.of_device(draw(st.sampled_from(devices)))):
            op = draw(st.sampled_from((*OPS, "add_n")))
            if op in UNARY:
                drawn.op(op, [one], UNARY[op])
            elif op == "reshape":
                drawn.op(op, [one], np.ravel, shape=(one.spec.elements,))
            elif op == "slice":
                if not one.spec.shape:
                    continue
                cut = draw(st.integers(0, one.spec.shape[0]))
                drawn.op(op, [one], lambda x, cut=cut: x[cut:], starts=(cut,), ends=(2**31,))
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
