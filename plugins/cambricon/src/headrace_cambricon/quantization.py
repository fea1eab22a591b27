"""Numbers as small integers: ``x = q * 2**position / scale``, one position and scale a tensor."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headrace.errors import SettingError

VARIABLE = "HEADRACE_CAMBRICON_QUANTIZE"
BITS = {"int8": 8, "int16": 16}


def chosen() -> str:
    """The integer type that the user chose to multiply in; empty for none.

    Raises:
        SettingError: the variable names another.
    """
    text = os.environ.get(VARIABLE, "")
    if text and text not in BITS:
        raise SettingError(VARIABLE, text, " or ".join(BITS))
    return text


@dataclass(frozen=True, slots=True)
class Quantization:
    """How the integers of a tensor are meant."""

    position: int = 0
    scale: float = 1.0

    @property
    def unit(self) -> float:
        """What the integer 1 stands for."""
        return math.ldexp(1 / self.scale, self.position)


def fit(x: NDArray[np.float32], dtype: str) -> Quantization:
    """What spreads the numbers of ``x`` over the integers, as the library finds it on the card."""
    greatest = float(np.abs(x).max(initial=0))
    if not (greatest > 0 and math.isfinite(greatest)):
        return Quantization()
    bits = BITS[dtype]
    position = math.frexp(greatest)[1] - 1 - (bits - 2)  # frexp: from a half to one
    return Quantization(position, math.ldexp((1 << bits - 1) - 1, position) / greatest)


def quantized(x: NDArray[np.float32], by: Quantization, dtype: str) -> NDArray[np.integer]:
    """The integers, rounded to even and kept inside their range."""
    limits = np.iinfo(dtype)
    whole: NDArray[np.integer] = np.clip(np.rint(x / by.unit), limits.min, limits.max).astype(dtype)
    return whole
