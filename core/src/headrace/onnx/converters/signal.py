"""ONNX nodes for: spectra. Said as products with a matrix of cosines and sines.

A product with a matrix takes more steps than a fast transform, and fewer than a second for every
frame that a model of speech or music has; any device that multiplies matrices runs it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headrace.onnx.axes import normal_axis
from headrace.onnx.node import Converter, Node
from headrace.onnx.tensors import dtype_from_onnx
from headrace.ops import Tensor
from headrace.tensor_spec import Array

_MATRIX_ELEMENTS = 1 << 26
"""A transform of more than 8192 points is refused: its matrix would be larger than the model."""


def _dft(node: Node) -> Tensor:
    x = node.input(0)
    rank = x.spec.rank
    given = (node.attr("axis", 1),) if node.opset < 20 else (node.ints(2) or (-2,))
    if rank < 2 or len(given) != 1:
        node.invalid(f"transforms one axis of a signal [..., 1 or 2]; they are {given}, {x.spec}")
    axis = normal_axis(node, given[0], rank)
    if axis == rank - 1:
        node.invalid(f"axis {given[0]} is that of the real and imaginary parts")
    inverse, onesided = bool(node.attr("inverse", 0)), bool(node.attr("onesided", 0))
    usual = 2 * (x.spec.shape[axis] - 1) if inverse and onesided else x.spec.shape[axis]
    (length,) = node.ints(1) or (usual,)
    # The axis goes last but one, beside the parts, and back.
    perm = (*(i for i in range(rank - 1) if i != axis), axis, rank - 1)
    back = tuple(perm.index(i) for i in range(rank))
    moved = perm != tuple(range(rank))
    signal = node.one("transpose", [x], perm=perm) if moved else x
    y = _transformed(node, signal, length, inverse, onesided)
    return node.one("transpose", [y], perm=back) if moved else y


def _transformed(node: Node, x: Tensor, length: int, inverse: bool, onesided: bool) -> Tensor:
    """The transform of ``x`` [..., n, 1 or 2] along n, to [..., bins, 1 or 2]."""
    if x.spec.shape[-1] not in (1, 2):
        node.invalid(f"the last axis holds a real part, or two parts; it is {x.spec}")
    if length < 1:
        node.invalid(f"is of {length} points")
    matrix = _matrix(node, x, length, inverse, onesided)
    used = min(x.spec.shape[-2], length)  # what is missing is 0, and adds nothing
    if used < x.spec.shape[-2]:
        x = node.one("slice", [x], starts=(0,), ends=(used,), axes=(x.spec.rank - 2,))
    parts = x.spec.shape[-1]
    outer, parts = x.spec.shape[:-2], x.spec.shape[-1]
    flat = node.one("reshape", [x], shape=(*outer, used * parts))
    weights = node.constant(matrix[:used, :parts].reshape(used * parts, -1))
    product = node.one("matmul", [flat, weights])
    return node.one("reshape", [product], shape=(*outer, *matrix.shape[2:]))


def _matrix(node: Node, x: Tensor, length: int, inverse: bool, onesided: bool) -> Array:
    """[point, its part, bin, its part]: what each adds to each.

    Of an inverse from one side, a bin other than the first and the middle one stands for its mirror
    image as well, and only the real part of the result is made.
    """
    points = bins = length
    if onesided and inverse:
        points = length // 2 + 1
    elif onesided:
        bins = length // 2 + 1
    if points * bins > _MATRIX_ELEMENTS:
        node.refuse(f"is of {length} points; up to {int(_MATRIX_ELEMENTS**0.5)} are run")
    # The product is taken modulo the length before it is an angle, or long ones lose digits.
    turns = np.outer(np.arange(points), np.arange(bins)) % length / length
    angle = 2 * np.pi * (turns if inverse else -turns)
    real, imaginary = np.cos(angle), np.sin(angle)
    matrix = np.stack([np.stack([real, imaginary], -1), np.stack([-imaginary, real], -1)], axis=1)
    if inverse:
        matrix /= length
    if inverse and onesided:
        matrix = matrix[..., :1]
        twice = np.full(points, 2.0)
        twice[0] = 1
        if length % 2 == 0:
            twice[-1] = 1
        matrix *= twice.reshape(-1, 1, 1, 1)
    return np.asarray(matrix.astype(x.spec.dtype.numpy))


def _stft(node: Node) -> Tensor:
    x, window = node.input(0), node.optional(2)
    if x.spec.rank == 2:
        x = node.one("reshape", [x], shape=(*x.spec.shape, 1))
    if x.spec.rank != 3:
        node.invalid(f"the signal is [batch, length, 1 or 2]; it is {x.spec}")
    (step,) = node.ints(1) or (0,)
    usual = x.spec.shape[1] if window is None else window.spec.elements
    (size,) = node.ints(3) or (usual,)
    if step < 1 or not 1 <= size <= x.spec.shape[1]:
        node.invalid(f"frame_step {step} and frame_length {size} do not fit {x.spec}")
    frames = (x.spec.shape[1] - size) // step + 1
    at = np.arange(frames)[:, np.newaxis] * step + np.arange(size)
    framed = node.one("gather", [x, node.constant(at)], axis=1)  # [batch, frames, size, parts]
    if window is not None:
        if window.spec.elements != size:
            node.invalid(f"the window {window.spec} is not as long as a frame, {size}")
        column = node.one("reshape", [window], shape=(size, 1))
        framed = node.one("multiply", [framed, column])
    onesided = bool(node.attr("onesided", 1))
    if onesided and framed.spec.shape[-1] != 1:
        node.invalid("a spectrum from one side is that of a real signal; this one is complex")
    return _transformed(node, framed, size, inverse=False, onesided=onesided)


def _mel_weight_matrix(node: Node) -> Tensor:
    """Triangles over the bins of a spectrum, equally far from each other on the mel scale."""
    mels, length, rate, lower, upper = (node.value(index).item() for index in range(5))
    if mels < 1 or length < 1 or rate <= 0 or not 0 <= lower < upper:
        node.invalid(
            f"{mels} mel bins from {lower} to {upper} Hz of {length} points at {rate} Hz make none"
        )
    bins = length // 2 + 1
    ends = 2595 * np.log10(1 + np.array([lower, upper]) / 700)
    mel = ends[0] + np.arange(mels + 2) * (ends[1] - ends[0]) / (mels + 2)
    edges = np.floor((length + 1) * 700 * (10 ** (mel / 2595) - 1) / rate).astype(np.int64)
    if edges[-1] > bins:
        node.invalid(f"upper edge {upper} Hz is beyond half the sample rate, {rate} Hz")
    weights = np.zeros((bins, mels))
    at = np.arange(bins)
    for index, (low, centre, high) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        if low == centre:
            weights[centre, index] = 1
        else:
            rising = (low <= at) & (at <= centre)
            weights[rising, index] = (at[rising] - low) / (centre - low)
        falling = (centre <= at) & (at < high)
        weights[falling, index] = (high - at[falling]) / max(1, high - centre)
    dtype = dtype_from_onnx(node.attr("output_datatype", 1), str(node))
    return node.constant(weights.astype(dtype.numpy))


CONVERTERS: Mapping[str, Converter] = {
    "DFT": _dft,
    "STFT": _stft,
    "MelWeightMatrix": _mel_weight_matrix,
}
