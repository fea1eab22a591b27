"""Winograd's algorithms in numpy: their matrices, and a convolution by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.tensor_spec import Array
from headrace_cpu.ops.epilogue import finish


@dataclass(frozen=True, slots=True, eq=False)
class Transforms:
    """The matrices of one algorithm, float64.

    Attributes:
        weight: G[m + 2, 3]; a kernel k becomes ``G k G'``.
        read: B'[m + 2, m + 2]; what a tile reads, d, becomes ``B' d B``.
        write: A'[m, m + 2]; the products p become ``A' p A``.
    """

    weight: Array
    read: Array
    write: Array


TRANSFORMS: Mapping[int, Transforms] = {
    2: Transforms(
        np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]]),
        np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]], np.float64),
        np.array([[1, 1, 1, 0], [0, 1, -1, -1]], np.float64),
    ),
    4: Transforms(
        np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]])
        / np.array([[24], [24], [24], [24], [24], [24]]),
        np.array(
            [
                [4, 0, -5, 0, 1, 0],
                [0, -4, -4, 1, 1, 0],
                [0, 4, -4, -1, 1, 0],
                [0, -2, -1, 2, 1, 0],
                [0, 2, -1, -2, 1, 0],
                [0, 4, 0, -5, 0, 1],
            ],
            np.float64,
        ),
        np.array(
            [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]],
            np.float64,
        ),
    ),
}
"""By m; for 4 at the points 0, 1, -1, 2, -2. As ``winograd*.cpp`` have them."""


def convolve(call: OpCall, inputs: Sequence[Array | None], y: Array) -> None:
    """Compute a ``cpu.winograd_conv`` into ``y``."""
    x, panels, m = given(inputs, 0), given(inputs, 1), call.int_attr("tile")
    matrices, side, pads = TRANSFORMS[m], m + 2, call.ints_attr("pads")
    rows, columns = (-(-size // m) for size in y.shape[1:3])
    around = [
        (pads[axis], count * m + 2 - pads[axis] - x.shape[1 + axis])
        for axis, count in enumerate((rows, columns))
    ]
    padded = np.pad(x.astype(np.float64), ((0, 0), *((a, max(b, 0)) for a, b in around), (0, 0)))
    reads = np.lib.stride_tricks.sliding_window_view(padded, (side, side), (1, 2))
    reads = reads[:, : rows * m : m, : columns * m : m]
    spread = np.einsum("ik,nyxckl,jl->ijnyxc", matrices.read, reads, matrices.read, optimize=True)
    weights = panels.transpose(0, 2, 1, 3).reshape(side, side, panels.shape[2], -1)
    sums = np.einsum("ijnyxc,ijcm->ijnyxm", spread, weights[..., : y.shape[3]], optimize=True)
    tiles = np.einsum("ki,ijnyxm,lj->nykxlm", matrices.write, sums, matrices.write, optimize=True)
    whole = tiles.reshape(y.shape[0], rows * m, columns * m, y.shape[3])
    result = whole[:, : y.shape[1], : y.shape[2]].astype(np.float32)
    finish(call, result, inputs[2], inputs[3], y)
