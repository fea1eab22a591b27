"""Normalisations with what onnxruntime fuses into them: the sum before, or the embedding."""

from __future__ import annotations

import numpy as np

from headrace.dtypes import float32, int32
from headrace.onnx.importing.axes import normal_axis
from headrace.onnx.importing.contrib import declare
from headrace.onnx.importing.converters.norm import rms
from headrace.onnx.importing.formula import cast, scalar
from headrace.onnx.importing.node import Node
from headrace.ops import Tensor

_FLOATS = "float float16 bfloat16"
_ENDS = "output:T mean:U? inv_std_var:U? input_skip_bias_sum:T?"


def _skip_layer_norm(node: Node) -> tuple[Tensor | None, ...]:
    total = _sum_of(node, [0, 1, 4])
    given = [total, node.input(2), node.optional(3)]
    y = node.one("layer_norm", given, axis=total.spec.rank - 1, epsilon=node.attr("epsilon", 1e-12))
    return _with_sum(node, y, total)


def _skip_rms_norm(node: Node) -> tuple[Tensor | None, ...]:
    total = _sum_of(node, [0, 1, 3])
    y = rms(node, total, node.input(2), total.spec.rank - 1, float32, node.attr("epsilon", 1e-12))
    return _with_sum(node, y, total)


def _sum_of(node: Node, indices: list[int]) -> Tensor:
    """The sum of those inputs that are there; only the first says its shape."""
    total = node.input(indices[0])
    shape = total.spec.shape
    for index in indices[1:]:
        term = node.optional(index)
        if term is not None:
            total = node.one("add", [total, term])
    if total.spec.shape != shape:
        node.invalid(f"the sum is {total.spec}; what is added must broadcast to {list(shape)}")
    return total


def _with_sum(node: Node, y: Tensor, total: Tensor) -> tuple[Tensor | None, ...]:
    """The outputs; statistics are for training, and no runtime computes them."""
    return (y, None, None, total)[: node.output_count]


def _rms_norm(node: Node) -> tuple[Tensor | None, ...]:
    x = node.input(0)
    axis = normal_axis(node, node.attr("axis", -1), x.spec.rank)
    y = rms(node, x, node.input(1), axis, float32, node.attr("epsilon", 1e-5))
    return (y, None)[: node.output_count]


def _embed_layer_norm(node: Node) -> tuple[Tensor, ...]:
    """Embeddings of words, places and segments, their sum normalised; and lengths by the mask."""
    ids, mask = _ids(node), node.optional(7)
    places = node.optional(8)
    if places is None:
        places = _places(node, ids)
    total = node.one("gather", [node.input(2), ids], axis=0)
    total = node.one("add", [total, node.one("gather", [node.input(3), places], axis=0)])
    if (segments := node.optional(1)) is not None:
        total = node.one("add", [total, node.one("gather", [node.input(4), segments], axis=0)])
    given = [total, node.input(5), node.input(6)]
    y = node.one("layer_norm", given, axis=2, epsilon=node.attr("epsilon", 1e-12))
    return (y, _lengths(node, mask, ids), total)[: node.output_count]


def _quantized_embed_layer_norm(node: Node) -> tuple[Tensor, ...]:
    """The same with quantized tables, of which those rows that are read become numbers."""
    ids = _ids(node)
    total = _rows(node, 2, ids, 8)
    total = node.one("add", [total, _rows(node, 3, _places(node, ids), 9)])
    if (segments := node.optional(1)) is not None:
        total = node.one("add", [total, _rows(node, 4, segments, 10)])
    scale, offset = (_numbers(node, node.input(place), place + 6) for place in (5, 6))
    given = [total, scale, offset]
    y = node.one("layer_norm", given, axis=2, epsilon=node.attr("epsilon", 1e-12))
    return (y, _lengths(node, node.optional(7), ids))[: node.output_count]


def _rows(node: Node, table: int, ids: Tensor, scale: int) -> Tensor:
    return _numbers(node, node.one("gather", [node.input(table), ids], axis=0), scale)


def _numbers(node: Node, x: Tensor, scale: int) -> Tensor:
    """What ``x`` stands for by the scale at that index and the zero point five after it."""
    parts = [node.one("reshape", [node.input(i)], shape=()) for i in (scale, scale + 5)]
    return node.one("dequantize", [x, *parts], dtype=float32)


def _ids(node: Node) -> Tensor:
    ids = node.input(0)
    if ids.spec.rank != 2:
        node.invalid(f"input_ids is {ids.spec}; it must be [batch, steps]")
    return ids


def _places(node: Node, ids: Tensor) -> Tensor:
    return node.constant(np.arange(ids.spec.shape[1], dtype=np.int32)[None])


def _lengths(node: Node, mask: Tensor | None, ids: Tensor) -> Tensor:
    if mask is None:
        return node.constant(np.zeros(ids.spec.shape[0], np.int32))
    ones = cast(node, node.one("equal", [mask, scalar(node, 1, mask)]), int32)
    return node.one("reduce_sum", [ones], axes=(1,), keep_dims=False)


OPS = (
    declare(
        "SkipLayerNormalization",
        "input:T skip:T gamma:T beta:T? bias:T?",
        _ENDS,
        _skip_layer_norm,
        "epsilon:float",
        T=_FLOATS,
        U="float",
    ),
    declare(
        "SkipSimplifiedLayerNormalization",
        "input:T skip:T gamma:T bias:T?",
        _ENDS,
        _skip_rms_norm,
        "epsilon:float",
        T=_FLOATS,
        U="float",
    ),
    # onnxruntime writes this one in the domain of ONNX itself, which has no such op.
    declare(
        "SimplifiedLayerNormalization",
        "X:T scale:V",
        "Y:V inv_std_var:U?",
        _rms_norm,
        "axis:int epsilon:float stash_type:int",
        domain="",
        T="float16 float double bfloat16",
        U="float double",
        V="float16 float double bfloat16",
    ),
    declare(
        "EmbedLayerNormalization",
        "input_ids:T1 segment_ids:T1? word_embedding:T position_embedding:T segment_embedding:T? "
        "gamma:T beta:T mask:T1? position_ids:T1?",
        "output:T mask_index:T1? embedding_sum:T?",
        _embed_layer_norm,
        "epsilon:float mask_index_type:int",
        T="float float16",
        T1="int32",
    ),
    declare(
        "QEmbedLayerNormalization",
        "input_ids:T1 segment_ids:T1? word_embedding_quant:T2 position_embedding_quant:T2 "
        "segment_embedding:T2? gamma_quant:T2 beta_quant:T2 mask:T1? word_embedding_scale:T "
        "position_embedding_scale:T segment_embedding_scale:T? gamma_scale:T beta_scale:T "
        "word_embedding_zero_point:T2 position_embedding_zero_point:T2 "
        "segment_embedding_zero_point:T2? gamma_zero_point:T2 beta_zero_point:T2",
        "layernorm_out:T mask_index_out:T1",
        _quantized_embed_layer_norm,
        "epsilon:float",
        T="float",
        T1="int32",
        T2="int8 uint8",
    ),
)
