"""Tells file types apart as the tool of the package ``magika`` does, with its model.

The rules around the model are part of the answer: which bytes of a file the model sees, which
files it never sees, and when its answer is not sure enough to be given. They are those of magika
1.0.3 in its default mode, high confidence; numbers and names come from the package's own files.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from headrace.errors import InvalidModelError
from headrace.light_dataclass import dataclass

PACKAGE, RELEASE = "magika", "1.0.3"
_MODEL = "magika/models/standard_v3_3/model.onnx"
_CONFIG = "magika/models/standard_v3_3/config.min.json"
_TYPES = "magika/config/content_types_kb.min.json"

Scores = Callable[[Sequence[int]], Sequence[float]]
"""The model: tokens of a file to one score for each label."""


@dataclass(frozen=True, slots=True)
class FileType:
    """What a file is.

    Attributes:
        label: short name of the type.
        description, group: for people.
        mime_type: for programs.
        score: how sure the model is, 0 to 1; 1 where it was not asked.
        guess: what the model would say, where it is not sure enough for that to be the answer.
    """

    label: str
    description: str
    group: str
    mime_type: str
    score: float
    guess: str = ""

    @property
    def text(self) -> str:
        """Description and group, as people read it."""
        return f"{self.description} ({self.group})"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file of which nothing can be said, and why."""

    reason: str


class Rules:
    """What surrounds the model. Built from the package's configuration."""

    def __init__(self, config: Mapping[str, Any], types: Mapping[str, Mapping[str, Any]]) -> None:
        self._beginning: int = config["beg_size"]
        self._end: int = config["end_size"]
        self._block: int = config["block_size"]
        self._padding: int = config["padding_token"]
        self._least: int = config["min_file_size_for_dl"]
        self._labels: Sequence[str] = config["target_labels_space"]
        self._thresholds: Mapping[str, float] = config["thresholds"]
        self._threshold: float = config["medium_confidence_threshold"]
        self._replaced: Mapping[str, str] = config["overwrite_map"]
        self._types = types

    @property
    def tokens(self) -> int:
        """How many tokens the model takes for one file."""
        return self._beginning + self._end

    def identify(self, path: Path, scores: Scores) -> FileType | Unreadable:
        """Say what is at ``path``; links are followed. ``scores`` is asked only if need be."""
        if not path.exists():
            return Unreadable("there is no such file")
        if path.is_dir():
            return self._sure("directory")
        if not path.is_file():
            return self._sure("unknown")  # a pipe or a device: reading it could wait for ever
        if not os.access(path, os.R_OK):
            return Unreadable("permission to read it is missing")
        try:
            with path.open("rb") as file:
                return self._identify(file, os.fstat(file.fileno()).st_size, scores)
        except OSError as error:
            return Unreadable(error.strerror or str(error))

    def _identify(self, file: BinaryIO, size: int, scores: Scores) -> FileType:
        if size == 0:
            return self._sure("empty")
        block = min(size, self._block)
        head = file.read(block)
        file.seek(size - block)
        tail = file.read(block)
        tokens = [*self._pad_right(head.lstrip()), *self._pad_left(tail.rstrip())]
        if size < self._least or tokens[self._least - 1] == self._padding:
            return self._sure("txt" if _is_text(head) else "unknown")
        values = scores(tokens)
        best = max(range(len(values)), key=values.__getitem__)
        return self._decide(self._labels[best], values[best])

    def _pad_right(self, content: bytes) -> list[int]:
        kept = list(content[: self._beginning])
        return kept + [self._padding] * (self._beginning - len(kept))

    def _pad_left(self, content: bytes) -> list[int]:
        kept = list(content[max(len(content) - self._end, 0) :])
        return [self._padding] * (self._end - len(kept)) + kept

    def _decide(self, label: str, score: float) -> FileType:
        """The model's label, or a general one where it is not sure enough for that label."""
        answer = self._replaced.get(label, label)
        if score >= self._thresholds.get(label, self._threshold):
            return self._type(answer, score)
        answer = "txt" if self._types[answer]["is_text"] else "unknown"
        return self._type(answer, score, label if label != answer else "")

    def _sure(self, label: str) -> FileType:
        return self._type(label, 1.0)

    def _type(self, label: str, score: float, guess: str = "") -> FileType:
        entry = self._types[label]
        general = "text/plain" if entry["is_text"] else "application/octet-stream"
        return FileType(
            label,
            entry["description"] or label,
            entry["group"] or "unknown",
            entry["mime_type"] or general,
            float(score),
            guess and self._type(guess, score).text,
        )


class FileTyper:
    """The model on a device, and the rules around it. A context manager."""

    def __init__(self, wheel: Path, device: str) -> None:
        """Load the model out of the package's wheel.

        Raises:
            InvalidModelError: the wheel is damaged.
            DeviceError: the device cannot be used.
        """
        from headrace.onnx import load

        try:
            with zipfile.ZipFile(wheel) as package:
                model = package.read(_MODEL)
                self.rules = Rules(
                    json.loads(package.read(_CONFIG)), json.loads(package.read(_TYPES))
                )
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise InvalidModelError(
                f"{wheel} is damaged ({error}); delete it, and it will be brought again"
            ) from None
        self._model = load(model, device)

    def identify(self, paths: Iterable[Path]) -> Iterator[FileType | Unreadable]:
        """Say what each file is, one after another."""
        for path in paths:
            yield self.rules.identify(path, self._scores)

    def _scores(self, tokens: Sequence[int]) -> Sequence[float]:
        import numpy as np

        feeds = {"bytes": np.array([tokens], np.int32)}
        scores: list[float] = self._model.run(feeds)["target_label"][0].tolist()
        return scores

    def __enter__(self) -> FileTyper:
        return self

    def __exit__(self, *exception: object) -> None:
        self._model.close()


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
