"""Put what follows a product with packed weights into it: a bias, activations, an addend."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from headrace.dtypes import float32, int32
from headrace.graph import GraphEditor, JobGraph, JobOp
from headrace.ops import Op
from headrace.ops.axes import per_tensor
from headrace_cpu.ops.block_matmul import BlockMatmul
from headrace_cpu.ops.conv import PackedConv
from headrace_cpu.ops.depthwise import DepthwiseConv
from headrace_cpu.ops.integer import (
    SCALE,
    Y_SCALE,
    Y_ZERO,
    IntegerConv,
    IntegerMatmul,
    IntegerProduct,
)
from headrace_cpu.ops.integer_batch import IntegerBatchMatmul
from headrace_cpu.ops.integer_depthwise import IntegerDepthwise
from headrace_cpu.ops.matmul import PackedMatmul
from headrace_cpu.ops.pack_integers import BYTES
from headrace_cpu.ops.places import ADDEND, BIAS
from headrace_cpu.ops.winograd import WinogradConv

PRODUCTS: Mapping[str, type[Op]] = {
    op.name: op
    for op in (
        PackedConv,
        WinogradConv,
        DepthwiseConv,
        PackedMatmul,
        BlockMatmul,
        IntegerConv,
        IntegerDepthwise,
        IntegerMatmul,
        IntegerBatchMatmul,
    )
}


@dataclass(frozen=True, slots=True)
class _Step:
    """What a product takes in: the ops after it, and how it says what they do."""

    chain: tuple[JobOp, ...]
    attrs: Mapping[str, object] = field(default_factory=dict)
    reads: Mapping[int, str | None] = field(default_factory=dict)  # as well, by their places


class FuseProducts:
    """The pass, for the ops of device ``tag``.

    Before: products with or without an epilogue. After: no op that a product could do for the only
    reader of its result follows one. ``x * sigmoid(x)``, ``x * hard_sigmoid(x)`` and
    ``x * clip(x + 3, 0, 6) / 6`` are the activations that they spell.
    """

    def __init__(self, tag: str) -> None:
        self._tag = tag

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with fewer ops."""
        finder = _Finder(graph, self._tag)
        for kind in PRODUCTS:
            for product in finder.editor.ops(kind):
                while (step := finder.step(product)) is not None:
                    product = finder.take(product, step)
        return finder.editor.finish()


