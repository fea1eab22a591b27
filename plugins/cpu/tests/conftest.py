"""For all tests of the backend: who changes the threads changes them for nobody else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import headrace_cpu


@pytest.fixture(autouse=True)
def threads_stay() -> Iterator[None]:
    """As many after a test as before it."""
    before = headrace_cpu.threads()
    yield
    headrace_cpu.set_threads(before)
