"""Ops of onnxruntime's own domain, node by node: what onnxruntime computes, headrace computes.

A quantized result may seldom be off by one, where the last bit of a float32 decides a tie.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from contrib_nodes import (
    RNG,
    agree,
    begin_again,
    both,
    f,
    on_headrace,
    on_onnxruntime,
    s,
    s7,
    s32,
    scale,
    u,
    zero,
)

from headrace.tensor_spec import Array


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Every test draws the same numbers, whichever others run."""
    begin_again()


SMALL: Mapping[str, tuple[Any, Any]] = {
    "uint8": (u, np.uint8),
    "int8": (s, np.int8),
}


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("shape", [(3, 40), (40,), (1,)])
def test_sums_and_products_of_quantized_tensors(
    device: str, op: str, kind: str, shape: tuple[int, ...]
) -> None:
    """With scales and zero points of their own; shapes broadcast."""
    make, dtype = SMALL[kind]
    a = [make(3, 40), scale(0.031), zero(7, dtype)]
    b = [make(*shape), scale(0.017), zero(100, dtype)]
    agree(both(device, op, [*a, *b, scale(0.043), zero(3, dtype)]))


_X = [np.arange(256).astype(np.uint8), scale(0.25), zero(7)]
_SPACE = [u(2, 8, 8, 8), scale(0.25), zero(100)]
TIES: Mapping[str, tuple[list[Array], float, dict[str, Any]]] = {
    "QLinearAdd": ([u(50, 40), *_X[1:], u(50, 40), scale(0.25), zero(100)], 0.5, {}),
    "QLinearMul": ([u(50, 40), *_X[1:], u(50, 40), scale(0.25), zero(100)], 4, {}),
    "QLinearLeakyRelu": (_X, 0.5, {"alpha": 0.5}),
    "QLinearAveragePool": (_SPACE, 0.25, {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "QLinearGlobalAveragePool": (_SPACE, 0.125, {}),
    "QGemm": ([u(9, 16), *_X[1:], s7(16, 9), scale(0.25), zero(0, np.int8), s32([0] * 9)], 32, {}),
}


@pytest.mark.parametrize("op", TIES)
@pytest.mark.parametrize("y_zero", [2, 3])
def test_ties(device: str, op: str, y_zero: int) -> None:
    """Every number is exact here, and many lie between two: each falls where onnxruntime's does."""
    inputs, to, attrs = TIES[op]
    ((got, want),) = both(device, op, [*inputs, scale(to), zero(y_zero)], **attrs)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_zero_points_may_be_left_out(device: str, op: str) -> None:
    """They are 0 then; onnxruntime declares them so, but asks for them."""
    a, b = [u(5, 9), scale(0.5)], [u(5, 9), scale(0.25)]
    got = on_headrace(device, op, [*a, None, *b, None, scale(1)])
    want = on_onnxruntime(op, [*a, zero(0), *b, zero(0), scale(1), zero(0)])
    agree(list(zip(got, want, strict=True)))


@pytest.mark.parametrize(
    ("op", "attrs"), [("QLinearSigmoid", {}), ("QLinearLeakyRelu", {"alpha": 0.125})]
)
@pytest.mark.parametrize("kind", SMALL)
def test_functions_of_quantized_tensors(
    device: str, op: str, attrs: dict[str, Any], kind: str
) -> None:
    """All 256 numbers that there are."""
    dtype = SMALL[kind][1]
    x = np.arange(256).astype(np.uint8).view(dtype)
    inputs = [x, scale(0.05), zero(20, dtype), scale(0.0078), zero(2, dtype)]
    agree(both(device, op, inputs, **attrs))


@pytest.mark.parametrize(("opset", "axis"), [(13, -1), (13, 1), (11, 1), (11, 2)])
def test_softmax_of_a_quantized_tensor(device: str, opset: int, axis: int) -> None:
    """Along one axis; as before operator set 13, over all from it on."""
    inputs = [u(2, 3, 5), scale(0.05), zero(128), scale(1 / 256), zero(0)]
    agree(both(device, "QLinearSoftmax", inputs, opset=opset, axis=axis))


@pytest.mark.parametrize("channels_last", [0, 1])
def test_the_mean_over_space_of_a_quantized_tensor(device: str, channels_last: int) -> None:
    """Channels may come first or last."""
    inputs = [u(2, 4, 5, 6), scale(0.05), zero(100), scale(0.03), zero(90)]
    agree(both(device, "QLinearGlobalAveragePool", inputs, channels_last=channels_last))


@pytest.mark.parametrize(("axes", "keep"), [([1], 0), ([-1, 0], 1)])
def test_means_of_a_quantized_tensor(axes: list[int], keep: int, device: str) -> None:
    """Over any axes; onnxruntime declares the op and has no kernel of it."""
    x = u(4, 5, 6)
    inputs = [x, scale(0.05), zero(100), scale(0.03), zero(90)]
    (got,) = on_headrace(device, "QLinearReduceMean", inputs, axes=axes, keepdims=keep)
    mean = (x.astype(np.float64) - 100).mean(tuple(axes), keepdims=bool(keep)) * 0.05
    want = np.clip(np.round(mean / 0.03) + 90, 0, 255).astype(np.uint8)
    agree([(got, want)])


@pytest.mark.parametrize("include", [0, 1])
def test_means_over_windows_of_a_quantized_tensor(device: str, include: int) -> None:
    """Padding counts, or does not."""
    inputs = [u(2, 4, 15, 15), scale(0.05), zero(100), scale(0.03), zero(90)]
    attrs = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    agree(both(device, "QLinearAveragePool", inputs, count_include_pad=include, **attrs))


@pytest.mark.parametrize("make", [u, s])
def test_means_over_windows_of_quantized_channels_that_come_last(device: str, make: Any) -> None:
    """With padding, and a window that hangs over the end."""
    dtype = make(1).dtype
    inputs = [make(2, 15, 12, 4), scale(0.05), zero(100, dtype), scale(0.03), zero(90, dtype)]
    attrs = {"kernel_shape": [3, 2], "strides": [2, 3], "pads": [1, 0, 1, 0], "ceil_mode": 1}
    agree(both(device, "QLinearAveragePool", inputs, channels_last=1, **attrs))


@pytest.mark.parametrize("make", [u, s])
@pytest.mark.parametrize("auto_pad", ["NOTSET", "SAME_UPPER"])
def test_maxima_over_windows_of_channels_that_come_last(
    device: str, make: Any, auto_pad: str
) -> None:
    """Of an image and of a row of numbers."""
    attrs = {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": auto_pad}
    ((got, want),) = both(device, "NhwcMaxPool", [make(2, 9, 14, 5)], **attrs)
    np.testing.assert_array_equal(got, want)
    ((got, want),) = both(device, "NhwcMaxPool", [make(2, 9, 5)], kernel_shape=[2])
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("make", [u, s])
def test_convolutions_of_quantized_images(device: str, last: int, groups: int, make: Any) -> None:
    """Channels may come first or last, and the weights lie the same."""
    x, dtype = make(2, 6, 9, 12), make(1).dtype
    if last:
        x = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    inputs = [x, scale(0.02), zero(20, dtype), s7(6, 6 // groups, 3, 3), np.abs(f(6)) / 100 + 0.001]
    inputs += [zero(0, np.int8), scale(0.07), zero(30, dtype), s32(*range(-300, 300, 100))]
    attrs = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [1, 2]}
    agree(both(device, "QLinearConv", inputs, channels_last=last, group=groups, **attrs))


def test_products_of_numbers_of_16_bits(device: str) -> None:
    """Sums that 32 bits hold, and some that they do not."""
    a = RNG.integers(-32768, 32768, (3, 5, 7)).astype(np.int16)
    b = RNG.integers(-32768, 32768, (7, 4)).astype(np.int16)
    (got,) = on_headrace(device, "MatMulInteger16", [a, b])
    np.testing.assert_array_equal(got, (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_an_axis_of_one_is_added(device: str, axis: int) -> None:
    """Anywhere, counted from either end of the result."""
    ((got, want),) = both(device, "ExpandDims", [f(3, 4), s32(axis)])
    np.testing.assert_array_equal(got, want)


def test_quantized_tensors_are_joined(device: str) -> None:
    """Each by a scale of its own."""
    a, b = [u(2, 3), scale(0.05), zero(100)], [u(2, 30), scale(0.1), zero(10)]
    agree(both(device, "QLinearConcat", [scale(0.08), zero(50), *a, *b], axis=1))


def test_one_of_two_quantized_tensors(device: str) -> None:
    """Chosen element by element."""
    chosen = RNG.integers(0, 2, (4, 20)).astype(bool)
    x, y = [u(4, 20), scale(0.05), zero(100)], [u(4, 20), scale(0.1), zero(10)]
    agree(both(device, "QLinearWhere", [chosen, *x, *y, scale(0.08), zero(50)]))


@pytest.mark.parametrize("dtype", [np.uint16, np.int16, np.uint8])
def test_numbers_of_16_bits(device: str, dtype: Any) -> None:
    """The domain had them before ONNX."""
    x = [f(4, 50), scale(0.003), zero(5, dtype)]
    ((got, want),) = both(device, "QuantizeLinear", x)
    np.testing.assert_array_equal(got, want)
    agree(both(device, "DequantizeLinear", [want, scale(0.003), zero(5, dtype)]))


@pytest.mark.parametrize("weights", [u, s7])
@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("optional", [True, False])
def test_products_with_quantized_weights(
    device: str, weights: Any, columns: bool, optional: bool
) -> None:
    """Weights have one scale or one for each column; zero points and bias may be left out."""
    b, bias = weights(16, 6), f(6) if optional else None
    b_scale = np.abs(f(6)) / 100 if columns else scale(0.01)
    b_zero = (weights(6) if columns else weights(1)) if optional else None
    agree(both(device, "DynamicQuantizeMatMul", [f(3, 5, 16), b, b_scale, b_zero, bias]), 1e-4)
    a_zero = zero(120) if optional else None
    inputs = [u(5, 16), b, scale(0.02), b_scale, a_zero, b_zero, bias]
    agree(both(device, "MatMulIntegerToFloat", inputs), 1e-4)


@pytest.mark.parametrize("to_float", [True, False])
@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("bias", [True, False])
def test_quantized_gemm(device: str, to_float: bool, turned: int, bias: bool) -> None:
    """Gives floats where the output has no scale; of A and B, either may be turned."""
    a, b = (u(16, 5), s7(6, 16)) if turned else (u(5, 16), s7(16, 6))
    c = s32(*range(-3000, 3000, 1000)) if bias else None
    inputs = [a, scale(0.02), zero(120), b, scale(0.01), zero(3, np.int8), c]
    inputs += [] if to_float else [scale(0.2), zero(100)]
    agree(both(device, "QGemm", inputs, transA=turned, transB=turned), 1e-4)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("optional", [True, False])
@pytest.mark.parametrize("weights", [u, s7])
def test_lstm_with_quantized_weights(
    device: str, direction: str, optional: bool, weights: Any
) -> None:
    """The state is quantized anew at each step: one unit of it is what results may differ by."""
    d, hidden = 2 if direction == "bidirectional" else 1, 8
    zeros = weights(d) // 4
    inputs = [f(6, 2, 5), weights(d, 5, 4 * hidden), weights(d, hidden, 4 * hidden)]
    inputs += [f(d, 8 * hidden), None, f(d, 2, hidden), f(d, 2, hidden)] if optional else [None] * 4
    inputs += [None, np.full(d, 0.004, np.float32), zeros, np.full(d, 0.005, np.float32), zeros]
    attrs = {"direction": direction, "hidden_size": hidden}
    agree(both(device, "DynamicQuantizeLSTM", inputs, "y h c", **attrs), 0.01)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("lengths", [(6, 6, 6), (4, 4, 4), (6, 2, 2), (3, 5, 4)])
def test_lstm_with_quantized_weights_over_sequences(
    device: str, direction: str, lengths: tuple[int, ...]
) -> None:
    """Each ends at its own length; 0 is behind that, and the last states are those before."""
    d, hidden = 2 if direction == "bidirectional" else 1, 8
    inputs = [f(6, 3, 5), u(d, 5, 4 * hidden), u(d, hidden, 4 * hidden), f(d, 8 * hidden)]
    inputs += [s32(*lengths), f(d, 3, hidden), f(d, 3, hidden), None]
    inputs += [np.full(d, 0.004, np.float32), u(d), np.full(d, 0.005, np.float32), u(d)]
    attrs = {"direction": direction, "hidden_size": hidden}
    agree(both(device, "DynamicQuantizeLSTM", inputs, "y h c", **attrs), 0.02)


# --- what is fused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("activation", "params"),
    [("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.7]),
     ("HardSigmoid", [0.3, 0.4])],
)  # fmt: skip
@pytest.mark.parametrize("more", [True, False])
def test_convolutions_with_an_activation(
    device: str, activation: str, params: list[float], more: bool
) -> None:
    """And with a sum before it, where there is one."""
    inputs = [f(1, 3, 6, 6), f(4, 3, 3, 3)] + ([f(4), f(1, 4, 6, 6)] if more else [])
    attrs: dict[str, Any] = {"activation": activation, "pads": [1, 1, 1, 1]}
    if params:
        attrs["activation_params"] = params
    agree(both(device, "FusedConv", inputs, kernel_shape=[3, 3], **attrs))


@pytest.mark.parametrize("name", ["Relu", "LeakyRelu", "Tanh"])
def test_gemm_with_an_activation(device: str, name: str) -> None:
    """The factors come before it."""
    attrs = {"activation_alpha": 0.2} if name == "LeakyRelu" else {}
    inputs = [f(4, 3), f(5, 4), f(5)]
    attrs |= {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}
    agree(both(device, "FusedGemm", inputs, activation=name, **attrs))


@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("batch", [0, 1])
def test_products_of_turned_tensors(device: str, turned: int, batch: int) -> None:
    """Matrices, and the axes before the last, may be turned; a factor may be there."""
    a, b = f(2, 3, 4, 5), f(2, 3, 5, 6)
    if turned:
        a, b = a.swapaxes(2, 3), b.swapaxes(2, 3)
    if batch:
        a, b = np.moveaxis(a, -2, 0), np.moveaxis(b, -2, 0)
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    attrs = {"transA": turned, "transB": turned, "transBatchA": batch, "transBatchB": batch}
    agree(both(device, "FusedMatMul", [a, b], alpha=0.125, **attrs))


@pytest.mark.parametrize(
    ("op", "inputs"),
    [("Gelu", 1), ("BiasGelu", 2), ("FastGelu", 1), ("FastGelu", 2), ("QuickGelu", 1)],
)
def test_activations(device: str, op: str, inputs: int) -> None:
    """With the bias before them, where there is one."""
    agree(both(device, op, [f(3, 5, 8), f(8)][:inputs]))


@pytest.mark.parametrize("op", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
@pytest.mark.parametrize("optional", [True, False])
@pytest.mark.parametrize("shape", [(2, 3, 16), (1, 3, 16)])
def test_normalisations_of_sums(
    device: str, op: str, optional: bool, shape: tuple[int, ...]
) -> None:
    """Bias and beta may be left out; the sum is an output, statistics are none."""
    more = [f(16) if optional else None for _ in range(2 if op.startswith("SkipLayer") else 1)]
    agree(both(device, op, [f(2, 3, 16), f(*shape), f(16), *more], "y - - sum", epsilon=1e-5))


def test_normalisation_by_the_mean_square(device: str) -> None:
    """An op that onnxruntime writes in the domain of ONNX."""
    inputs = [f(2, 3, 16), f(16)]
    agree(both(device, "SimplifiedLayerNormalization", inputs, domain="", epsilon=1e-6))


@pytest.mark.parametrize("optional", [True, False])
def test_normalised_embeddings(device: str, optional: bool) -> None:
    """Segments, mask and places may be left out."""
    ids, segments = s32([1, 5, 2], [3, 0, 9]), s32([0, 0, 1], [1, 1, 0])
    mask, places = s32([1, 1, 0], [1, 0, 0]), s32([2, 1, 0], [0, 1, 2])
    inputs: list[Array | None] = [ids, segments if optional else None, f(10, 8), f(4, 8)]
    inputs += [f(2, 8) if optional else None, f(8), f(8)]
    inputs += [mask, places] if optional else []
    agree(both(device, "EmbedLayerNormalization", inputs, "y lengths sum", epsilon=1e-5))


MASKS = {
    "none": None,
    "lengths": s32(5, 2),
    "ends and beginnings": s32(5, 3, 1, 0),
    "for nothing": s32([1], [1]),
    "of steps": s32([1, 1, 1, 0, 0], [1, 1, 0, 1, 0]),
    "of pairs": np.tril(np.ones((2, 5, 5), np.int32)),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("unidirectional", [0, 1])
def test_attention(device: str, mask: str, unidirectional: int) -> None:
    """With every form of mask; and of small integers."""
    attrs = {"num_heads": 2, "unidirectional": unidirectional}
    agree(both(device, "Attention", [f(2, 5, 6), f(6, 24), f(24), MASKS[mask]], **attrs))
    inputs = [u(2, 5, 6), s7(6, 24), f(24), scale(0.01), scale(0.02), MASKS[mask], zero(120)]
    agree(both(device, "QAttention", [*inputs, zero(0, np.int8)], **attrs))


def test_attention_with_values_of_another_size(device: str) -> None:
    """Without bias, with another scale, and with what is added to the scores."""
    inputs = [f(2, 5, 6), f(6, 20), f(20), None, None, f(1, 2, 5, 5)]
    attrs = {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 4], "scale": 0.3}
    agree(both(device, "Attention", inputs, **attrs))


@pytest.mark.parametrize("mask", [None, s32(4, 2), s32([1, 0, 1, 1], [0, 1, 1, 0])])
@pytest.mark.parametrize("bias", [True, False])
def test_multi_head_attention(device: str, mask: Array | None, bias: bool) -> None:
    """Of projections computed before; keys need not be as many as queries."""
    inputs = [f(2, 3, 8), f(2, 4, 8), f(2, 4, 12), f(28) if bias else None, mask]
    agree(both(device, "MultiHeadAttention", [*inputs, f(2, 2, 3, 4)], num_heads=2))


def test_multi_head_attention_of_keys_that_are_split(device: str) -> None:
    """As graphs have it whose keys are computed once."""
    inputs = [f(2, 3, 8), f(2, 2, 4, 4), f(2, 2, 4, 4)]
    agree(both(device, "MultiHeadAttention", inputs, num_heads=2))


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("begin", [True, False])
def test_rotary_embedding(device: str, interleaved: int, split: bool, begin: bool) -> None:
    """Heads may be split, places be given or begin somewhere; pairs are neighbours or not."""
    x = f(2, 2, 3, 8) if split else f(2, 3, 16)
    places = np.array([4]) if begin else np.array([[0, 2, 1], [5, 3, 4]])
    agree(both(device, "RotaryEmbedding", [x, places, f(9, 4), f(9, 4)], interleaved=interleaved))


def test_rotary_embedding_of_a_part(device: str) -> None:
    """The rest of each head stays as it is."""
    inputs = [f(2, 3, 16), np.array([0]), f(9, 2), f(9, 2)]
    agree(both(device, "RotaryEmbedding", inputs, num_heads=2, rotary_embedding_dim=4))


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean"])
def test_distances_of_rows(device: str, metric: str) -> None:
    """As nearest neighbours are exported; one row is in both matrices."""
    a = f(7, 5)
    b = np.concatenate([f(9, 5), a[2:3]])
    agree(both(device, "CDist", [a, b], metric=metric), atol=2e-3)


def test_ops_that_onnx_took_over_later(device: str) -> None:
    """They are written in this domain by exporters that knew an earlier ONNX."""
    x, grid = f(2, 3, 4, 5), np.clip(f(2, 3, 3, 2), -1.5, 1.5)
    modes = {"mode": "bicubic", "padding_mode": "border", "align_corners": 1}
    agree(both(device, "GridSample", [x, grid], **modes))
    agree(both(device, "GridSample", [x, grid]))
    for upper in (0, 1):
        agree(both(device, "Trilu", [x, np.array(-1)], upper=upper))
        agree(both(device, "Trilu", [x], upper=upper))


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("of", [u, s])
def test_normalised_embeddings_of_quantized_tables(device: str, of: Any, optional: bool) -> None:
    """As a text model is written that was optimised first and quantized then."""
    ids, segments = (np.random.default_rng(2).integers(0, n, (2, 5), np.int32) for n in (9, 2))
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    tables = [of(9, 8), of(6, 8), of(2, 8) if optional else None, of(8), of(8)]
    scales = [scale(0.02), scale(0.01), scale(0.03) if optional else None, scale(0.1), scale(0.05)]
    zeros = [zero(3, tables[0].dtype) if s is not None else None for s in scales]
    inputs = [ids, segments if optional else None, *tables, mask if optional else None]
    made = both(
        device, "QEmbedLayerNormalization", [*inputs, *scales, *zeros], "y lengths", epsilon=1e-5
    )
    agree(made)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (2, 3, 4, 4)])
def test_inverse_matrices(device: str, shape: tuple[int, ...], dtype: Any) -> None:
    """Also of one whose first pivot is 0."""
    x = np.random.default_rng(3).normal(size=shape).astype(dtype)
    if shape[-1] > 1:
        x[..., 0, 0] = 0
    ((got, _),) = both(device, "Inverse", [x])
    np.testing.assert_allclose(got, np.linalg.inv(x), rtol=1e-3, atol=1e-4)
