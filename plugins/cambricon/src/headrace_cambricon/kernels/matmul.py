"""Products of matrices, and of stacks of them."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.device import KernelEntry, OpCall
from headrace_cambricon.enums import number_of
from headrace_cambricon.kernels.kernel import Operand, Recorder, WithWorkspace
from headrace_cambricon.kernels.match import FLOATS, Takes

if TYPE_CHECKING:
    from headrace_cambricon import _native


class Matmul(WithWorkspace):
    """``y = a @ b``; leading axes broadcast, vectors are a row and a column."""

    def record(self, r: Recorder) -> None:
        a, b = self.call.input(0), self.call.input(1)
        if not a.elements:  # sums of nothing
            r.fill(r.outputs[0], 0, self.call.outputs[0].nbytes)
            return
        flips = (self.call.flag_attr("transpose_a"), self.call.flag_attr("transpose_b"))
        left = (1, *a.shape) if a.rank == 1 else a.shape
        right = (*b.shape, 1) if b.rank == 1 else b.shape
        if len(right) == 2 and not flips[0]:  # a stack of rows is a taller matrix
            left = (math.prod(left[:-1]), left[-1])
        rank = max(len(left), len(right))
        left, right = ((1,) * (rank - len(s)) + s for s in (left, right))
        made = (
            *(max(p, q) for p, q in zip(left[:-2], right[:-2], strict=True)),
            left[-1 if flips[0] else -2],
            right[-2 if flips[1] else -1],
        )
        dtype = self.call.outputs[0].dtype
        x, z = r.tensor(r.input(0), left, dtype), r.tensor(r.input(1), right, dtype)
        y = r.tensor(r.outputs[0], made, dtype)
        (multiply if rank == 2 else multiply_stacks)(r, flips, x, z, y)


def multiply(r: Recorder, flips: tuple[bool, bool], a: Operand, b: Operand, y: Operand) -> None:
    """A product of two matrices, which may be integers with a scale."""
    one, none = struct.pack("f", 1), struct.pack("f", 0)
    if not r.has("cnnlMatMul_v2"):
        r.add("cnnlMatMul", *flips, one, *a.both, *b.both, none, *y.both)
        return
    product, (algorithm, result) = _product(r, flips), _heuristic(r)
    descriptors = (a.descriptor, b.descriptor, y.descriptor, y.descriptor)
    r.ask("cnnlGetMatMulAlgoHeuristic", product, *descriptors, None, 1, [result])
    space = r.workspace(r.ask("cnnlGetMatMulHeuristicResult", result, algorithm))
    r.add(
        "cnnlMatMul_v2", product, algorithm, one, *a.both, *b.both, none, *y.both, *space, *y.both
    )


def multiply_stacks(
    r: Recorder, flips: tuple[bool, bool], a: Operand, b: Operand, y: Operand
) -> None:
    """Products of the matrices of two stacks, which broadcast."""
    if not r.has("cnnlBatchMatMulEx"):
        descriptors = (a.descriptor, b.descriptor, y.descriptor)
        space = r.workspace(r.ask("cnnlGetBatchMatMulBCastWorkspaceSize", *descriptors))
        r.add("cnnlBatchMatMulBCast", *flips, *a.both, *b.both, *space, *y.both)
        return
    one, none = struct.pack("f", 1), struct.pack("f", 0)
    product, (algorithm, result) = _product(r, flips), _heuristic(r)
    descriptors = (a.descriptor, b.descriptor, y.descriptor)
    r.ask("cnnlGetBatchMatMulExAlgoHeuristic", product, *descriptors, None, 1, [result])
    space = r.workspace(r.ask("cnnlGetBatchMatMulExHeuristicResult", result, algorithm))
    r.add("cnnlBatchMatMulEx", product, algorithm, one, *a.both, *b.both, none, *y.both, *space)


def _product(r: Recorder, flips: tuple[bool, bool]) -> _native.Object:
    product = r.create("MatMulDescriptor")
    for name, flip in zip(("TRANSA", "TRANSB"), flips, strict=True):
        attribute = number_of(f"CNNL_MATMUL_DESC_{name}")
        value = struct.pack("i", flip)
        r.context.library.configure("cnnlSetMatMulDescAttr", product, attribute, value, 4)
    return product


def _heuristic(r: Recorder) -> tuple[_native.Object, _native.Object]:
    return r.create("MatMulAlgo"), r.create("MatMulHeuristicResult")


def matmul_entries(tag: str) -> Iterator[KernelEntry]:
    """Kernels for products of floats."""
    two, more = ("cnnlMatMul_v2|cnnlMatMul",), ("cnnlBatchMatMulEx|cnnlBatchMatMulBCast",)
    yield KernelEntry(tag, "matmul", Matmul, Takes(FLOATS, two, (), _is_flat, "two axes"), 1)
    yield KernelEntry(tag, "matmul", Matmul, Takes(FLOATS, (*two, *more)), 0)


def _is_flat(call: OpCall) -> bool:
    return call.input(0).rank <= 2 and call.input(1).rank <= 2
