"""Tags: what a test of the suite is about, so that a backend can be tested by capability."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from headrace.dtypes import dtype_of
from headrace.errors import DTypeError
from headrace.testing.case import Case

TAGS: Mapping[str, str] = MappingProxyType(
    {
        "core": "what every backend must do, also one with a single kernel",
        "memory": "allocation, views, copies",
        "streams": "order within a stream, captured sequences",
        "events": "waits between streams",
        "errors": "what cannot be done is said by name, and does no harm",
        "multi-device": "several devices of one backend at once",
        "collectives": "exchanges among devices that a plugin offers",
        "in-place": "an output on the memory of an input",
        "layouts": "the order of elements in memory",
        "ops/*/*": "an op family in a dtype, for example ops/matmul/float32",
    }
)
"""Every tag and what it asks; families and dtypes make many of the last one."""

CORE_OP = ("add", "float32")
"""The op that a backend needs for tag ``core``."""


def tags_of_case(family: str, case: Case) -> tuple[str, ...]:
    """The tags of a case of an op family.

    Example:
        >>> import numpy as np
        >>> tags_of_case("binary", Case("ones", "add", (np.ones(2, np.float32),) * 2))
        ('ops/binary/float32', 'core')
    """
    dtype = dtype_name(case)
    tags = [f"ops/{family}/{dtype}"]
    if (case.op, dtype) == CORE_OP:
        tags.append("core")
    return tuple(tags)


def dtype_name(case: Case) -> str:
    """The dtype that a case is about: that of its first input, else of its attribute ``dtype``."""
    for array in case.inputs:
        if array is not None:
            return array.dtype.name
    try:
        return dtype_of(case.attrs.get("dtype", "float32")).name
    except DTypeError:
        return "other"


def is_chosen(tags: Iterable[str], patterns: Iterable[str]) -> bool:
    """True when one of ``patterns`` fits one of ``tags``.

    Example:
        >>> is_chosen(["ops/matmul/float32"], ["memory", "ops/matmul/*"])
        True
    """
    tags = tuple(tags)
    return any(fnmatch.fnmatchcase(tag, pattern) for pattern in patterns for tag in tags)
