"""External data: elements of a tensor that are kept in a file beside the model.

The model names the file, so a hostile model names any file. What is read is a plain file inside
the model's own folder, reached without links: a symbolic link could leave the folder, and a file
with several hard links may be somebody else's under another name. Both are refused, and so is
whatever is no plain file (devices, pipes, folders).
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import ExitStack
from io import BufferedReader
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Self

import numpy as np

from headrace.aligned import aligned_empty
from headrace.errors import InvalidModelError
from headrace.light_dataclass import dataclass
from headrace.onnx.file.text import Where, quote
from headrace.tensor_spec import Array

if TYPE_CHECKING:
    from onnx import TensorProto

_NUMBER = re.compile(r"[0-9]{1,19}\Z")
# No blocking on pipes, no following of a link put there after it was checked. 0 where absent.
_FLAGS = os.O_RDONLY | sum(getattr(os, f"O_{f}", 0) for f in ("BINARY", "NOFOLLOW", "NONBLOCK"))


@dataclass(frozen=True, slots=True)
class ExternalRange:
    """A part of a file beside the model.

    Attributes:
        location: as the model names the file.
        offset, nbytes: the part.
    """

    location: str
    offset: int
    nbytes: int


def range_of(tensor: TensorProto, nbytes: int, where: Where) -> ExternalRange:
    """Where the ``nbytes`` bytes that ``tensor`` takes are said to be.

    Keys other than location, offset and length mean nothing here and are skipped.

    Raises:
        InvalidModelError: the description is not right.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    offset = _number(entries, "offset", 0, where)
    length = _number(entries, "length", nbytes, where)
    if length != nbytes:
        raise InvalidModelError(f"{where}: takes {nbytes} bytes; its external length is {length}")
    return ExternalRange(entries.get("location", ""), offset, nbytes)


class ExternalFiles:
    """Files beside a model, each opened when something of it is first read. For one thread.

    A context manager; they are closed behind it.

    Attributes:
        folder: the model's own; None for a model that was given as bytes.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._files: dict[str, BufferedReader] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def read(self, wanted: ExternalRange, where: Where) -> Array:
        """Read a part of one; nothing is allocated before its bytes exist.

        Returns:
            uint8[nbytes], aligned and in memory of its own.

        Raises:
            InvalidModelError: the model has no folder, or the file is not right.
        """
        location, offset, length = wanted.location, wanted.offset, wanted.nbytes
        try:
            file = self._file(location, where)
            size = os.fstat(file.fileno()).st_size
            if offset + length > size:
                raise InvalidModelError(
                    f"{where}: bytes {offset} to {offset + length} are past the end of "
                    f"{quote(location)}, which has {size}"
                )
            file.seek(offset)
            data = aligned_empty((length,), np.dtype(np.uint8))
            found = file.readinto(data.data) if length else 0
        except OSError as error:
            raise InvalidModelError(
                f"{where}: external file {quote(location)} cannot be read: "
                f"{error.strerror or error}"
            ) from error
        if found != length:
            raise InvalidModelError(f"{where}: {quote(location)} became shorter while it was read")
        return data

    def _file(self, location: str, where: Where) -> BufferedReader:
        known = self._files.get(location)
        if known is not None:
            return known
        if self.folder is None:
            raise InvalidModelError(
                f"{where}: is in the external file {quote(location)}, and a model given as bytes "
                "has no folder to look in; load it by its path"
            )
        path = _path(self.folder, location, where)
        with ExitStack() as opened:
            file = opened.enter_context(os.fdopen(os.open(path, _FLAGS), "rb"))
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InvalidModelError(f"{where}: {quote(location)} is no plain file")
            if status.st_nlink > 1:
                raise InvalidModelError(
                    f"{where}: {quote(location)} has {status.st_nlink} hard links and may belong "
                    "to something else; put a copy in its place"
                )
            self._stack.push(opened.pop_all())
        self._files[location] = file
        return file


def _path(folder: Path, location: str, where: Where) -> Path:
    """The file named, when each step to it from the model's folder is a real one."""
    parts = PureWindowsPath(location).parts  # takes both kinds of separators apart
    absolute = PurePosixPath(location).is_absolute() or bool(PureWindowsPath(location).anchor)
    if not parts or absolute or ".." in parts or "\0" in location:
        raise InvalidModelError(
            f"{where}: external file {quote(location)} is not a path inside the model's folder"
        )
    try:
        home = folder.resolve(strict=True)
        wanted = home.joinpath(*PurePosixPath(location).parts)
        found = wanted.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidModelError(
            f"{where}: external file {quote(location)} cannot be found: {reason}"
        ) from error
    if found != wanted:
        raise InvalidModelError(
            f"{where}: external file {quote(location)} is reached through a symbolic link; put a "
            "copy in the model's folder"
        )
    return found


def _number(entries: dict[str, str], key: str, default: int, where: Where) -> int:
    text = entries.get(key)
    if text is None:
        return default
    if not _NUMBER.match(text):
        raise InvalidModelError(f"{where}: external {key} {quote(text)} is not a number of bytes")
    return int(text)
