"""``LazyFile``: a model that is parsed when somebody needs to know what is in it.

A model whose plans were kept by an earlier process may run without ever being parsed; the package
onnx is then not even imported. And one that was compiled need not be held any more: its weights are
where they are computed from, and inputs of other shapes may never come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.collector import collector_rests
from headrace.frontend.shared_weights import SharedWeights
from headrace.graph.constants import MadeConstants
from headrace.onnx.file import limits
from headrace.onnx.file.source import GivenModel
from headrace.registry import BackendRegistry
from headrace.runtime.bus import new_lock

if TYPE_CHECKING:
    from headrace.onnx.file.read import ModelFile


class ParsedFile:
    """A model that was parsed already; may be used from any thread.

    Attributes:
        shared, made: as of ``LazyFile``.
    """

    def __init__(self, parsed: ModelFile) -> None:
        self.name = parsed.name
        self.shared = SharedWeights()
        self.made = MadeConstants(self.shared.one)
        self._parsed = parsed

    def parsed(self) -> ModelFile:
        """The checked model."""
        return self._parsed

    def let_go(self) -> None:
        """Nothing: it can be read nowhere again."""


class LazyFile:
    """A model file; may be used from any thread.

    Bytes that are in memory are let go of when they are parsed; a file stays open.

    Attributes:
        shared: weights of its jobs, which lie in memory once.
        made: what its jobs hold that was made of what is in the file.
    """

    def __init__(self, given: GivenModel, registry: BackendRegistry) -> None:
        self.name = given.name
        self._given: GivenModel | None = given  # None: it was in memory, and is not needed again
        self._registry = registry
        self._lock = new_lock()
        self._parsed: ModelFile | None = None
        self._parses = 0
        self.shared = SharedWeights()
        self.made = MadeConstants(self.shared.one)

    def parsed(self) -> ModelFile:
        """The checked model, of which every op can be imported.

        Raises:
            InvalidModelError, UnsupportedModelError, ResourceLimitError: as ``load``; or the file
                was written to since it was opened.
            ImportError: the package onnx is not installed.
        """
        with self._lock:
            if self._parsed is None:
                assert self._given is not None, "what cannot be read again is kept"
                self._parsed = self._parse(self._given)
                self._parses += 1
                if self._given.content.is_held:
                    self._given = None
            return self._parsed

    def let_go(self) -> None:
        """Do not hold what was parsed, if it can be read again.

        Not where a part of it is in other files: they may be others by then. And not if it has been
        read again, which shows that it is fed various shapes; unless it is large.
        """
        with self._lock:
            parsed = self._parsed
            if self._given is None or parsed is None or not parsed.is_whole:
                return
            if self._parses < 2 or parsed.held_bytes > limits.PARSED_BYTES:
                self._parsed = None

    @collector_rests(lasting=True)
    def _parse(self, given: GivenModel) -> ModelFile:
        try:
            import onnx  # noqa: F401
        except ImportError as error:
            raise ImportError(
                "headrace.onnx needs the package onnx: pip install 'headrace[onnx]'"
            ) from error
        from headrace.onnx.file.read import parse_model
        from headrace.onnx.support import check_support

        tags = {record.tag for record in self._registry.records()}
        file = parse_model(given, tags, self.made)
        check_support(file, self._registry)
        return file
