"""Fixtures of the tests of core: a registry of two toy backends, and no thread left behind."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator

import pytest
from toy_backends import far, near

from headrace.registry import BackendRegistry, default_registry
from headrace.registry.registry import replace_default_registry


def pytest_configure() -> None:
    """What the compiler makes is verified in every test, also where tox does not say so."""
    os.environ.setdefault("HEADRACE_VERIFY", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--rewrite-golden``, for ``compiler/test_golden.py``."""
    parser.addoption(
        "--rewrite-golden", action="store_true", help="write golden files instead of comparing"
    )


@pytest.fixture
def registry() -> BackendRegistry:
    """A fresh registry in which ``near`` and ``far`` are installed."""
    return BackendRegistry.from_modules({"near": near(), "far": far()})


@pytest.fixture
def install() -> Iterator[Callable[[BackendRegistry], object]]:
    """Makes the backends of a registry the installed ones, until the test ends."""
    before = default_registry()
    yield replace_default_registry
    replace_default_registry(before)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Every thread that a test starts has ended with it."""
    before = set(threading.enumerate())
    yield
    left = [thread.name for thread in threading.enumerate() if thread not in before]
    assert not left, f"threads still alive: {left}"
