"""Spectra, in numpy: its own fast transforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.numpy_ops.elementwise import wide
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.tensor_spec import Array


def _dft(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, length = _numbers(wide(given(inputs, 0))), call.int_attr("length")
    if not call.flag_attr("inverse"):
        _transform(x, length, outputs[0])
    elif call.flag_attr("onesided"):
        outputs[0][..., 0] = np.fft.irfft(x, length)
    else:
        _put(np.fft.ifft(x, length), outputs[0])


def _stft(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, length = _numbers(wide(given(inputs, 0))), call.int_attr("length")
    framed = np.lib.stride_tricks.sliding_window_view(x, length, axis=1)
    framed = framed[:, :: call.int_attr("step")]
    if call.has_input(1):
        framed = framed * wide(given(inputs, 1))
    _transform(framed, length, outputs[0])


def _numbers(x: Array) -> Array:
    """The last axis as one number, a real or a complex one."""
    return x[..., 0] if x.shape[-1] == 1 else x[..., 0] + 1j * x[..., 1]


def _transform(x: Array, length: int, out: Array) -> None:
    """As many bins as ``out`` has."""
    bins = out.shape[-2]
    if bins < length and x.dtype.kind == "f":
        _put(np.fft.rfft(x, length), out)
    else:
        _put(np.fft.fft(x, length)[..., :bins], out)


def _put(made: np.ndarray[Any, Any], out: Array) -> None:
    out[..., 0], out[..., 1] = made.real, made.imag


FUNCTIONS: Mapping[str, NumpyFunction] = {"dft": _dft, "stft": _stft}
