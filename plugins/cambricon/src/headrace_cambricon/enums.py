"""Numbers of the vendor's enumerators.

Those below were seen in a vendor header, or in vendor code that casts them. Others are known only
where somebody says them: the SDK's own header, or the stand-in, which has numbers of its own. Where
nobody does, the kernels that need one refuse, and say so: a guess would compute something else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from headrace_cambricon.errors import LibraryError
from headrace_cambricon.library import HOME_VARIABLE, USUAL_HOME, choose, library, opened_library

KNOWN: Mapping[str, int] = MappingProxyType(
    {
        "CNNL_LAYOUT_NCHW": 0,
        "CNNL_LAYOUT_NHWC": 1,
        "CNNL_LAYOUT_HWCN": 2,
        "CNNL_LAYOUT_NDHWC": 3,
        "CNNL_LAYOUT_ARRAY": 4,
        "CNNL_DTYPE_INVALID": 0,
        "CNNL_DTYPE_HALF": 1,
        "CNNL_DTYPE_FLOAT": 2,
        "CNNL_DTYPE_INT8": 3,
        "CNNL_DTYPE_INT16": 4,
        "CNNL_DTYPE_INT32": 6,
        "CNNL_DTYPE_UINT8": 7,
        "CNNL_DTYPE_BOOL": 8,
        "CNNL_DTYPE_INT64": 9,
        "CNNL_DTYPE_UINT32": 11,
        "CNNL_DTYPE_UINT64": 12,
        "CNNL_DTYPE_UINT16": 13,
        "CNNL_DTYPE_DOUBLE": 14,
        "CNNL_DTYPE_BFLOAT16": 17,
        "CNNL_NOT_PROPAGATE_NAN": 0,
        "CNNL_PROPAGATE_NAN": 1,
        "CNNL_COMPUTATION_FAST": 0,
        "CNNL_COMPUTATION_HIGH_PRECISION": 1,
        "CNNL_POINTER_MODE_HOST": 0,
        "CNNL_POINTER_MODE_DEVICE": 1,
        "CNNL_QUANTIZE_POSITION": 0,
        "CNNL_QUANTIZE_POSITION_SCALE": 1,
        "CNNL_POOLING_MAX": 0,
        "CNNL_POOLING_AVERAGE_COUNT_INCLUDE_PADDING": 1,
        "CNNL_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING": 2,
        "CNNL_REDUCE_ADD": 0,
        "CNNL_REDUCE_AVG": 1,
        "CNNL_REDUCE_MUL": 2,
        "CNNL_REDUCE_MAX": 3,
        "CNNL_REDUCE_MIN": 4,
        "CNNL_REDUCE_AND": 5,
        "CNNL_REDUCE_OR": 6,
        "CNNL_REDUCE_MAX_LAST_INDEX": 9,
        "CNNL_REDUCE_MIN_LAST_INDEX": 10,
        "CNNL_REDUCE_NO_INDICES": 0,
        "CNNL_REDUCE_FLATTENED_INDICES": 1,
        "CNNL_REDUCE_ONLY_INDICES": 2,
        "CNNL_32BIT_INDICES": 0,
        "CNNL_MATMUL_DESC_COMPUTE_TYPE": 0,
        "CNNL_MATMUL_DESC_TRANSA": 3,
        "CNNL_MATMUL_DESC_TRANSB": 4,
        "CNNL_MATMUL_ALLOW_TF32": 10,
        "CNNL_OP_TENSOR_ADD": 0,
        "CNNL_LOG_E": 0,
    }
)

_ENUM = re.compile(r"\benum\b[^{;]*\{([^}]*)\}", re.DOTALL)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_ENUMERATOR = re.compile(
    r"^\s*([A-Z][A-Z0-9_]*)\s*(?:=\s*(-?(?:0[xX][0-9a-fA-F]+|\d+)|[A-Z][A-Z0-9_]*))?\s*$"
)


def number_of(name: str) -> int:
    """The number of an enumerator.

    Raises:
        LibraryError: nobody has said it.
    """
    found = find(name)
    if found is None:
        raise LibraryError(
            f"the number of {name} is not known: no header of the vendor was found in "
            f"{_header_folder()}, and this package does not guess. Install the SDK's headers there"
        )
    return found


def find(name: str) -> int | None:
    """The number of an enumerator: from the SDK's header, the stand-in, or ``KNOWN``."""
    opened = opened_library()
    if opened is not None and opened.is_stand_in:
        told = library().stand_in_enum(name)
        return KNOWN.get(name) if told is None else told
    header = _from_header()
    return header[name] if name in header else KNOWN.get(name)


def enumerators(text: str) -> dict[str, int]:
    """The enumerators of a C header, as far as their values are numbers or other enumerators.

    Example:
        >>> enumerators("typedef enum { A = 2, /* next */ B, C = A } letters;")
        {'A': 2, 'B': 3, 'C': 2}
    """
    found: dict[str, int] = {}
    for body in _ENUM.findall(_COMMENT.sub(" ", text)):
        following: int | None = 0
        for part in body.split(","):
            match = _ENUMERATOR.match(part)
            if match is None:
                if part.strip():
                    following = None  # an expression: what comes behind it cannot be counted
                continue
            name, value = match.groups()
            if value is not None:
                following = found.get(value) if value[0].isalpha() else int(value, 0)
            if following is not None:
                found[name] = following
                following += 1
    return found


def _header_folder() -> Path:
    folder = choose().folder
    if folder:
        return Path(folder).parent / "include"
    return Path(os.environ.get(HOME_VARIABLE) or USUAL_HOME) / "include"


def parameter_count(function: str) -> int | None:
    """How many parameters the SDK's header gives a function; None when there is no header."""
    return parameters(_header_text(), function)


def parameters(text: str, function: str) -> int | None:
    """How many parameters a C header declares for a function.

    Example:
        >>> parameters("cnnlStatus_t CNNL_WIN_API cnnlSquare(const void *a, int b);", "cnnlSquare")
        2
    """
    found = re.search(rf"\b{function}\s*\(([^()]*)\)", _COMMENT.sub(" ", text))
    return None if found is None else found[1].count(",") + 1


@cache
def _header_text() -> str:
    opened = opened_library()
    if opened is not None and opened.is_stand_in:
        return ""
    paths = (_header_folder() / name for name in ("cnnl_core.h", "cnnl.h", "cnnl_extra.h"))
    return "\n".join(path.read_text("utf-8", "replace") for path in paths if path.is_file())


@cache
def _from_header() -> Mapping[str, int]:
    return MappingProxyType(enumerators(_header_text()))
