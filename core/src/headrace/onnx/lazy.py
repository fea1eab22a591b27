"""``LazyFile``: a model that is parsed when somebody needs to know what is in it.

A model whose plans were kept by an earlier process may run without ever being parsed; the package
onnx is then not even imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.onnx.source import ModelBytes
from headrace.registry import BackendRegistry
from headrace.runtime.bus import new_lock

if TYPE_CHECKING:
    from headrace.onnx.read import ModelFile


class ParsedFile:
    """A model that was parsed already; may be used from any thread."""

    def __init__(self, parsed: ModelFile) -> None:
        self.name = parsed.name
        self._parsed = parsed

    def parsed(self) -> ModelFile:
        """The checked model."""
        return self._parsed


class LazyFile:
    """A model file; may be used from any thread. It lets go of the bytes when they are parsed."""

    def __init__(self, given: ModelBytes, registry: BackendRegistry) -> None:
        self.name = given.name
        self._given: ModelBytes | None = given
        self._registry = registry
        self._lock = new_lock()
        self._parsed: ModelFile | None = None

    def parsed(self) -> ModelFile:
        """The checked model, of which every op can be imported.

        Raises:
            InvalidModelError, UnsupportedModelError, ResourceLimitError: as ``load``.
            ImportError: the package onnx is not installed.
        """
        if self._parsed is None:
            with self._lock:
                if self._parsed is None:
                    self._parsed = self._parse()
                    self._given = None
        return self._parsed

    def _parse(self) -> ModelFile:
        try:
            import onnx  # noqa: F401
        except ImportError as error:
            raise ImportError(
                "headrace.onnx needs the package onnx: pip install 'headrace[onnx]'"
            ) from error
        from headrace.onnx.read import parse_model
        from headrace.onnx.support import check_support

        assert self._given is not None, "bytes are kept until they are parsed"
        file = parse_model(self._given, {record.tag for record in self._registry.records()})
        check_support(file, self._registry)
        return file
