"""Where a model comes from; nothing here knows what is in it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import InvalidModelError, ResourceLimitError
from headrace.light_tuple import NamedTuple
from headrace.onnx.file import limits
from headrace.onnx.file.content import Content, HeldContent, content_of

if TYPE_CHECKING:
    from onnx import ModelProto

    Source = str | os.PathLike[str] | bytes | bytearray | memoryview | ModelProto
    """What a model can be loaded from."""


class GivenModel(NamedTuple):
    """A model as it was given.

    Attributes:
        name: of the file, for messages.
        path: of the file; None for a model that was given as bytes.
        content: what is in it.
    """

    name: str
    path: Path | None
    content: Content

    @property
    def folder(self) -> Path | None:
        """Where external data may be; None for a model that was given as bytes."""
        return None if self.path is None else self.path.parent


def open_model(source: Source) -> GivenModel:
    """Open a model by its path, or take what was given of it.

    A file is read as its parts are needed, where the system can; else all of it is held.

    Raises:
        InvalidModelError: it cannot be read, or is nothing that a model is given as.
        ResourceLimitError: it is larger than a stated limit; nothing of it was kept.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        _check_size(len(data), "model")
        return GivenModel("model", None, HeldContent(data))
    if not isinstance(source, (str, os.PathLike)):
        return GivenModel("model", None, HeldContent(_serialized(source)))
    path = Path(source)
    try:
        # Looked at before it is opened: opening a pipe would wait for its other end.
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InvalidModelError(f"{path}: is no plain file")
        _check_size(status.st_size, path.name)
        with path.open("rb") as file:
            content = content_of(path, file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidModelError(f"{path}: cannot be read: {reason}") from error
    _check_size(len(content), path.name)
    # A file name may hold bytes that are no text; the model's name goes into plans and messages.
    name = path.name.encode("utf-8", "backslashreplace").decode("utf-8")
    return GivenModel(name, path, content)


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
