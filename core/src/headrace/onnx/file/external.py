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
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from headrace.errors import InvalidModelError
from headrace.light_dataclass import dataclass
from headrace.onnx.file.content import Content, Extent, content_of
from headrace.onnx.file.text import Where, quote

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
    """Files beside a model, each opened when something of it is first asked for. For one thread.

    A file stays open as long as an extent of it is there.

    Attributes:
        folder: the model's own; None for a model that was given as bytes.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._files: dict[str, Content] = {}

    def find(self, wanted: ExternalRange, where: Where) -> Extent:
        """A part of one, which is there; it is read when it is asked for its bytes.

        Raises:
            InvalidModelError: the model has no folder, or the file is not right.
        """
        location, offset, end = wanted.location, wanted.offset, wanted.offset + wanted.nbytes
        try:
            content = self._content(location, where)
        except OSError as error:
            raise InvalidModelError(
                f"{where}: external file {quote(location)} cannot be read: "
                f"{error.strerror or error}"
            ) from error
        if end > len(content):
            raise InvalidModelError(
                f"{where}: bytes {offset} to {end} are past the end of {quote(location)}, which "
                f"has {len(content)}"
            )
        return Extent(content, offset, end, location)

    def _content(self, location: str, where: Where) -> Content:
        known = self._files.get(location)
        if known is not None:
            return known
        if self.folder is None:
            raise InvalidModelError(
                f"{where}: is in the external file {quote(location)}, and a model given as bytes "
                "has no folder to look in; load it by its path"
            )
        path = _path(self.folder, location, where)
        with os.fdopen(os.open(path, _FLAGS), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InvalidModelError(f"{where}: {quote(location)} is no plain file")
            if status.st_nlink > 1:
                raise InvalidModelError(
                    f"{where}: {quote(location)} has {status.st_nlink} hard links and may belong "
                    "to something else; put a copy in its place"
                )
            content = self._files[location] = content_of(path, file)
        return content


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
