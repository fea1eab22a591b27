"""Fixtures of the tests of sessions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gated_kernels import Gate
from toy_backends import far, near

import headrace as flow
from headrace.registry import BackendRegistry


@pytest.fixture
def session(registry: BackendRegistry) -> Iterator[flow.Session]:
    """A session on the toy backends."""
    with flow.Session(registry) as made:
        yield made


@pytest.fixture
def gate() -> Gate:
    """Holds what is computed on ``far``."""
    return Gate()


@pytest.fixture
def gated(gate: Gate) -> Iterator[flow.Session]:
    """A session on ``far`` whose kernels wait for the gate."""
    registry = BackendRegistry.from_modules({"far": far(kernel=gate.kernel), "near": near()})
    with flow.Session(registry) as made:
        yield made
        gate.open.set()
