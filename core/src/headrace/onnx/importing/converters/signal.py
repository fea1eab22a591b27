"""ONNX nodes for: spectra."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headrace.onnx.file.tensors import dtype_from_onnx
from headrace.onnx.importing.axes import normal_axis
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


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
    y = node.one("dft", [signal], length=length, inverse=inverse, onesided=onesided)
    return node.one("transpose", [y], perm=back) if moved else y


def _stft(node: Node) -> Tensor:
    x, window = node.input(0), node.optional(2)
    if x.spec.rank == 2:
        x = node.one("reshape", [x], shape=(*x.spec.shape, 1))
    if x.spec.rank != 3:
        node.invalid(f"the signal is [batch, length, 1 or 2]; it is {x.spec}")
    (step,) = node.ints(1) or (0,)
    usual = x.spec.shape[1] if window is None else window.spec.elements
    (length,) = node.ints(3) or (usual,)
    if window is not None:
        window = node.one("reshape", [window], shape=(window.spec.elements,))
    onesided = bool(node.attr("onesided", 1))
    return node.one("stft", [x, window], length=length, step=step, onesided=onesided)


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
