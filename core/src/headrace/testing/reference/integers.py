"""Integers of a fixed number of bits, from Python's, which have as many as they need."""

from __future__ import annotations

from headrace.dtypes import dtype_of
from headrace.tensor_spec import Array


def bits_of(x: Array) -> int:
    """How many bits an element of ``x`` holds; 4-bit integers take a byte and hold 4."""
    name = dtype_of(x.dtype).name
    return int(name.lstrip("uint"))


def wrapped(value: int, like: Array) -> int:
    """``value`` as an integer of the dtype of ``like``, which keeps its low bits."""
    bits, signed = bits_of(like), dtype_of(like.dtype).kind == "i"
    rest = value % (1 << bits)
    return rest - (1 << bits) if signed and rest >> (bits - 1) else rest
