"""Where a model comes from, as bytes; nothing here knows what is in them."""

from __future__ import annotations

import os
import stat
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import InvalidModelError, ResourceLimitError
from headrace.onnx import limits

if TYPE_CHECKING:
    from onnx import ModelProto

    Source = str | os.PathLike[str] | bytes | bytearray | memoryview | ModelProto
    """What a model can be loaded from."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelBytes:
    """A model as it was given.

    Attributes:
        name: of the file, for messages.
        path: of the file; None for a model that was given as bytes.
        data: all of it.
        file: what it was read from, kept open; None where it cannot be read a second time.
    """

    name: str
    path: Path | None
    data: bytes
    file: OpenFile | None = None

    @property
    def folder(self) -> Path | None:
        """Where external data may be; None for a model that was given as bytes."""
        return None if self.path is None else self.path.parent


class OpenFile:
    """A file that stays open as long as this lives: what has its name later may be another.

    It is closed when nobody has this any more.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        """Own ``descriptor``, which was opened to read."""
        self._path = path
        self._descriptor = descriptor
        self._stamp = _stamp(descriptor)
        weakref.finalize(self, os.close, descriptor)

    def read(self) -> bytes:
        """All of it, as it was when it was opened.

        Raises:
            InvalidModelError: it was written to since, or cannot be read.
        """
        nbytes = os.fstat(self._descriptor).st_size
        try:
            data = os.pread(self._descriptor, nbytes, 0)
            while len(data) < nbytes and (more := os.pread(self._descriptor, nbytes, len(data))):
                data += more
        except OSError as error:
            raise InvalidModelError(f"{self._path}: cannot be read again: {error}") from error
        if _stamp(self._descriptor) != self._stamp:
            raise InvalidModelError(
                f"{self._path}: was written to after it was loaded, and is needed again, for "
                "inputs of other shapes; load it again"
            )
        return data


def _stamp(descriptor: int) -> tuple[int, int]:
    """What changes when it is written to; not the time of the inode, which losing a name sets."""
    status = os.fstat(descriptor)
    return status.st_size, status.st_mtime_ns


def read_bytes(source: Source) -> ModelBytes:
    """Read a model: from its path, or what was given of it.

    Raises:
        InvalidModelError: it cannot be read, or is nothing that a model is given as.
        ResourceLimitError: it is larger than a stated limit; nothing of it was kept.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        _check_size(len(data), "model")
        return ModelBytes("model", None, data)
    if not isinstance(source, (str, os.PathLike)):
        return ModelBytes("model", None, _serialized(source))
    path = Path(source)
    try:
        # Looked at before it is opened: opening a pipe would wait for its other end.
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InvalidModelError(f"{path}: is no plain file")
        _check_size(status.st_size, path.name)
        with path.open("rb") as file:
            # Room is made for as many bytes as are asked for, not for as many as there are.
            data = file.read(status.st_size + 1)
            kept = OpenFile(path, os.dup(file.fileno())) if hasattr(os, "pread") else None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidModelError(f"{path}: cannot be read: {reason}") from error
    _check_size(len(data), path.name)
    # A file name may hold bytes that are no text; the model's name goes into plans and messages.
    name = path.name.encode("utf-8", "backslashreplace").decode("utf-8")
    return ModelBytes(name, path, data, kept)


def _serialized(model: object) -> bytes:
    from google.protobuf.message import EncodeError
    from onnx import ModelProto

    if not isinstance(model, ModelProto):
        raise InvalidModelError(
            f"a model is given by path, bytes or ModelProto, not as {type(model).__name__}"
        )
    try:
        return model.SerializeToString()
    except (EncodeError, ValueError) as error:
        raise InvalidModelError(f"model: cannot be copied: {error}") from error


def _check_size(size: int, name: str) -> None:
    if size > limits.FILE_BYTES:
        raise ResourceLimitError(
            f"{name}: has {size} bytes; a model file may have {limits.FILE_BYTES}. Larger models "
            "keep their weights in external data"
        )
