"""The element types of tensors: one ``DType`` per type, and how each looks to numpy.

The set is closed and ordered; ``number`` is what plans store and never changes its meaning.
Types that numpy lacks come from ml_dtypes, which is imported when the first of them is met: most
models have none. Strings, complex numbers, sequences and optionals are
no tensor types here: whoever meets one raises ``DTypeError`` or ``UnsupportedModelError``.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.errors import DTypeError
from headrace.light_dataclass import dataclass

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
        numpy: what arrays of it have.
    """

    number: int
    name: str
    itemsize: int
    kind: str
    numpy: np.dtype[Any] = field(init=False, compare=False, repr=False)

    if not TYPE_CHECKING:  # or an attribute that does not exist would pass for one of any type

        def __getattr__(self, name: str) -> object:
            """Of ``numpy`` alone, and once: later it is found without asking here."""
            if name != "numpy":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            import ml_dtypes

            numpy_dtype = np.dtype(getattr(ml_dtypes, self.name))
            object.__setattr__(self, "numpy", numpy_dtype)
            return numpy_dtype

    def __str__(self) -> str:
        return self.name

    # There is one of each number, and these are most that specs are asked, and part of every key.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __reduce__(self) -> tuple[object, ...]:
        """Also where it was copied or comes from another process."""
        return from_number, (self.number,)

    @property
    def is_float(self) -> bool:
        """True for every floating point type, also the storage-only ones."""
        return self.kind == "f"

    @property
    def is_int(self) -> bool:
        """True for signed and unsigned integers; False for bool."""
        return self.kind in "iu"


def _numpys(number: int, name: str, kind: str) -> DType:
    """A type that numpy has."""
    numpy_dtype = np.dtype(name)
    made = DType(number, name, numpy_dtype.itemsize, kind)
    object.__setattr__(made, "numpy", numpy_dtype)
    return made


bool_ = _numpys(1, "bool", "b")
uint8 = _numpys(2, "uint8", "u")
uint16 = _numpys(3, "uint16", "u")
uint32 = _numpys(4, "uint32", "u")
uint64 = _numpys(5, "uint64", "u")
int8 = _numpys(6, "int8", "i")
int16 = _numpys(7, "int16", "i")
int32 = _numpys(8, "int32", "i")
int64 = _numpys(9, "int64", "i")
float16 = _numpys(10, "float16", "f")
bfloat16 = DType(11, "bfloat16", 2, "f")
float32 = _numpys(12, "float32", "f")
float64 = _numpys(13, "float64", "f")

# Storage only: tensors of these may be held, moved and cast, but no op computes in them.
_STORAGE = (
    DType(14, "int4", 1, "i"),
    DType(15, "uint4", 1, "u"),
    DType(16, "float8_e4m3fn", 1, "f"),
    DType(17, "float8_e4m3fnuz", 1, "f"),
    DType(18, "float8_e5m2", 1, "f"),
    DType(19, "float8_e5m2fnuz", 1, "f"),
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
        if isinstance(value, str):
            return _BY_NAME[value]
        return _of_numpy(np.dtype(value))  # type: ignore[call-overload]
    except (TypeError, KeyError):
        known = ", ".join(_BY_NAME)
        raise DTypeError(f"{value!r} is not a tensor dtype; dtypes are {known}") from None


@lru_cache(maxsize=64)
def _of_numpy(dtype: np.dtype[Any]) -> DType:
    """Remembered: numpy puts the name of a dtype together each time that it is asked for it."""
    return _BY_NAME[dtype.name]


def from_number(number: int) -> DType:
    """Return the dtype that a plan stores as ``number``.

    Raises:
        DTypeError: no dtype has this number.
    """
    try:
        return _BY_NUMBER[number]
    except KeyError:
        raise DTypeError(f"{number} is not the number of a dtype") from None
