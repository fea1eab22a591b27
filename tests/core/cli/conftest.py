"""The command with two toy backends in place of the installed ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from onnx import ModelProto

from headrace.cli import main
from headrace.registry import BackendRegistry

Headrace = Callable[..., Result]
Save = Callable[[ModelProto], Path]


@pytest.fixture
def headrace(
    registry: BackendRegistry,
    install: Callable[[BackendRegistry], object],
    monkeypatch: pytest.MonkeyPatch,
) -> Headrace:
    """Runs ``headrace`` with the given words; devices are those of fixture ``registry``."""
    install(registry)
    monkeypatch.delenv("HEADRACE_TRACEBACK", raising=False)

    def run(*words: object) -> Result:
        return CliRunner().invoke(main, [str(word) for word in words])

    return run


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Writes a model to a file and returns its path."""

    def write(model: ModelProto) -> Path:
        path = tmp_path / "model.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    return write
