"""Buffers of the host as the arrays that kernels work on."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.device import Buffer, HostBuffer
from headrace.tensor_spec import Array, TensorSpec


def array_of(buffer: Buffer | None, spec: TensorSpec | None) -> Array:
    """The beginning of ``buffer`` as an array of ``spec``; shares its memory."""
    assert isinstance(buffer, HostBuffer) and spec is not None
    return buffer.array(spec)


def optional_array(
    buffers: Sequence[Buffer | None], specs: Sequence[TensorSpec | None], index: int
) -> Array | None:
    """The array of an optional input; None when it is absent."""
    return None if specs[index] is None else array_of(buffers[index], specs[index])
