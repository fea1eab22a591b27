"""How far a result may be from the oracle, by dtype.

``|got - want| <= atol + rtol * |want|``, with the oracle computed in float64. Integers and bool are
exact, and so are the dtypes that are only stored: their ops move elements and compute nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from headrace import dtypes
from headrace.dtypes import DType


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Relative and absolute tolerance of a result."""

    rtol: float
    atol: float


EXACT = Tolerance(0.0, 0.0)

_ROUNDED: Mapping[DType, Tolerance] = MappingProxyType(
    {
        # 11 bits: half an ulp is 4.9e-4 of the value. Kernels that compute in float32 round once;
        # two ulp leave room for those that round between steps.
        dtypes.float16: Tolerance(2e-3, 1e-3),
        # 8 bits: half an ulp is 3.9e-3 of the value. As for float16.
        dtypes.bfloat16: Tolerance(1.6e-2, 8e-3),
        # 24 bits: half an ulp is 6e-8. Sums of the hundreds of terms that cases have, in any order,
        # and the approximations of exp or tanh that devices use stay within a hundred ulp.
        dtypes.float32: Tolerance(1e-5, 1e-6),
        # 53 bits: half an ulp is 1.1e-16. The oracle has no more bits itself, so its own sums and
        # the libm it runs on differ in the last few; this is ten thousand ulp.
        dtypes.float64: Tolerance(1e-12, 1e-12),
    }
)


def tolerance_of(dtype: DType) -> Tolerance:
    """The tolerance for results of ``dtype``, when a case does not say another.

    Example:
        >>> tolerance_of(dtypes.int32)
        Tolerance(rtol=0.0, atol=0.0)
    """
    return _ROUNDED.get(dtype, EXACT)
