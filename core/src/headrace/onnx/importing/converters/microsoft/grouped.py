"""Attention in which several heads share keys and values, as language models have it."""

from __future__ import annotations

import math

import numpy as np

from headrace.dtypes import float32, int64
from headrace.onnx.importing.contrib import declare
from headrace.onnx.importing.converters.microsoft.heads import parts, split_heads
from headrace.onnx.importing.converters.microsoft.rotary import turned
from headrace.onnx.importing.converters.norm import rms
from headrace.onnx.importing.formula import cast, with_number
from headrace.onnx.importing.node import Node
from headrace.ops import Tensor

_HEAD_SINK, _QUERY_NORM, _KEY_NORM = 11, 14, 15
_REFUSED = {12: "k_scale", 13: "v_scale", 16: "query_seqlens"}


def _grouped_attention(node: Node) -> tuple[Tensor, ...]:
    _refuse(node)
    heads, shared = node.attr("num_heads"), node.attr("kv_num_heads")
    if shared < 1 or heads % shared:
        node.invalid(f"num_heads is {heads}, which kv_num_heads={shared} does not divide")
    q, k, v = _split(node, heads, shared)
    for index, name in ((_QUERY_NORM, "q_norm_epsilon"), (_KEY_NORM, "k_norm_epsilon")):
        if node.optional(index) is not None:
            epsilon = node.attr(name, node.attr("qk_norm_epsilon", 1e-6))
            x = q if index == _QUERY_NORM else k
            x = rms(node, x, node.input(index), 3, float32, epsilon)
            q, k = (x, k) if index == _QUERY_NORM else (q, x)
    seen = _Seen(node, q)
    if node.attr("do_rotary", 0):
        caches = (node.input(7), node.input(8))
        neighbours = bool(node.attr("rotary_interleaved", 0))
        q, k = (turned(node, x, seen.places(), caches, neighbours) for x in (q, k))
    keys, values = seen.kept(k, node.optional(3)), seen.kept(v, node.optional(4))
    y = _attend(node, seen, q, keys, values)
    return (y, keys, values)[: node.output_count]


def _refuse(node: Node) -> None:
    given = [name for index, name in _REFUSED.items() if node.optional(index) is not None]
    given += [n for n in ("qk_output", "sliding_window_cache") if node.attr(n, 0)]
    if given:
        node.refuse(f"has {', '.join(given)}; attention without runs")
    q, past = node.input(0), node.optional(3)
    if past is not None and past.spec.dtype != q.spec.dtype:
        node.refuse(f"keeps its keys as {past.spec.dtype}; those of dtype {q.spec.dtype} run")


def _split(node: Node, heads: int, shared: int) -> list[Tensor]:
    """Query, key and value by heads; they may be side by side in one tensor."""
    x, key, value = node.input(0), node.optional(1), node.optional(2)
    if x.spec.rank != 3:
        node.refuse(f"query is {x.spec}; [batch, steps, hidden] runs")
    counts = (heads, shared, shared)
    if key is None or value is None:
        if x.spec.shape[2] % sum(counts):
            node.invalid(f"query is {x.spec}, which {counts} heads do not divide")
        size = x.spec.shape[2] // sum(counts)
        given = parts(node, x, [count * size for count in counts])
    else:
        given = [x, key, value]
    made = [split_heads(node, x, count) for x, count in zip(given, counts, strict=True)]
    shapes = [x.spec.shape for x in made]
    if not all(shape[2:] == shapes[0][2:] and shape[0] == shapes[0][0] for shape in shapes):
        node.refuse(f"query, key and value are {shapes} by heads; those of one length run")
    return made


