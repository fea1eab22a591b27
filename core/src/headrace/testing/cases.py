"""Every case of the suite, for tests that go through them in another way than their family does."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

from headrace.testing.case import Case


def all_cases() -> Iterator[Case]:
    """The ``CASES`` of every module of the suite, module by module."""
    suite = import_module("headrace.testing.conformance")
    for module in pkgutil.iter_modules(suite.__path__, f"{suite.__name__}."):
        yield from getattr(import_module(module.name), "CASES", ())
