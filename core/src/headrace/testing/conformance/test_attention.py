"""Attention over what was seen before, on a device: caches, and what each step sees of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headrace.dtypes import FLOATS, NUMBERS, DType
from headrace.errors import RunError
from headrace.tensor_spec import Array
from headrace.testing.case import Case
from headrace.testing.run import check_case, run_op


def _numbers(seed: int, *shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)


def _write(
    id: str,
    before: tuple[int, ...],
    steps: int,
    length: int,
    room: int | None = None,
    shape: tuple[int, int] = (2, 3),
    dtype: DType | None = None,
    **attrs: object,
) -> Case:
    """A ``cache_write``; ``shape``: heads, and numbers of each."""
    heads, size = shape
    kind = np.float32 if dtype is None else dtype.numpy
    x = (4 * _numbers(1, len(before), heads, steps, size)).astype(kind)
    past = None
    if room is not None:
        past = (4 * _numbers(2, len(before), heads, room, size)).astype(kind)
    attrs = {"length": length, **attrs}
    return Case(id, "cache_write", (x, past, np.array(before, np.int64)), attrs)


_WRITES = (
    _write("nothing-before", (0,), 3, 3),
    _write("behind-the-past", (4,), 1, 5, room=4),
    _write("into-a-buffer", (2, 5), 1, 8, room=8),
    _write("several-into-a-buffer", (0, 3), 4, 7, room=7),
    _write("to-the-end", (4, 4), 4, 8, room=8),
    _write("into-zeros", (1, 3), 2, 6),
    _write("beyond-the-past", (6,), 1, 9, room=3),
    _write("clears-the-rest", (0, 5, 2), 2, 7, room=7, clears=True),
    _write("clears-behind-the-past", (1, 6), 1, 9, room=4, clears=True),
    _write("clears-all-but-nothing", (0, 3), 0, 4, room=4, clears=True),
    _write("no-steps", (9,), 0, 4, room=4),
    _write("no-place", (0,), 0, 0, room=0),
    _write("one-number", (3, 0, 1), 1, 4, room=4, shape=(1, 1)),
    _write("wide", (11,), 2, 40, room=40, shape=(4, 70)),
    *(_write(str(d), (1, 2), 2, 5, room=4, dtype=d) for d in sorted(NUMBERS)),
)


def _attention(
    id: str,
    before: tuple[int, ...],
    length: int,
    *given: str,
    steps: int = 1,
    heads: tuple[int, int] = (4, 2),
    sizes: tuple[int, int] = (8, 8),
    end: tuple[int, ...] | None = None,
    bias: tuple[int, ...] = (1, 1, 1),
    dtype: DType | None = None,
    **attrs: object,
) -> Case:
    """A ``cached_attention``; ``heads``: of queries and of keys; ``sizes``: of keys and values."""
    batch, kind = len(before), np.float32 if dtype is None else dtype.numpy
    optional = {
        "bias": _numbers(7, *bias, length, dtype=kind),
        "sink": _numbers(8, heads[0], dtype=kind),
    }
    inputs = (
        _numbers(3, batch, heads[0], steps, sizes[0], dtype=kind),
        _numbers(4, batch, heads[1], length, sizes[0], dtype=kind),
        _numbers(5, batch, heads[1], length, sizes[1], dtype=kind),
        np.array(before, np.int64),
        None if end is None else np.array(end, np.int64),
        *(optional[name] if name in given else None for name in optional),
    )
    return Case(id, "cached_attention", inputs, {"scale": 0.5, **attrs})


_ATTENTIONS = (
    _attention("all-of-them", (6,), 7),
    _attention("of-a-buffer", (2, 5), 9),
    _attention("several-steps", (3, 0), 8, steps=3),
    _attention("the-first-call", (0, 0), 5, steps=5),
    _attention("of-two-lengths", (0, 0), 5, steps=5, end=(5, 3)),
    _attention("not-causal", (0, 0), 6, steps=3, causal=False),
    _attention("not-causal-with-ends", (0, 0), 6, steps=3, end=(6, 2), causal=False),
    _attention("window", (8, 3), 10, steps=2, window=3),
    _attention("window-and-end", (0, 0), 6, steps=6, end=(6, 2), window=2),
    _attention("sees-nothing", (0, 0), 4, steps=2, end=(0, 1), causal=False),
    _attention("sees-nothing-but-the-sink", (0, 0), 4, "sink", end=(0, 2), causal=False),
    _attention("softcap", (5,), 6, softcap=0.5),
    _attention("sink", (5, 2), 6, "sink", steps=1),
    _attention("bias", (5, 2), 6, "bias"),
    _attention("bias-of-each", (3, 2), 6, "bias", steps=2, bias=(2, 4, 2)),
    _attention("everything", (9, 4), 16, "bias", "sink", steps=3, bias=(1, 4, 3),
               window=4, softcap=2.0, end=(12, 6)),
    _attention("a-head-of-its-own", (7,), 8, heads=(3, 3)),
    _attention("one-head-for-all", (7,), 8, heads=(6, 1), steps=2),
    _attention("sizes-apart", (7, 1), 8, sizes=(5, 11), steps=2),
    _attention("one-of-each", (0,), 1, heads=(1, 1), sizes=(1, 1)),
    _attention("many-places", (90, 33), 131, sizes=(40, 36), steps=2),
    _attention("many-steps", (0, 0), 90, heads=(4, 2), sizes=(20, 33), steps=90, end=(90, 41)),
    _attention("many-steps-of-a-buffer", (17, 3), 140, "bias", "sink", heads=(6, 2),
               sizes=(16, 16), steps=50, bias=(2, 1, 50), window=21, softcap=3.0),
    _attention("no-steps", (3,), 4, steps=0),
    _attention("no-place", (-1, -1), 0, steps=2),
    _attention("no-sequence", (), 4),
    *(_attention(str(d), (2, 5), 9, "bias", "sink", steps=2, dtype=d) for d in sorted(FLOATS)),
)  # fmt: skip


def _rotation(
    id: str, *shape: int, pairs: int, batches: int = 1, dtype: DType | None = None, **attrs: object
) -> Case:
    """A ``rotary_embedding``; ``batches``: so many have angles of their own."""
    kind = np.float32 if dtype is None else dtype.numpy
    angles = 3 * _numbers(10, batches, shape[2], pairs)
    inputs = (_numbers(9, *shape), np.cos(angles), np.sin(angles))
    return Case(id, "rotary_embedding", tuple(x.astype(kind) for x in inputs), attrs)


_ROTATIONS = (
    _rotation("halves", 2, 3, 4, 16, pairs=8),
    _rotation("neighbours", 2, 3, 4, 16, pairs=8, interleaved=True),
    _rotation("of-each-sequence", 2, 3, 4, 16, pairs=8, batches=2),
    _rotation("partial", 1, 2, 3, 20, pairs=7),
    _rotation("partial-neighbours", 2, 2, 3, 21, pairs=7, batches=2, interleaved=True),
    _rotation("wide", 1, 2, 1, 128, pairs=64),
    _rotation("wide-neighbours", 1, 2, 2, 134, pairs=66, interleaved=True),
    _rotation("one-pair", 1, 1, 1, 2, pairs=1),
    _rotation("no-pairs", 1, 2, 2, 3, pairs=0),
    _rotation("no-steps", 1, 2, 0, 4, pairs=2),
    *(_rotation(str(d), 2, 2, 2, 10, pairs=4, dtype=d) for d in sorted(FLOATS)),
)

CASES: tuple[Case, ...] = (*_WRITES, *_ATTENTIONS, *_ROTATIONS)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_attention(device: str, case: Case) -> None:
    """What is kept is kept where it belongs, and each step sees what came before it."""
    check_case(device, case)


_OUTSIDE = (
    _write("before-the-first", (1, -1), 1, 4, room=4),
    _write("behind-the-last", (1, 4), 1, 4, room=4),
    _write("over-the-end", (0, 2), 3, 4),
    _write("far-away", (2**62, 0), 1, 4, room=4),
)


@pytest.mark.parametrize("case", _OUTSIDE, ids=str)
def test_a_step_outside_the_cache_is_an_error(device: str, case: Case) -> None:
    """It stops the run; no other place is written for it."""
    with pytest.raises(RunError):
        run_op(device, case)
