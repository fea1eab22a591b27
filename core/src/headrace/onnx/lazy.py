"""``LazyFile``: a model that is parsed when somebody needs to know what is in it.

A model whose plans were kept by an earlier process may run without ever being parsed; the package
onnx is then not even imported. And one that was compiled need not be held any more: its weights are
where they are computed from, and inputs of other shapes may never come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.collector import collector_rests
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

    def let_go(self) -> None:
        """Nothing: it can be read nowhere again."""


class LazyFile:
    """A model file; may be used from any thread. It lets go of the bytes when they are parsed."""

    def __init__(self, given: ModelBytes, registry: BackendRegistry) -> None:
        self.name = given.name
        self._given: ModelBytes | None = given
        self._path, self._file = given.path, given.file
        self._registry = registry
        self._lock = new_lock()
        self._parsed: ModelFile | None = None

    def parsed(self) -> ModelFile:
        """The checked model, of which every op can be imported.

        Raises:
            InvalidModelError, UnsupportedModelError, ResourceLimitError: as ``load``; or the file
                is read a second time, and was written to.
            ImportError: the package onnx is not installed.
        """
        with self._lock:
            if self._parsed is None:
                self._parsed = self._parse(self._given or self._read_again())
                self._given = None
            return self._parsed

    def let_go(self) -> None:
        """Do not hold what was parsed, if it can be read again.

        Not where a part of it is in other files: they may be others by then.
        """
        with self._lock:
            if self._file is not None and self._parsed is not None and self._parsed.is_whole:
                self._parsed = None

    def _read_again(self) -> ModelBytes:
        assert self._file is not None, "what cannot be read again is kept"
        return ModelBytes(self.name, self._path, self._file.read(), self._file)

    @collector_rests()
    def _parse(self, given: ModelBytes) -> ModelFile:
        try:
            import onnx  # noqa: F401
        except ImportError as error:
            raise ImportError(
                "headrace.onnx needs the package onnx: pip install 'headrace[onnx]'"
            ) from error
        from headrace.onnx.read import parse_model
        from headrace.onnx.support import check_support

        file = parse_model(given, {record.tag for record in self._registry.records()})
        check_support(file, self._registry)
        return file
