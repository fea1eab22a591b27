"""The element types of tensors: one ``DType`` per type, and how each looks to numpy.

The set is closed and ordered; ``number`` is what plans store and never changes its meaning.
Types that numpy lacks come from ml_dtypes. Strings, complex numbers, sequences and optionals are
no tensor types here: whoever meets one raises ``DTypeError`` or ``UnsupportedModelError``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from headrace.errors import DTypeError

__all__ = [
    "ALL", "BOOL", "FLOATS", "INTS", "NUMBERS", "SIGNED", "SIGNED_INTS", "UNSIGNED_INTS", "DType",
    "bfloat16", "bool_", "dtype_of", "float16", "float32", "float64", "from_number", "int8",
    "int16", "int32", "int64", "storage_only", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class DType:
    """An element type.

    Attributes:
        number: what a plan stores; 0 is never used.
        name: numpy's name of the type, for example ``float32``.
        itemsize: bytes of one element as headrace stores it (4-bit types take a whole byte).
        kind: ``b`` bool, ``u`` unsigned, ``i`` signed, ``f`` float.
    """

    number: int
    name: str
    itemsize: int
    kind: str
    numpy: np.dtype[Any] = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:  # in a third of the time of comparing field by field
        return self is other or (isinstance(other, DType) and self.number == other.number)

    def __hash__(self) -> int:
        return self.number  # part of every key of a call; the fields would be hashed one by one

    @property
    def is_float(self) -> bool:
        """True for every floating point type, also the storage-only ones."""
        return self.kind == "f"

    @property
    def is_int(self) -> bool:
        """True for signed and unsigned integers; False for bool."""
        return self.kind in "iu"


def _make(number: int, name: str, kind: str) -> DType:
    numpy_dtype = np.dtype(getattr(np, name, None) or getattr(ml_dtypes, name))
    return DType(number, name, numpy_dtype.itemsize, kind, numpy_dtype)


bool_ = DType(1, "bool", 1, "b", np.dtype(np.bool_))
uint8 = _make(2, "uint8", "u")
uint16 = _make(3, "uint16", "u")
uint32 = _make(4, "uint32", "u")
uint64 = _make(5, "uint64", "u")
int8 = _make(6, "int8", "i")
int16 = _make(7, "int16", "i")
int32 = _make(8, "int32", "i")
int64 = _make(9, "int64", "i")
float16 = _make(10, "float16", "f")
bfloat16 = _make(11, "bfloat16", "f")
float32 = _make(12, "float32", "f")
float64 = _make(13, "float64", "f")

# Storage only: tensors of these may be held, moved and cast, but no op computes in them.
_STORAGE = tuple(
    _make(number, name, kind)
    for number, name, kind in (
        (14, "int4", "i"),
        (15, "uint4", "u"),
        (16, "float8_e4m3fn", "f"),
        (17, "float8_e4m3fnuz", "f"),
        (18, "float8_e5m2", "f"),
        (19, "float8_e5m2fnuz", "f"),
    )
)

BOOL = frozenset({bool_})
UNSIGNED_INTS = frozenset({uint8, uint16, uint32, uint64})
SIGNED_INTS = frozenset({int8, int16, int32, int64})
INTS = UNSIGNED_INTS | SIGNED_INTS
FLOATS = frozenset({float16, bfloat16, float32, float64})
SIGNED = SIGNED_INTS | FLOATS
NUMBERS = INTS | FLOATS
ALL = NUMBERS | BOOL | frozenset(_STORAGE)

_BY_NAME = {dtype.name: dtype for dtype in sorted(ALL)}
_BY_NUMBER = {dtype.number: dtype for dtype in ALL}


def storage_only(dtype: DType) -> bool:
    """True when tensors of ``dtype`` may only be held, moved and cast."""
    return dtype in _STORAGE


def dtype_of(value: object) -> DType:
    """Return the ``DType`` that a DType, a name, a numpy dtype or a numpy scalar type means.

    Byte order is not part of a DType: a big-endian ``float32`` is ``float32`` (whoever takes an
    array brings it to the machine's order).

    Raises:
        DTypeError: there is no such tensor type.

    Example:
        >>> dtype_of("float32") is dtype_of(np.float32) is float32
        True
    """
    if isinstance(value, DType):
        return value
    try:
        if value is None:  # numpy would take it for float64
            raise TypeError
        name = value if isinstance(value, str) else np.dtype(value).name  # type: ignore[call-overload]
        return _BY_NAME[name]
    except (TypeError, KeyError):
        known = ", ".join(_BY_NAME)
        raise DTypeError(f"{value!r} is not a tensor dtype; dtypes are {known}") from None


def from_number(number: int) -> DType:
    """Return the dtype that a plan stores as ``number``.

    Raises:
        DTypeError: no dtype has this number.
    """
    try:
        return _BY_NUMBER[number]
    except KeyError:
        raise DTypeError(f"{number} is not the number of a dtype") from None
