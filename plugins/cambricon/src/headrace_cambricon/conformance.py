"""What the conformance suite is told: what this device does not run for good, and why.

Beside it the suite skips calls of ops whose kernels do not take them, with what they take instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.device import ConformanceProfile

_INFINITE = "what the library's remainder of infinities is, is not documented"

_FAMILIES: Mapping[str, tuple[str, str]] = {
    "float64": (
        "activation binary conv logic matmul norm pool recurrent reduce softmax unary",
        "the library computes in no float64",
    ),
}

_TESTS: Mapping[str, str] = {
    **{f"test_binary[[]mod-{id}*": _INFINITE for id in ("float", "bfloat", "special", "signs")},
    "test_a_length_outside_is_an_error[[]*": (
        "needs int64 arithmetic, which the library is not known to have"
    ),
    "test_an_event_before_a_failure_is_reached": (
        "CNRT says once that work of a queue failed, and not where in the queue"
    ),
}


def profile(tag: str) -> ConformanceProfile:
    """The profile of the device, in patterns of the suite's tags and names."""
    tags = {
        f"ops/{family}/{dtype}": reason
        for dtype, (families, reason) in _FAMILIES.items()
        for family in families.split()
    }
    return ConformanceProfile(tag, unsupported={**tags, **_TESTS})
