"""What the conformance suite is told: what this device does not run for good, and why.

Beside it the suite skips calls of ops whose kernels do not take them, with what they take instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headrace.device import ConformanceProfile

_COMPUTING = "activation binary cast logic matmul pool reduce resize unary"
_FLOATING = f"{_COMPUTING} conv norm quantize recurrent softmax"
_STORED = "cast quantize resize"
_SMALL = ("int4", "uint4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")

_DTYPES: Mapping[str, tuple[str, str]] = {
    "bfloat16": (_FLOATING, "kernels are for float32 and float16; bfloat16 is not on every card"),
    "float64": (_FLOATING, "the library computes in no float64"),
    **{
        dtype: (f"{_COMPUTING} {more}", "the library's integer arithmetic is not documented")
        for dtype, more in {
            "uint8": "integer",
            "int8": "integer",
            "uint16": "quantize",
            "int16": "quantize",
            "uint32": "",
            "uint64": "",
            "int64": "",
        }.items()
    },
    "int32": ("matmul resize", "what becomes of a sum that does not fit is not documented"),
    "float16": ("recurrent resize", "needs int64 arithmetic, or a way that the library has not"),
    "bool": ("reduce resize", "the library computes with no bool"),
    **dict.fromkeys(_SMALL, (_STORED, "the library has no such type")),
}
_RUNS = {("uint8", "cast"), ("int8", "cast"), ("int16", "cast"), ("int64", "cast")}
"""Some casts of these are known."""

_NO_FUNCTION = "no function of the library for it is known by name, parameters and meaning"
_OVERFLOW = "what becomes of an integer that does not fit is not documented"
_INT64 = "needs int64 arithmetic, which the library is not known to have"

_TESTS: Mapping[str, str] = {
    **{
        f"test_unary[[]{op}-*": _NO_FUNCTION
        for op in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan")
    },
    **{f"test_unary[[]{op}-int32*": _OVERFLOW for op in ("abs", "negative", "sign")},
    **{
        f"test_gather[[]{op}-*": _NO_FUNCTION
        for op in ("gather_nd", "scatter_elements", "scatter_nd", "top_k")
    },
    **{
        f"test_an_index_outside_is_an_error[[]{op}-*": _NO_FUNCTION
        for op in ("gather_nd", "scatter_elements", "scatter_nd")
    },
    **{f"test_logic[[]{op}-int32*": _NO_FUNCTION for op in ("bitwise_and", "bitwise_not")},
    **{f"test_logic[[]{op}-*int32*": _NO_FUNCTION for op in ("bitwise_or", "bitwise_xor")},
    "test_logic[[]bit_shift-*int32*": _NO_FUNCTION,
    "test_fill[[]arange-*": _NO_FUNCTION,
    "test_fill[[]one_hot-*": "needs numbers in a row, for which there is no function",
    "test_binary[[]mod-*": "what the library's remainder of infinities is, is not documented",
    **{
        f"test_binary[[]{op}-*int32*": _OVERFLOW
        for op in ("add", "add_n", "bias_add", "divide", "multiply", "power", "subtract")
    },
    "test_activation[[]prelu-int32*": _OVERFLOW,
    "test_a_length_outside_is_an_error[[]*": _INT64,
    "test_an_event_before_a_failure_is_reached": (
        "CNRT says once that work of a queue failed, and not where in the queue"
    ),
    "test_reduce[[]arg*-last[]]": "of equal extremes, the library gives the first",
}


def profile(tag: str) -> ConformanceProfile:
    """The profile of the device, in patterns of the suite's tags and names."""
    return ConformanceProfile(tag, unsupported={**dict(_tags()), **_TESTS})


def _tags() -> Iterator[tuple[str, str]]:
    for dtype, (families, reason) in _DTYPES.items():
        for family in families.split():
            if (dtype, family) not in _RUNS:
                yield f"ops/{family}/{dtype}", reason
