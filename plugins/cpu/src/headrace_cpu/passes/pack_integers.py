"""Put products of bytes in the place of convolutions and products of quantized numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headrace.data_format import CHANNELS_LAST
from headrace.dtypes import float32, int32, uint8
from headrace.graph import GraphRewriter, JobGraph, JobOp, OpEntry, replace_ops
from headrace.op_call import OpCall
from headrace.ops import Tensor
from headrace.ops.axes import per_tensor
from headrace.tensor_spec import Array
from headrace_cpu.kernels.depthwise import is_depthwise
from headrace_cpu.kernels.match import FLOATS
from headrace_cpu.kernels.product import is_product
from headrace_cpu.ops.integer import SCALE, SHIFT, SUMS, WEIGHT_ZEROS, X_ZERO
from headrace_cpu.ops.pack_integers import BYTES, MOST_DEPTH
from headrace_cpu.ops.places import BIAS
from headrace_cpu.passes.moves import moved, moves_to
from headrace_cpu.passes.own_ops import KnownOps

INTEGER = ("conv_integer", "matmul_integer")
"""Products of bytes as models write them; all others are of what ``dequantize`` made."""


@dataclass(frozen=True, slots=True)
class _Bytes:
    """What a product of bytes begins with; tensors by name."""

    x: str
    x_zero: str | None
    weight: str
    weight_zero: Array | None
    transposed: bool  # the weight has its columns first
    x_scale: str | None = None
    weight_scale: Array | None = None
    moves: tuple[JobOp, ...] = ()  # from what the bytes mean to what the product reads, in order


class PackIntegers:
    """The pass, for the ops of device ``tag``.

    Before: any ops. After: every ``conv`` whose channels are last and every ``matmul`` of what
    ``dequantize`` made of bytes, turned or shaped anew since or not, with weights that are constant
    and quantized as a whole or by the columns of the product, is a ``cpu.integer_conv``,
    ``cpu.integer_depthwise_conv`` or ``cpu.integer_matmul`` of these bytes; and so is a
    ``conv_integer`` or ``matmul_integer`` with such weights. A bias of int32 that is worth as much
    as the sums is added to these, exactly.
    """

    def __init__(self, tag: str, own: Mapping[str, OpEntry]) -> None:
        self._tag = tag
        self._ops = KnownOps(own)

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these ops."""
        products = graph.of_kind(*INTEGER)
        if graph.of_kind("dequantize"):
            products += graph.of_kind("conv", "matmul")
        finder = _Finder(graph, self._tag)
        found = {op.call.name: bytes_ for op in products if (bytes_ := finder.bytes_of(op))}
        packed: dict[object, tuple[Tensor, ...]] = {}

        def make(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
            return _Making(op, found[op.call.name], new, packed).product(finder)

        return replace_ops(graph, found, make, ops=self._ops)


class _Finder:
    """Looks for products of bytes in one graph."""

    def __init__(self, graph: JobGraph, tag: str) -> None:
        self._tag = tag
        self.constants = graph.constants
        self.makers = graph.index.makers

    def bytes_of(self, op: JobOp) -> _Bytes | None:
        """What ``op`` is a product of; None when it is none of bytes."""
        if op.placement.tag != self._tag or op.placement.parallel_num > 1:
            return None
        call = op.call
        match call.op:
            case "conv" if _is_conv(call) and FLOATS(call):
                return self._dequantized(op, axis=0, transposed=True)
            case "matmul" if _is_matmul(call):
                transposed = call.flag_attr("transpose_b")
                return self._dequantized(op, axis=0 if transposed else 1, transposed=transposed)
            case "conv_integer" if _is_conv(call):
                return self._integers(op, 3, transposed=True)
            case "matmul_integer" if _is_matmul(call):
                return self._integers(op, 2, transposed=call.flag_attr("transpose_b"))
        return None

    def dequantize(self, tensor: str | None) -> JobOp | None:
        """The op that made ``tensor`` of quantized numbers."""
        op = self.makers.get(tensor or "")
        return op if op is not None and op.call.op == "dequantize" else None

    def constant(self, tensor: str | None) -> Array | None:
        return self.constants.get(tensor or "")

    def _dequantized(self, op: JobOp, axis: int, transposed: bool) -> _Bytes | None:
        moves = moves_to(op.inputs[0], self.makers)
        left = self.dequantize(moves[0].inputs[0] if moves else op.inputs[0])
        right = self.dequantize(op.inputs[1])
        if left is None or right is None or op.call.outputs[0].dtype != float32:
            return None
        if left.call.input(0).dtype not in BYTES or not per_tensor(left.call):
            return None
        weight, scale = self.constant(right.inputs[0]), self.constant(right.inputs[1])
        if weight is None or scale is None or right.call.input(0).dtype not in BYTES:
            return None
        if weight.size > MOST_DEPTH * weight.shape[axis]:  # floats do not wrap around
            return None
        rank = right.call.input(0).rank
        by_columns = right.call.int_attr("axis") % rank == axis and scale.ndim == 1
        if (not per_tensor(right.call) and not by_columns) or right.call.int_attr("block_size"):
            return None
        if scale.dtype != np.float32 or left.call.input(1).dtype != float32:
            return None
        zero = self.constant(right.inputs[2])
        if zero is None and right.inputs[2] is not None:
            return None
        assert left.inputs[0] is not None and right.inputs[0] is not None
        return _Bytes(
            left.inputs[0],
            left.inputs[2],
            right.inputs[0],
            zero,
            transposed,
            left.inputs[1],
            scale,
            moves,
        )

    def _integers(self, op: JobOp, zero: int, transposed: bool) -> _Bytes | None:
        call, (x, weight) = op.call, op.inputs[:2]
        weight_zero = self.constant(op.inputs[zero + 1])
        if weight not in self.constants or (weight_zero is None and call.has_input(zero + 1)):
            return None
        if call.has_input(zero) and call.input(zero).elements != 1:
            return None  # one for each row
        assert x is not None and weight is not None
        return _Bytes(x, op.inputs[zero], weight, weight_zero, transposed)


def _is_conv(call: OpCall) -> bool:
    is_able = is_product(call) or is_depthwise(call)
    return call.str_attr("data_format") == CHANNELS_LAST and is_able


def _is_matmul(call: OpCall) -> bool:
    a, b = call.input(0), call.input(1)
    return a.rank >= 1 and b.rank == 2 and not call.flag_attr("transpose_a")


class _Making:
    """One product of bytes, in the place of an op."""

    def __init__(
        self,
        op: JobOp,
        bytes_: _Bytes,
        new: GraphRewriter,
        made: dict[object, tuple[Tensor, ...]],
    ) -> None:
        self._op = op
        self._bytes = bytes_
        self._new = new
        self._made = made

    def product(self, finder: _Finder) -> tuple[Tensor, ...]:
        """Its result."""
        call, bytes_ = self._op.call, self._bytes
        weight = self._new.tensor(bytes_.weight)
        is_conv = call.op in ("conv", "conv_integer")
        columns = weight.spec.shape[0 if bytes_.transposed else 1]
        groups = call.int_attr("groups") if is_conv else 1
        name, attrs = "cpu.integer_matmul", dict[str, object](columns=columns)
        if is_conv:
            attrs["kernel"] = weight.spec.shape[1:-1]
            attrs |= {name: call.attrs[name] for name in ("strides", "dilations", "pads")}
            name = "cpu.integer_conv" if is_product(call) else "cpu.integer_depthwise_conv"
        if name == "cpu.integer_depthwise_conv":
            panels, sums = self._packed("cpu.pack_integer_taps", weight)
        else:
            packing = {"groups": groups, "transposed": bytes_.transposed}
            panels, sums = self._packed("cpu.pack_integers", weight, **packing)
        if name == "cpu.integer_conv":
            attrs["groups"] = groups
        inputs: list[Tensor | None] = [None] * (SHIFT + 1)
        inputs[0], inputs[1], inputs[SUMS] = (
            moved(self._new.tensor(bytes_.x), bytes_.moves, self._new),
            panels,
            sums,
        )
        inputs[X_ZERO] = None if bytes_.x_zero is None else self._new.tensor(bytes_.x_zero)
        inputs[WEIGHT_ZEROS] = self._zeros(columns)
        bias = self._op.inputs[2] if is_conv else None
        if bytes_.x_scale is not None:
            attrs["dtype"] = float32
            inputs[SCALE] = self._scale(self._new.tensor(bytes_.x_scale))
            inputs[SHIFT] = self._exact_bias(finder, bias, columns, inputs[SCALE])
            if inputs[SHIFT] is None and bias is not None:
                inputs[BIAS] = self._new.tensor(bias)
        elif bias is not None:
            inputs[SHIFT] = self._new.tensor(bias)
        return self._new.op(name, inputs, name=call.name, location=call.location, attrs=attrs)

    def _packed(self, op: str, weight: Tensor, **attrs: object) -> tuple[Tensor, ...]:
        """Weights that several ops read are packed once."""
        key = (op, weight.name, *attrs.values())
        if key not in self._made:
            location = self._op.call.location
            made = self._new.op(op, [weight], outputs=2, location=location, attrs=attrs)
            self._made[key] = made
        return self._made[key]

    def _zeros(self, columns: int) -> Tensor | None:
        """The zero points of the weights as they are packed; None when all are 0."""
        given = self._bytes.weight_zero
        zeros = np.zeros(columns, np.int32)
        if given is not None:
            zeros += given.astype(np.int32).reshape(-1)
        if self._new.tensor(self._bytes.weight).spec.dtype == uint8:
            zeros -= 128
        return self._new.constant(zeros) if zeros.any() else None

    def _scale(self, x_scale: Tensor) -> Tensor:
        assert self._bytes.weight_scale is not None
        scale = self._new.constant(self._bytes.weight_scale.reshape(-1))
        one = x_scale if x_scale.spec.shape == () else self._flat(x_scale)
        return self._new.op("multiply", [one, scale], location=self._op.call.location)[0]

    def _flat(self, one: Tensor) -> Tensor:
        return self._new.op("reshape", [one], location=self._op.call.location, shape=())[0]

    def _exact_bias(
        self, finder: _Finder, bias: str | None, columns: int, scale: Tensor | None
    ) -> Tensor | None:
        """The bias as integers worth ``scale``, which it was quantized to."""
        made = finder.dequantize(bias)
        worth = None if scale is None else self._new.value(scale)
        if made is None or worth is None or made.call.input(0).dtype != int32:
            return None
        integers, own = (finder.constant(name) for name in made.inputs[:2])
        zero = finder.constant(made.inputs[2])
        if integers is None or own is None or (zero is not None and zero.any()):
            return None
        if own.ndim > 1 or not np.allclose(own, worth.reshape(-1), rtol=1e-6, atol=0):
            return None
        return self._new.constant(integers.reshape(columns))