class _Seen:
    """How many steps there were before those of this call, for each sequence of the batch.

    A call with all steps there are is the first one. In any other, the steps of a sequence end
    where ``seqlens_k`` says.

    Attributes:
        before: int64[batch].
        length: steps that are kept.
    """

    def __init__(self, node: Node, q: Tensor) -> None:
        self._node = node
        self._batch, _, self._steps, _ = q.spec.shape
        totals = node.ints(6) or ()
        if len(totals) != 1:
            node.invalid(f"total_sequence_length is {node.input(6).spec}; it is one number")
        (total,) = totals
        past = node.optional(3)
        self._room = 0 if past is None else past.spec.shape[2]
        self.length = max(self._room, total)
        self._is_first = self._steps > 1 and self._steps == total
        if total < self._steps:
            node.invalid(f"total_sequence_length is {total}, less than the {self._steps} steps")
        if node.input(5).spec.elements != self._batch:
            node.invalid(f"seqlens_k is {node.input(5).spec}, for a batch of {self._batch}")
        self._last = node.one("reshape", [cast(node, node.input(5), int64)], shape=(self._batch,))
        self.before = (
            node.constant(np.zeros(self._batch, np.int64))
            if self._is_first
            else with_number(node, "subtract", self._last, self._steps - 1)
        )

    def places(self) -> Tensor:
        """The places of the steps of this call, ``[batch, steps]``."""
        node, given = self._node, self._node.optional(9)
        begin = node.one("reshape", [self.before], shape=(self._batch, 1))
        if given is not None:
            if given.spec.shape != (self._batch, self._steps):
                node.invalid(f"position_ids is {given.spec}, not {[self._batch, self._steps]}")
            if not self._is_first:
                return given
            # Of the first call only the first one counts, whatever the others are.
            begin = node.one("slice", [given], starts=(0, 0), ends=(1, 1), axes=(0, 1))
        return node.one("add", [begin, node.constant(np.arange(self._steps))])

    def kept(self, x: Tensor, past: Tensor | None) -> Tensor:
        """What is kept: the steps before, then those of ``x``, then nothing."""
        batch, heads, _, size = x.spec.shape
        if past is not None and past.spec.shape != (batch, heads, self._room, size):
            kept = [batch, heads, self._room, size]
            self._node.invalid(f"what was kept is {past.spec}, not {kept}")
        if self._is_first and self.length == self._steps:
            return x
        inputs = [x, past, self.before]
        return self._node.one("cache_write", inputs, length=self.length, clears=True)

    def end(self) -> Tensor | None:
        """Where the steps of each sequence end, int64[batch], where that hides some."""
        if self._node.attr("causal", 1) and not self._is_first:
            return None  # nothing is beyond the end that is not later
        return with_number(self._node, "add", self._last, 1)


def _attend(node: Node, seen: _Seen, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The heads side by side, ``[batch, steps, heads * size]``."""
    batch, heads, steps, size = q.spec.shape
    causal, window = bool(node.attr("causal", 1)), max(node.attr("local_window_size", -1), 0)
    if window and not causal:
        node.refuse("has a window and is not causal; a causal one runs")
    bias = None if node.optional(10) is None else _bias(node, node.input(10), seen.length)
    y = node.one(
        "cached_attention",
        [q, k, v, seen.before, seen.end(), bias, _sink(node, heads)],
        scale=node.attr("scale", 0.0) or 1 / math.sqrt(size),
        causal=causal,
        window=window,
        softcap=max(node.attr("softcap", 0.0), 0.0),
    )
    y = node.one("transpose", [y], perm=(0, 2, 1, 3))
    return node.one("reshape", [y], shape=(batch, steps, heads * size))


def _bias(node: Node, bias: Tensor, length: int) -> Tensor:
    """As long as what is kept, of which it may leave out the end that nobody sees."""
    if bias.spec.rank != 4 or bias.spec.shape[3] > length:
        node.invalid(f"attention_bias is {bias.spec}, for scores of {length}")
    missing = length - bias.spec.shape[3]
    if not missing:
        return bias
    nothing = np.zeros((*bias.spec.shape[:3], missing), bias.spec.dtype.numpy)
    return node.one("concat", [bias, node.constant(nothing)], axis=3)


def _sink(node: Node, heads: int) -> Tensor | None:
    """One more score of each head, that nothing is taken of; None where there is none."""
    if node.optional(_HEAD_SINK) is not None or not node.attr("smooth_softmax", 0):
        return node.optional(_HEAD_SINK)
    return node.constant(np.zeros(heads, node.input(0).spec.dtype.numpy))


OPS = (
    declare(
        "GroupQueryAttention",
        "query:T key:T? value:T? past_key:C? past_value:C? seqlens_k:M total_sequence_length:M "
        "cos_cache:T? sin_cache:T? position_ids:int64? attention_bias:T? head_sink:T? k_scale:S? "
        "v_scale:S? q_norm_weight:T? k_norm_weight:T? query_seqlens:M?",
        "output:T present_key:C? present_value:C? output_qk:T?",
        _grouped_attention,
        "causal:int do_rotary:int k_norm_epsilon:float k_quant_type:string kv_cache_bit_width:int "
        "kv_num_heads:int! local_window_size:int num_heads:int! q_norm_epsilon:float "
        "qk_norm_epsilon:float qk_output:int rotary_interleaved:int scale:float "
        "sliding_window_cache:int smooth_softmax:int softcap:float v_quant_type:string",
        T="float16 bfloat16 float",
        C="float float16 bfloat16 uint8 int8 float8e4m3fn",
        S="float",
        M="int32",
    ),
)
