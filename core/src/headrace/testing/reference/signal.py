"""Spectra: the oracle, every bin as the sum that defines it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.tensor_spec import Array


def _dft(x: Array, *, length: int, inverse: bool, onesided: bool) -> Array:
    numbers = x.astype(np.float64)
    signal = numbers[..., 0] + 1j * (numbers[..., 1] if x.shape[-1] == 2 else 0)
    half = length // 2 + 1
    if inverse and onesided:
        signal = signal[..., :half]
        missing = [(0, 0)] * (signal.ndim - 1) + [(0, half - signal.shape[-1])]
        signal = np.pad(signal, missing)
        signal[..., 0].imag = 0
        if length % 2 == 0:
            signal[..., -1].imag = 0
        mirrored = signal[..., 1 : (length + 1) // 2][..., ::-1].conj()
        signal = np.concatenate([signal, mirrored], axis=-1)
    signal = signal[..., :length]
    bins = half if onesided and not inverse else length
    sign = 1 if inverse else -1
    y = np.zeros((*signal.shape[:-1], bins), np.complex128)
    for at in range(bins):
        turns = np.arange(signal.shape[-1]) * at % length / length
        y[..., at] = (signal * np.exp(sign * 2j * np.pi * turns)).sum(-1)
    if inverse:
        y /= length
    parts = [y.real] if inverse and onesided else [y.real, y.imag]
    return np.stack(parts, axis=-1).astype(x.dtype)


def _stft(x: Array, window: Array | None, *, length: int, step: int, onesided: bool) -> Array:
    weights = np.ones(length) if window is None else window.astype(np.float64)
    starts = range(0, x.shape[1] - length + 1, step)
    frames = [x[:, at : at + length].astype(np.float64) * weights[:, np.newaxis] for at in starts]
    made = _dft(np.stack(frames, axis=1), length=length, inverse=False, onesided=onesided)
    return made.astype(x.dtype)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"dft": _dft, "stft": _stft}
