"""Ops of onnxruntime that exported language models are made of: headrace computes what it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contrib_nodes import RNG, agree, begin_again, both, f, on_headrace, on_onnxruntime, s32, u

from headrace.tensor_spec import Array

HEADS, SHARED, SIZE = 4, 2, 16


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Every test draws the same numbers, whichever others run."""
    begin_again()


def grouped(batch: int, steps: int, past: int, last: list[int], total: int) -> list[Array | None]:
    """The inputs of GroupQueryAttention until the lengths."""
    inputs: list[Array | None] = [f(batch, steps, HEADS * SIZE)]
    inputs += [f(batch, steps, SHARED * SIZE) for _ in range(2)]
    inputs += [f(batch, SHARED, past, SIZE) for _ in range(2)]
    return [*inputs, s32(*last), s32(total)]


CALLS: dict[str, tuple[int, int, int, list[int], int]] = {
    "the first": (2, 5, 0, [4, 4], 5),
    "the first, of sequences of two lengths": (2, 5, 0, [4, 2], 5),
    "one more": (2, 1, 5, [5, 5], 6),
    "one more of each, after two lengths": (2, 1, 5, [5, 3], 6),
    "several more": (1, 3, 5, [7], 8),
    "into a buffer": (2, 1, 12, [5, 3], 6),
    "the first into a buffer": (2, 5, 12, [4, 4], 5),
    "the first of one step": (1, 1, 0, [0], 1),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("rotary", [None, 0, 1])
def test_heads_that_share_keys(device: str, call: str, rotary: int | None) -> None:
    """Whatever was seen before, with and without places; what is kept is an output."""
    attrs: dict[str, Any] = {"num_heads": HEADS, "kv_num_heads": SHARED}
    inputs = grouped(*CALLS[call])
    if rotary is not None:
        inputs += [f(16, SIZE // 2), f(16, SIZE // 2)]
        attrs |= {"do_rotary": 1, "rotary_interleaved": rotary}
    agree(both(device, "GroupQueryAttention", inputs, "y keys values", **attrs))


@pytest.mark.parametrize(
    "attrs",
    [{"local_window_size": 3}, {"softcap": 2.0}, {"smooth_softmax": 1}, {"scale": 0.3}],
    ids=str,
)
@pytest.mark.parametrize("call", ["the first", "one more", "several more"])
def test_heads_that_share_keys_and_see_in_other_ways(
    device: str, call: str, attrs: dict[str, Any]
) -> None:
    """A window, a bound on the scores, one score more, another scale."""
    attrs = {"num_heads": HEADS, "kv_num_heads": SHARED, **attrs}
    agree(both(device, "GroupQueryAttention", grouped(*CALLS[call]), "y keys values", **attrs))


def test_query_key_and_value_in_one_tensor(device: str) -> None:
    """Side by side, as models that were made for it have them."""
    inputs = [f(2, 5, (HEADS + 2 * SHARED) * SIZE), None, None, None, None, s32(4, 4), s32(5)]
    attrs = {"num_heads": HEADS, "kv_num_heads": SHARED}
    agree(both(device, "GroupQueryAttention", inputs, "y keys values", **attrs))


@pytest.mark.parametrize("call", ["the first", "one more"])
def test_bias_and_sink_of_heads_that_share_keys(device: str, call: str) -> None:
    """What is added to the scores, and a score of nothing for each head."""
    batch, steps, _, _, total = CALLS[call]
    bias, attrs = f(batch, 1, steps, total), {"num_heads": HEADS, "kv_num_heads": SHARED}
    inputs = [*grouped(*CALLS[call]), None, None, None, bias, f(HEADS)]
    agree(both(device, "GroupQueryAttention", inputs, "y keys values", **attrs))


@pytest.mark.parametrize("call", ["the first, of sequences of two lengths", "one more"])
def test_heads_that_share_keys_and_see_what_comes_later(device: str, call: str) -> None:
    """All steps there are, none that are not."""
    attrs = {"num_heads": HEADS, "kv_num_heads": SHARED, "causal": 0}
    agree(both(device, "GroupQueryAttention", grouped(*CALLS[call]), "y keys values", **attrs))


@pytest.mark.parametrize("call", ["the first", "one more", "several more"])
def test_places_that_are_given(device: str, call: str) -> None:
    """Queries and keys are turned by these; of the first call the first one says them all."""
    batch, steps, *_ = CALLS[call]
    inputs = [*grouped(*CALLS[call]), f(32, SIZE // 2), f(32, SIZE // 2)]
    inputs.append(RNG.integers(0, 16, (batch, steps)))
    attrs = {"num_heads": HEADS, "kv_num_heads": SHARED, "do_rotary": 1}
    agree(both(device, "GroupQueryAttention", inputs, "y keys values", **attrs))


def test_queries_and_keys_are_normalised_by_head(device: str) -> None:
    """Before all else; onnxruntime does it on other processors, here it is told the result."""
    inputs, outputs = grouped(2, 5, 0, [4, 4], 5), "y keys values"
    attrs = {"num_heads": HEADS, "kv_num_heads": SHARED}
    norms: list[Array | None] = [f(SIZE), f(SIZE)]
    told = [*inputs, *[None] * 7, *norms]
    got = on_headrace(device, "GroupQueryAttention", told, outputs, **attrs, qk_norm_epsilon=1e-3)
    for index, norm in enumerate(norms):
        x = inputs[index]
        assert x is not None
        heads = x.reshape(2, 5, -1, SIZE)
        heads = heads / np.sqrt((heads**2).mean(-1, keepdims=True) + np.float32(1e-3)) * norm
        inputs[index] = heads.reshape(x.shape)
    want = on_onnxruntime("GroupQueryAttention", inputs, outputs, **attrs)
    agree(list(zip(got, want, strict=True)))


@pytest.mark.parametrize("past", [0, 3])
@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("unidirectional", [0, 1])
def test_attention_after_calls_before(
    device: str, past: int, mask: bool, unidirectional: int
) -> None:
    """Keys and values of before come in as one tensor, and go out with those of now."""
    seen = np.ones((2, past + 5), np.int32)
    seen[1, 1] = 0
    inputs = [f(2, 5, 6), f(6, 24), f(24), seen if mask else None, f(2, 2, 2, past, 4)]
    attrs = {"num_heads": 2, "unidirectional": unidirectional}
    agree(both(device, "Attention", inputs, "y present", **attrs))


@pytest.mark.parametrize("past", [0, 3])
def test_multi_head_attention_after_calls_before(device: str, past: int) -> None:
    """Keys and values of before come in as two tensors."""
    inputs = [f(2, 5, 8), f(2, 5, 8), f(2, 5, 8), f(24), None, None]
    inputs += [f(2, 2, past, 4), f(2, 2, past, 4)]
    agree(both(device, "MultiHeadAttention", inputs, "y keys values", num_heads=2))


def test_keys_of_now_are_given_out(device: str) -> None:
    """For the next call, also where there was none before."""
    inputs = [f(2, 5, 8), f(2, 5, 8), f(2, 5, 8)]
    agree(both(device, "MultiHeadAttention", inputs, "y keys values", num_heads=2))


@pytest.mark.parametrize("alone", [True, False])
def test_packed_attention(device: str, alone: bool) -> None:
    """One tensor of all three, or of keys and values, is as good as three."""
    q, k, v = f(2, 5, 2, 4), f(2, 5, 2, 4), f(2, 5, 2, 4)
    flat = [x.reshape(2, 5, 8) for x in (q, k, v)]
    packed: list[Array | None] = (
        [np.stack([q, k, v], 3)] if alone else [flat[0], np.stack([k, v], 3)]
    )
    (got,) = on_headrace(device, "MultiHeadAttention", [*packed], num_heads=2)
    agree([(got, pair[1]) for pair in both(device, "MultiHeadAttention", [*flat], num_heads=2)])


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", ["none", "bytes", "floats"])
@pytest.mark.parametrize("columns", [64, 50])
def test_products_with_weights_of_few_bits(
    device: str, bits: int, zeros: str, columns: int
) -> None:
    """With a scale for each block of a row, of which the last need not be whole."""
    rows, size = 6, 16
    blocks = -(-columns // size)
    inputs = [f(2, 3, columns), u(rows, blocks, size * bits // 8), np.abs(f(rows, blocks))]
    if zeros == "bytes":
        inputs.append(u(rows, -(-blocks * bits // 8)))
    if zeros == "floats":
        inputs.append(f(rows, blocks))
    attrs = {"K": columns, "N": rows, "bits": bits, "block_size": size}
    if zeros == "floats" and bits == 8:  # onnxruntime has no such product
        (got,) = on_headrace(device, "MatMulNBits", inputs, **attrs)
        a, b, scales, middles = inputs
        worth = (b.astype(np.float32) - middles[:, :, None]) * scales[:, :, None]
        agree([(got, a @ worth.reshape(rows, -1)[:, :columns].T)], 1e-3)
    else:
        agree(both(device, "MatMulNBits", inputs, **attrs), 1e-3)


def test_columns_that_say_which_block_they_are_of(device: str) -> None:
    """And a bias."""
    inputs = [f(3, 64), u(6, 4, 8), np.abs(f(6, 4)), None, s32(*(i // 16 for i in range(64))), f(6)]
    agree(both(device, "MatMulNBits", inputs, K=64, N=6, bits=4, block_size=16), 1e-3)


@pytest.mark.parametrize("kind", [0, 1])
def test_products_with_numbers_of_a_table(device: str, kind: int) -> None:
    """4 bits that stand for 16 numbers, of the largest of each block."""
    inputs = [f(3, 64), u(6 * 64 // 2), np.abs(f(6 * 64 // 16))]
    agree(both(device, "MatMulBnb4", inputs, K=64, N=6, block_size=16, quant_type=kind), 1e-4)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zeros", [True, False])
def test_embeddings_of_few_bits(device: str, bits: int, zeros: bool) -> None:
    """Rows are taken, and then read by the scale of each block."""
    rows, columns, size = 10, 64, 16
    indices = RNG.integers(0, rows, (2, 3))
    inputs = [u(rows, columns * bits // 8), indices, f(rows, columns // size)]
    inputs += [u(rows, columns // size * bits // 8)] if zeros else []
    attrs = {"bits": bits, "block_size": size, "gather_axis": 0, "quantize_axis": 1}
    agree(both(device, "GatherBlockQuantized", inputs, **attrs))
