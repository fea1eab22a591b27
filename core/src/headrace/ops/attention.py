"""Attention over what was seen before: keys and values that are kept from one call to the next,
and the places that they are turned by.

Keys and values lie in *caches*, ``[batch, heads, length, size]``: place p of a sequence is that of
its p-th step. ``before`` says how many steps each sequence of the batch had when the call began;
the step i of a call is then that of the place ``before + i``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.dtypes import FLOATS, bool_, int64
from headrace.errors import OpError
from headrace.op_call import OpCall
from headrace.ops.failure import fail
from headrace.ops.formula import Formula
from headrace.ops.schema import Attr, GraphBuilder, Input, Op, SbpSignature, Tensor
from headrace.ops.shapes import addressable
from headrace.sbp import Broadcast, Sbp, Split
from headrace.tensor_spec import TensorSpec

_PLACES = frozenset({int64})


class CacheWrite(Op):
    """``past``, or zeros, with the steps of ``x`` written to the places from ``before`` on.

    x: ``[batch, heads, steps, size]``; past: ``[batch, heads, room, size]``, where room is at most
    ``length``; before: int64[batch]; y: ``[batch, heads, length, size]``, 0 where nothing was.
    A step outside ``0..length - 1`` is an error when the op runs.

    Attributes:
        clears: what is behind the last step is 0, whatever was there.
    """

    name = "cache_write"
    inputs = (
        Input("x"),
        Input("past", optional=True),
        Input("before", _PLACES, group=""),
    )
    attrs = (Attr("length", "int"), Attr("clears", "bool", False))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, length = call.input(0), call.int_attr("length")
        if x.rank != 4 or not x.shape[2] <= length:
            fail(call, f"x is {x}; it needs four axes, and at most {length} steps in the third")
        batch, heads, _, size = x.shape
        if call.has_input(1):
            past = call.input(1)
            room = past.shape[2] if past.rank == 4 else 0
            if past.shape != (batch, heads, room, size) or room > length:
                fail(call, f"past is {past}; for x {x} it is up to {[batch, heads, length, size]}")
        _check_places(call, 2, batch)
        return (addressable(call, x.with_shape((batch, heads, length, size))),)

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        if call.has_input(1) and call.input(1).shape[2] == call.int_attr("length"):
            return ((1, 0),)
        return ()

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        batch, heads, *_ = call.input(0).shape
        by_batch = SbpSignature((Split(0),) * 3, (Split(0),))
        by_head = SbpSignature((Split(1), Split(1), Broadcast()), (Split(1),))
        return (by_batch,) * (batch > 1) + (by_head,) * (heads > 1)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        x, past, before = inputs
        assert x is not None and before is not None
        f = Formula(call, builder, wide=x.spec.dtype)
        (batch, heads, steps, _), length = x.spec.shape, call.int_attr("length")
        whole = _extended(f, past, call.outputs[0], builder)

        def number(value: int) -> Tensor:
            return builder.constant(np.array(value, np.int64))

        # A negative index would count from the end: it is put beyond it.
        first = f.op("where", f.op("less", before, number(0)), number(length), before)
        first = f.op("reshape", first, shape=(batch, 1, 1))
        place = f.op("add", first, builder.constant(np.arange(steps)))
        place = f.op("reshape", place, shape=(batch, 1, steps, 1))
        place = f.op("expand", place, shape=(batch, heads, steps, 1))
        rows = np.stack(np.meshgrid(np.arange(batch), np.arange(heads), indexing="ij"), axis=-1)
        rows = np.repeat(rows[:, :, None], steps, axis=2)
        where = f.op("concat", builder.constant(rows), place, axis=3)
        y = f.op("scatter_nd", whole, where, x)
        if not call.flag_attr("clears"):
            return (y,)
        end = f.op("add", f.op("reshape", before, shape=(batch, 1, 1, 1)), number(steps))
        kept = f.op("less", builder.constant(np.arange(length)[:, None]), end)
        return (f.op("where", kept, y, f.scalar(0)),)


class CachedAttention(Op):
    """``softmax(scale * q k^T + bias) v`` over the places that each step sees.

    q: ``[batch, heads, steps, size]``; k: ``[batch, shared, length, size]`` and v: ``[batch,
    shared, length, columns]``, each of whose heads serves ``heads / shared`` queries in a row;
    before and end: int64[batch]; bias: broadcasts to ``[batch, heads, steps, length]``, of which it
    has the last axis whole; sink: ``[heads]``; y: ``[batch, heads, steps, columns]``.

    Step i sees the places that are less than ``end``, and no later than its own, ``before + i``, if
    it is ``causal``; of these only the last ``window`` ones, if that is not 0. A step that sees no
    place gives 0, and what it does not see may be anything but NaN and infinity. ``sink`` is one
    score more for each head, of a place whose value is 0.

    Attributes:
        softcap: if it is not 0, a product s becomes ``softcap * tanh(s / softcap)`` when it is
            scaled, before the bias is added.
    """

    name = "cached_attention"
    inputs = (
        Input("q", FLOATS),
        Input("k", FLOATS),
        Input("v", FLOATS),
        Input("before", _PLACES, group=""),
        Input("end", _PLACES, group="", optional=True),
        Input("bias", FLOATS, optional=True),
        Input("sink", FLOATS, optional=True),
    )
    attrs = (
        Attr("scale", "float"),
        Attr("causal", "bool", True),
        Attr("window", "int", 0),
        Attr("softcap", "float", 0.0),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        q, k, v = (call.input(index) for index in range(3))
        if not q.rank == k.rank == v.rank == 4 or 0 in (q.shape[1], k.shape[1]):
            fail(call, f"q is {q}, k {k} and v {v}; they need four axes, and heads")
        batch, heads, steps, size = q.shape
        shared, length = k.shape[1:3]
        if k.shape != (batch, shared, length, size) or v.shape[:3] != k.shape[:3]:
            fail(call, f"q is {q}, k {k} and v {v}, which do not fit")
        if heads % shared:
            fail(call, f"q has {heads} heads, which the {shared} of k do not divide")
        _check_places(call, 3, batch)
        if call.has_input(4):
            _check_places(call, 4, batch)
        if call.has_input(5):
            _check_bias(call, (batch, heads, steps, length))
        if call.has_input(6) and call.input(6).shape != (heads,):
            fail(call, f"sink is {call.input(6)}; it has one number for each of {heads} heads")
        window = call.int_attr("window")
        if window < 0 or (window and not call.flag_attr("causal")):
            fail(call, f"window is {window}; it is 0, or more where a call is causal", OpError)
        return (q.with_shape((batch, heads, steps, v.shape[3])),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        if call.input(0).shape[0] < 2:
            return ()
        of_batch: list[Sbp] = [Split(0)] * 7
        if call.has_input(5) and call.input(5).shape[0] == 1:
            of_batch[5] = Broadcast()
        of_batch[6] = Broadcast()
        return (SbpSignature(tuple(of_batch), (Split(0),)),)

    @classmethod
    def products(cls, call: OpCall) -> int:
        q, v = call.input(0), call.input(2)
        return q.elements * v.shape[2] + q.elements // max(q.shape[3], 1) * v.shape[2] * v.shape[3]

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        q, k, v = (f.take(tensor) for tensor in inputs[:3])
        batch, heads, steps, size = q.spec.shape
        shared, length, columns = (*k.spec.shape[1:3], v.spec.shape[3])
        # Heads that share keys are rows of one product: keys are not copied for each.
        rows = (batch, shared, heads // shared * steps)
        scores = f.op("matmul", f.op("reshape", q, shape=(*rows, size)), k, transpose_b=True)
        scores = f.op("multiply", scores, f.scalar(call.float_attr("scale")))
        scores = f.op("reshape", scores, shape=(batch, heads, steps, length))
        cap = call.float_attr("softcap")
        if cap:
            bent = f.op("tanh", f.op("multiply", scores, f.scalar(1 / cap)))
            scores = f.op("multiply", bent, f.scalar(cap))
        if inputs[5] is not None:
            scores = f.op("add", scores, f.take(inputs[5]))
        seen = _seen(call, inputs, builder, f)
        least = float(np.finfo(scores.spec.dtype.numpy).min)
        scores = f.op("where", seen, scores, f.scalar(least))
        shares = f.op("where", seen, _softmax(f, scores, inputs[6]), f.scalar(0))
        y = f.op("matmul", f.op("reshape", shares, shape=(*rows, length)), v)
        return f.give(f.op("reshape", y, shape=(batch, heads, steps, columns)))


class RotaryEmbedding(Op):
    """``x`` with pairs of its numbers turned by an angle, of which the cosine and sine are given.

    x: ``[batch, heads, steps, size]``; cos and sin: ``[batch or 1, steps, pairs]``, where the pairs
    are at most half of the size; y: as x. The pair ``(a, b)`` becomes ``(a cos - b sin, a sin + b
    cos)``; what is beyond the pairs stays as it is.

    Attributes:
        interleaved: pairs are neighbours; if not, ``pairs`` apart.
    """

    name = "rotary_embedding"
    inputs = (Input("x", FLOATS), Input("cos", FLOATS), Input("sin", FLOATS))
    attrs = (Attr("interleaved", "bool", False),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, cos, sin = (call.input(index) for index in range(3))
        if x.rank != 4 or cos.rank != 3 or sin != cos:
            fail(call, f"x is {x}, cos {cos} and sin {sin}; they need four axes, and three alike")
        batch, _, steps, size = x.shape
        fits = cos.shape[0] in (1, batch) and cos.shape[1] == steps and 2 * cos.shape[2] <= size
        if not fits:
            fail(call, f"cos is {cos}; for x {x} it is up to {[batch, steps, size // 2]}")
        return (x,)

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        batch, heads, steps, _ = call.input(0).shape
        angles = Broadcast() if call.input(1).shape[0] == 1 else Split(0)
        by_batch = SbpSignature((Split(0), angles, angles), (Split(0),))
        by_head = SbpSignature((Split(1), Broadcast(), Broadcast()), (Split(1),))
        by_step = SbpSignature((Split(2), Split(1), Split(1)), (Split(2),))
        ways = ((by_batch, batch), (by_head, heads), (by_step, steps))
        return tuple(way for way, dim in ways if dim > 1)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        x, cos, sin = (f.take(tensor) for tensor in inputs)
        (*outer, size), pairs = x.spec.shape, cos.spec.shape[2]
        neighbours = call.flag_attr("interleaved")

        def part(start: int, end: int) -> Tensor:
            return f.op("slice", x, starts=(start,), ends=(end,), axes=(3,))

        turned = x if 2 * pairs == size else part(0, 2 * pairs)
        shape, axis = ((*outer, pairs, 2), 4) if neighbours else ((*outer, 2, pairs), 3)
        apart = f.op("reshape", turned, shape=shape)
        a, b = (
            f.op(
                "reshape",
                f.op("slice", apart, starts=(i,), ends=(i + 1,), axes=(axis,)),
                shape=(*outer, pairs),
            )
            for i in (0, 1)
        )
        angles = (cos.spec.shape[0], 1, *cos.spec.shape[1:])
        cos, sin = (f.op("reshape", angle, shape=angles) for angle in (cos, sin))
        made = [
            f.op("subtract", f.op("multiply", a, cos), f.op("multiply", b, sin)),
            f.op("add", f.op("multiply", a, sin), f.op("multiply", b, cos)),
        ]
        whole = (*outer, pairs, 1) if neighbours else (*outer, 1, pairs)
        made = [f.op("reshape", numbers, shape=whole) for numbers in made]
        y = f.op("reshape", f.op("concat", *made, axis=axis), shape=turned.spec.shape)
        return f.give(y if turned is x else f.op("concat", y, part(2 * pairs, size), axis=3))


def _check_places(call: OpCall, index: int, batch: int) -> None:
    if call.input(index).shape != (batch,):
        name = ("before", "end")[index == 4]
        fail(call, f"{name} is {call.input(index)}; it has one number for each of {batch}")


def _check_bias(call: OpCall, scores: tuple[int, ...]) -> None:
    bias = call.input(5).shape
    fits = len(bias) == 4 and bias[3] == scores[3]
    if not fits or any(b not in (1, s) for b, s in zip(bias, scores, strict=True)):
        fail(call, f"bias is {call.input(5)}; it must broadcast to {scores}, its last axis whole")


def _extended(f: Formula, past: Tensor | None, y: TensorSpec, builder: GraphBuilder) -> Tensor:
    """What was kept, and zeros up to the end of ``y``."""
    room = 0 if past is None else past.spec.shape[2]
    batch, heads, length, size = y.shape
    if past is not None and room == length:
        return past
    zeros = builder.constant(np.zeros((batch, heads, length - room, size), y.dtype.numpy))
    return zeros if past is None else f.op("concat", past, zeros, axis=2)


def _seen(
    call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder, f: Formula
) -> Tensor:
    """Which places a step sees: ``[batch or 1, 1, steps or 1, length]``."""
    (batch, _, steps, _), length = call.input(0).shape, call.input(1).shape[2]
    place = np.arange(length)
    reasons: list[Tensor] = []
    if inputs[4] is not None:
        end = f.op("reshape", inputs[4], shape=(batch, 1, 1, 1))
        reasons.append(f.op("less", builder.constant(place), end))
    if call.flag_attr("causal"):
        assert inputs[3] is not None
        before = f.op("reshape", inputs[3], shape=(batch, 1, 1, 1))
        # How far a place is after the step that looks at it.
        apart = builder.constant(place - np.arange(steps)[:, None])
        apart = f.op("subtract", apart, before)
        reasons.append(f.op("less_equal", apart, builder.constant(np.zeros((), np.int64))))
        if window := call.int_attr("window"):
            oldest = builder.constant(np.array(-window, np.int64))
            reasons.append(f.op("greater", apart, oldest))
    if not reasons:
        return builder.constant(np.ones((1, 1, 1, length), bool_.numpy))
    seen = reasons[0]
    for reason in reasons[1:]:
        seen = f.op("logical_and", seen, reason)
    return seen


def _softmax(f: Formula, scores: Tensor, sink: Tensor | None) -> Tensor:
    """Shares of the scores, of which the sink takes one."""
    if sink is None:
        return f.op("softmax", scores, axis=3)
    batch, heads, steps, length = scores.spec.shape
    column = f.op("reshape", f.take(sink), shape=(1, heads, 1, 1))
    column = f.op("expand", column, shape=(batch, heads, steps, 1))
    shares = f.op("softmax", f.op("concat", scores, column, axis=3), axis=3)
    return f.op("slice", shares, starts=(0,), ends=(length,), axes=(3,))


OPS: tuple[type[Op], ...] = (CacheWrite, CachedAttention, RotaryEmbedding)