class _Finder:
    """Looks for what follows a product in one graph."""

    def __init__(self, graph: JobGraph, tag: str) -> None:
        self.editor = GraphEditor(graph, tag)
        self._graph = graph

    def take(self, product: JobOp, step: _Step) -> JobOp:
        """Put the step into the product."""
        inputs = list(product.inputs)
        for place, tensor in step.reads.items():
            inputs[place] = tensor
        attrs = product.call.attrs | step.attrs
        op = PRODUCTS[product.call.op]
        return self.editor.replace([product, *step.chain], op, inputs, attrs)

    def step(self, product: JobOp) -> _Step | None:
        """What ``product`` can take in next; None when there is nothing."""
        if product.outputs[0] in self._graph.hints or product.call.has_input(Y_SCALE):
            return None
        users = self.editor.users(product.outputs[0])
        if len(users) == 2 and product.call.outputs[0].dtype != int32:
            return self._gate(product, users)
        if len(users) != 1 or not self.editor.is_private(product, users[0]):
            return None
        if product.call.outputs[0].dtype == int32:  # sums: all that follows a scale is of floats
            return self._scale(product, users[0])
        match users[0].call.op:
            case "add" | "bias_add" | "add_n":
                return self._bias(product, users[0]) or self._addend(product, users[0])
            case "quantize":
                return self._quantized(product, users[0])
        return self._activation(product, users[0])

    def _scale(self, product: JobOp, user: JobOp) -> _Step | None:
        """Integer sums as floats, times a number or one for each column."""
        if user.call.op != "cast":
            return None
        times = self._only_user(user)
        if times is None or times.call.op != "multiply" or times.call.outputs[0].dtype != float32:
            return None
        other = _other(times, user.outputs[0])
        if other is None or times.call.outputs[0].shape != user.call.outputs[0].shape:
            return None
        scale, columns = self.editor.tensor(other).spec, product.call.int_attr("columns")
        if scale.elements != 1 and (scale.elements != columns or scale.shape[-1] != columns):
            return None
        return _Step((user, times), {"dtype": float32}, {SCALE: other})

    def _quantized(self, product: JobOp, user: JobOp) -> _Step | None:
        """The result of a product of bytes as bytes again."""
        call = user.call
        if not issubclass(PRODUCTS[product.call.op], IntegerProduct):
            return None
        dtype = call.dtype_attr("dtype")
        if dtype not in BYTES or not per_tensor(call) or call.input(1).dtype != float32:
            return None
        if not product.call.has_input(SCALE):
            return None
        return _Step((user,), {"dtype": dtype}, {Y_SCALE: user.inputs[1], Y_ZERO: user.inputs[2]})

    def _bias(self, product: JobOp, user: JobOp) -> _Step | None:
        """A constant for each column, added to the sums alone."""
        if user.call.op == "add_n" or product.inputs[BIAS] is not None:
            return None
        if product.inputs[ADDEND] is not None or _is_activated(product):
            return None
        y = product.call.outputs[0]
        if user.call.op == "bias_add" and user.call.int_attr("axis") % y.rank != y.rank - 1:
            return None
        other = _other(user, product.outputs[0])
        bias = self._graph.constants.get(other or "")
        columns = product.call.int_attr("columns")
        if bias is None or user.call.outputs[0] != y or bias.shape[-1:] != (columns,):
            return None
        return None if bias.size != columns else _Step((user,), {}, {BIAS: other})

    def _addend(self, product: JobOp, user: JobOp) -> _Step | None:
        """Another tensor of the same shape: before the activation, or after it."""
        if user.call.op == "bias_add" or product.inputs[ADDEND] is not None:
            return None
        if len(user.inputs) != 2:
            return None
        other = _other(user, product.outputs[0])
        if other is None or set(user.call.inputs) != {product.call.outputs[0]}:
            return None
        return _Step((user,), {"addend_last": _is_activated(product)}, {ADDEND: other})

    def _activation(self, product: JobOp, user: JobOp) -> _Step | None:
        if _is_done(product):
            return None
        call = user.call
        match call.op:
            case "relu":
                return _activated(user, "clamp", 0.0, math.inf)
            case "sigmoid":
                return _activated(user, "sigmoid")
            case "leaky_relu":
                return _activated(user, "leaky", call.float_attr("alpha"))
            case "hard_sigmoid":
                alpha, beta = call.float_attr("alpha"), call.float_attr("beta")
                return _activated(user, "hard_sigmoid", alpha, beta)
            case "hard_swish":
                return _activated(user, "hard_swish", 1 / 6, 0.5)
            case "swish" if call.float_attr("alpha") == 1:
                return _activated(user, "silu")
            case "clip":
                low, high = self._limit(user, 1, -math.inf), self._limit(user, 2, math.inf)
                if low is not None and high is not None:
                    return _activated(user, "clamp", low, high)
        return None

    def _gate(self, product: JobOp, users: tuple[JobOp, ...]) -> _Step | None:
        """``x * f(x)``: both readers of x are in it."""
        x = product.outputs[0]
        if _is_done(product):
            return None
        for first, times in (users, users[::-1]):
            if times.call.op != "multiply":
                continue
            match first.call.op:
                case "sigmoid" if self._is_gate(product, (first,), times):
                    return _Step((first, times), _attrs("silu"))
                case "hard_sigmoid" if self._is_gate(product, (first,), times):
                    alpha, beta = (first.call.float_attr(name) for name in ("alpha", "beta"))
                    return _Step((first, times), _attrs("hard_swish", alpha, beta))
                case "add" if self._number(_other(first, x)) == 3:
                    return self._spelled_hard_swish(product, first, times)
        return None

    def _spelled_hard_swish(self, product: JobOp, plus: JobOp, times: JobOp) -> _Step | None:
        """``x * clip(x + 3, 0, 6)``, then divided by 6."""
        clip = self._only_user(plus)
        if clip is None or clip.call.op != "clip" or clip.inputs[0] != plus.outputs[0]:
            return None
        if (self._limit(clip, 1, -math.inf), self._limit(clip, 2, math.inf)) != (0, 6):
            return None
        over = self._only_user(times)
        if over is None or not self._is_gate(product, (plus, clip), times):
            return None
        number = self._number(_other(over, times.outputs[0]))
        divides = over.call.op == "divide" and over.inputs[0] == times.outputs[0] and number == 6
        multiplies = over.call.op == "multiply" and number == np.float32(1 / 6)
        if not (divides or multiplies) or over.call.outputs != product.call.outputs:
            return None
        return _Step((plus, clip, times, over), _attrs("hard_swish", 1 / 6, 0.5))

    def _is_gate(self, product: JobOp, between: tuple[JobOp, ...], times: JobOp) -> bool:
        """Whether ``times`` is the product times what ``between`` made of it, for nobody else."""
        private = [*zip(between, (*between[1:], times), strict=True)]
        x = product.outputs[0]
        return (
            {x, between[-1].outputs[0]} == set(times.inputs)
            and all(self.editor.is_private(op, user) for op, user in private)
            and all(op.placement == product.placement for op in (*between, times))
            and all(op.call.outputs == product.call.outputs for op in (*between, times))
            and not self._is_result(x)
        )

    def _is_result(self, tensor: str) -> bool:
        return any(result.name == tensor for _, result in self._graph.results)

    def _only_user(self, op: JobOp) -> JobOp | None:
        users = self.editor.users(op.outputs[0])
        return users[0] if len(users) == 1 and self.editor.is_private(op, users[0]) else None

    def _number(self, tensor: str | None) -> float | None:
        """The constant, if it is one number that stretches nothing."""
        value = self._graph.constants.get(tensor or "")
        return float(value.reshape(())) if value is not None and value.size == 1 else None

    def _limit(self, clip: JobOp, index: int, absent: float) -> float | None:
        if clip.inputs[index] is None:
            return absent
        number = self._number(clip.inputs[index])
        return None if number is None or math.isnan(number) else number


def _is_activated(product: JobOp) -> bool:
    return product.call.str_attr("activation") != "none"


def _is_done(product: JobOp) -> bool:
    """Nothing can be activated any more."""
    return _is_activated(product) or product.call.flag_attr("addend_last")


def _attrs(activation: str, alpha: float = 0.0, beta: float = 0.0) -> Mapping[str, object]:
    return {"activation": activation, "alpha": alpha, "beta": beta}


def _activated(user: JobOp, activation: str, alpha: float = 0.0, beta: float = 0.0) -> _Step:
    return _Step((user,), _attrs(activation, alpha, beta))


def _other(op: JobOp, tensor: str) -> str | None:
    """The other input of an op of two; None when both are ``tensor``."""
    first, second = op.inputs[:2]
    if first == second:
        return None
    return second if first == tensor else first
