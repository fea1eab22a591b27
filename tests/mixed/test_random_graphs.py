"""A thousand random graphs of the ops that models are made of, on two devices, against oracles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import CORE_OPS, JobGraph, JobGraphBuilder
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.tensor_spec import Array, TensorSpec
from headrace.testing.oracle import compute

DEVICES = ("cpu", "fakedevice")
SIDE = 4

# Continuous where they are used, so that rounding cannot tip a result over an edge.
UNARY = ("relu", "tanh", "sigmoid", "negative", "abs", "softsign", "swish", "hard_swish", "erf")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum")


@dataclass(slots=True)
class Grown:
    """A graph that is being drawn."""

    draw: st.DrawFn
    builder: JobGraphBuilder
    tensors: list[Tensor]

    def pick(self, least_rank: int = 0) -> Tensor:
        """One of the tensors so far, of at least this rank; a small constant if there is none."""
        fitting = [t for t in self.tensors if t.spec.rank >= least_rank]
        if not fitting:
            return self.weight((2,) * least_rank)
        return self.draw(st.sampled_from(fitting))

    def axis(self, tensor: Tensor) -> int:
        return self.draw(st.integers(-tensor.spec.rank, tensor.spec.rank - 1))

    def weight(self, shape: Sequence[int]) -> Tensor:
        """A constant of this shape."""
        seed = self.draw(st.integers(0, 9))
        return self.builder.constant(numbers(shape, seed))

    def op(self, name: str, *inputs: Tensor | None, **attrs: object) -> Tensor:
        return self.builder.op(name, inputs, attrs=attrs)[0]


def numbers(shape: Sequence[int], seed: int) -> Array:
    """Floats of both signs, none large."""
    return np.random.default_rng(seed).uniform(-1, 1, tuple(shape)).astype(np.float32)


def unary(g: Grown) -> Tensor:
    return g.op(g.draw(st.sampled_from(UNARY)), g.pick())


def binary(g: Grown) -> Tensor:
    """Two tensors whose shapes fit; else one, with a part of itself that repeats."""
    a, b = g.pick(), g.pick()
    try:
        np.broadcast_shapes(a.spec.shape, b.spec.shape)
    except ValueError:
        shape = [d if g.draw(st.booleans()) else 1 for d in a.spec.shape]
        b = g.weight(shape[g.draw(st.integers(0, len(shape))) :])
    return g.op(g.draw(st.sampled_from(BINARY)), a, b)


def matmul(g: Grown) -> Tensor:
    a = g.pick(2)
    return g.op("matmul", a, g.weight((a.spec.shape[-1], g.draw(st.integers(1, SIDE)))))


def transpose(g: Grown) -> Tensor:
    a = g.pick(1)
    return g.op("transpose", a, perm=tuple(g.draw(st.permutations(range(a.spec.rank)))))


def reshape(g: Grown) -> Tensor:
    """Two neighbouring axes become one, or one becomes two."""
    a = g.pick(1)
    shape = list(a.spec.shape)
    at = g.draw(st.integers(0, len(shape) - 1))
    if len(shape) > 1 and at < len(shape) - 1 and g.draw(st.booleans()):
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    else:
        divisor = g.draw(st.sampled_from([d for d in range(1, 5) if shape[at] % d == 0]))
        shape[at : at + 1] = [divisor, shape[at] // divisor]
    return g.op("reshape", a, shape=tuple(shape))


def reduce(g: Grown) -> Tensor:
    a = g.pick(1)
    op = g.draw(st.sampled_from(["reduce_sum", "reduce_mean", "reduce_max", "reduce_min"]))
    axes = g.draw(st.sets(st.integers(0, a.spec.rank - 1), min_size=1))
    return g.op(op, a, axes=tuple(sorted(axes)), keep_dims=g.draw(st.booleans()))


def softmax(g: Grown) -> Tensor:
    a = g.pick(1)
    return g.op("softmax", a, axis=g.axis(a))


def concat(g: Grown) -> Tensor:
    a = g.pick(1)
    axis = g.axis(a) % a.spec.rank
    shape = list(a.spec.shape)
    shape[axis] = g.draw(st.integers(1, SIDE))
    parts = [a, g.weight(shape), *([a] if g.draw(st.booleans()) else [])]
    return g.op("concat", *parts, axis=axis)


def slice_(g: Grown) -> Tensor:
    a = g.pick(1)
    axis = g.axis(a) % a.spec.rank
    size = a.spec.shape[axis]
    begin = g.draw(st.integers(0, size - 1))
    end = g.draw(st.integers(begin + 1, size))
    step = g.draw(st.integers(1, 2))
    return g.op("slice", a, axes=(axis,), starts=(begin,), ends=(end,), steps=(step,))


def conv(g: Grown) -> Tensor:
    a = g.pick(1)
    image = a.spec.shape
    if a.spec.rank != 4:
        rows = math.prod(image)
        a = g.op("reshape", a, shape=(1, 1, 1, rows))
        image = (1, 1, 1, rows)
    kernel = tuple(g.draw(st.integers(1, 3)) for _ in range(2))
    pads = tuple(k - 1 for k in kernel)
    weight = g.weight((g.draw(st.integers(1, 3)), image[1], *kernel))
    bias = g.weight((weight.spec.shape[0],)) if g.draw(st.booleans()) else None
    return g.op("conv", a, weight, bias, pads=(*pads, 0, 0))


def gather(g: Grown) -> Tensor:
    a = g.pick(1)
    axis = g.axis(a) % a.spec.rank
    places = g.draw(st.lists(st.integers(0, a.spec.shape[axis] - 1), min_size=1, max_size=3))
    return g.op("gather", a, g.builder.constant(np.array(places, np.int64)), axis=axis)


STEPS: tuple[Callable[[Grown], Tensor], ...] = (
    unary, binary, matmul, transpose, reshape, reduce, softmax, concat, slice_, conv, gather,
)  # fmt: skip


@st.composite
def graphs(draw: st.DrawFn) -> tuple[JobGraph, Mapping[str, Array]]:
    """A graph of one to eight ops, most of which read what others made, and what to feed it."""
    builder = JobGraphBuilder("random", Placement.of_device("cpu"))
    feeds = {}
    grown = Grown(draw, builder, [])
    for number in range(draw(st.integers(1, 2))):
        shape = draw(st.lists(st.integers(1, SIDE), max_size=4))
        feeds[f"x{number}"] = numbers(shape, draw(st.integers(10, 19)))
        grown.tensors.append(builder.input(f"x{number}", TensorSpec.of(feeds[f"x{number}"])))
    for _ in range(draw(st.integers(1, 8))):
        made = draw(st.sampled_from(STEPS))(grown)
        if made.spec.elements <= 1000 and made.spec.rank <= 6:
            grown.tensors.append(made)
    results = draw(st.lists(st.sampled_from(grown.tensors[-3:]), min_size=1, max_size=3))
    for number, tensor in enumerate(dict.fromkeys(results)):
        builder.output(f"y{number}", tensor)
    return builder.finish(), feeds


def on(graph: JobGraph, place: Callable[[int], str]) -> JobGraph:
    """The same graph with op n on ``place(n)``."""
    builder = JobGraphBuilder(graph.name, Placement.of_device(place(0)))
    tensors = {t.name: builder.input(t.name, t.spec) for t in graph.inputs}
    tensors.update((name, builder.constant(v, name)) for name, v in graph.constants.items())
    for number, op in enumerate(graph.ops):
        with builder.placed(Placement.of_device(place(number))):
            given = [None if name is None else tensors[name] for name in op.inputs]
            made = builder.op(
                op.call.op, given, outputs=len(op.outputs), name=op.call.name, attrs=op.call.attrs
            )
        tensors.update(zip(op.outputs, made, strict=True))
    for name, tensor in graph.outputs:
        builder.output(name, tensors[tensor.name])
    return builder.finish()


def wanted(graph: JobGraph, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """What the oracle of each op gives, one after another, on the graph as it was drawn."""
    values = {**graph.constants, **feeds}
    for op in graph.ops:
        given = [None if name is None else values[name] for name in op.inputs]
        values.update(zip(op.outputs, compute(op.call, given, CORE_OPS), strict=False))
    return {name: values[tensor.name] for name, tensor in graph.outputs}


@given(drawn=graphs(), turn=st.integers(0, 3))
@settings(max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
def test_random_graphs_give_what_the_oracles_say(
    drawn: tuple[JobGraph, Mapping[str, Array]], turn: int
) -> None:
    """On each device alone, and from one to the other op by op."""
    graph, feeds = drawn
    want = wanted(graph, feeds)
    mixed = [("cpu", "fakedevice:0", "fakedevice:1", "cpu")[(i + turn) % 4] for i in range(4)]
    for place in (*((lambda n, d=d: d) for d in DEVICES), lambda n: mixed[n % 4]):
        with CompiledJob(on(graph, place)) as job:
            got = job.run(feeds)
        for name, value in want.items():
            np.testing.assert_allclose(got[name], value, rtol=2e-4, atol=2e-5, err_msg=name)
