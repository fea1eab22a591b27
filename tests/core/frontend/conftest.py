"""Fixtures of the tests of sessions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import headrace as flow
from headrace.registry import BackendRegistry


@pytest.fixture
def session(registry: BackendRegistry) -> Iterator[flow.Session]:
    """A session on the toy backends."""
    with flow.Session(registry) as made:
        yield made
