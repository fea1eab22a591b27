"""A registry whose backend ``near`` runs every op."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from toy_backends import near

from headrace.numpy_ops import FUNCTIONS
from headrace.onnx import Model, load
from headrace.registry.registry import BackendRegistry

Load = Callable[..., Model]


@pytest.fixture
def registry() -> BackendRegistry:
    """A registry in which ``near`` is installed, with a kernel for every op."""
    return BackendRegistry.from_modules({"near": near(tuple(FUNCTIONS))})


@pytest.fixture
def load_near(registry: BackendRegistry) -> Iterator[Load]:
    """``headrace.onnx.load`` onto ``near``; what it loads is closed after the test."""
    loaded: list[Model] = []

    def load_it(source: Any, **options: Any) -> Model:
        loaded.append(load(source, "near", registry=registry, **options))
        return loaded[-1]

    yield load_it
    for item in loaded:
        item.close()
