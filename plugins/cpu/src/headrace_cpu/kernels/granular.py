"""Numbers as bytes by a scale for each index of an axis, or for each block along it: one pass."""

from __future__ import annotations

import math
from collections.abc import Iterator

from headrace.device import KernelEntry, Launch, OpCall, dtypes
from headrace.dtypes import float32, int8, uint8
from headrace.ops.axes import per_tensor
from headrace_cpu.extension import native
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import Views
from headrace_cpu.kernels.program import LINEAR, SingleOp, in_registers, is_written

Dims = tuple[int, ...]


class Granular(SingleOp):
    """``quantize`` or ``dequantize``: x: T[...], scale and zero_point: by the axis, y: U[...].

    One of T and U is int8 or uint8, the other float32, as the scale is. Needs no workspace.
    """

    def _make(self, views: Views) -> Launch:
        x_shape, scale_shape = _shapes(self._call)
        x, *by_axis = views.inputs()
        inputs = [x.reshape(x_shape), *(array.reshape(scale_shape) for array in by_axis)]
        steps, numbers = in_registers(tuple(self.steps()), len(inputs))
        return native.program(steps, numbers, inputs, views.output().reshape(x_shape))


def _shapes(call: OpCall) -> tuple[Dims, Dims]:
    """As what x and the scale are seen, so that one broadcasts to the other."""
    shape, block = call.input(0).shape, call.int_attr("block_size")
    axis = call.int_attr("axis") % len(shape)
    before, length, after = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    if not block:
        return (before, length, after), (1, length, 1)
    return (before, length // block, block, after), (before, length // block, 1, after)


def _is_granular(call: OpCall) -> bool:
    """Whether bytes are quantized or dequantized by an axis or whole blocks, and are no step."""
    if per_tensor(call) or is_written(call):
        return False
    x, scale, y = call.input(0), call.input(1), call.outputs[0]
    quantized, other = (y, x) if call.op == "quantize" else (x, y)
    block = call.int_attr("block_size")
    is_whole = not block or x.shape[call.int_attr("axis") % x.rank] % block == 0
    return quantized.dtype in (int8, uint8) and {other.dtype, scale.dtype} == {float32} and is_whole


granular = SomeCalls("by whole blocks", dtypes("float32", "int8", "uint8"), _is_granular)


def granular_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    for op in LINEAR:
        yield KernelEntry(tag, op, Granular, granular)
