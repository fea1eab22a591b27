"""What is in a model's file, read where it is needed; the file as a whole lies in memory nowhere.

Elements of tensors are most of a model. Each tensor's are read into memory of their own, which
begins at a cache line, so that they lie from then on where a device may read them; a view of a file
in memory would keep all of it there.
"""

from __future__ import annotations

import os
import weakref
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np

from headrace.aligned import Empty, aligned_empty
from headrace.digest import new_digest
from headrace.errors import InvalidModelError
from headrace.light_tuple import NamedTuple
from headrace.tensor_spec import Array, TensorSpec

_WINDOW_BYTES = 1 << 14
"""Read at once where few bytes are looked at, and then some after them."""

LOOK_BYTES = 20
"""Of a key and a length, each as long as can be."""

_PIECE_BYTES = 1 << 18
"""Read at once where all bytes are looked at, and none is kept."""


class Content(ABC):
    """The bytes of a model. May be used from any thread.

    Attributes:
        is_held: it is in memory, so that whoever holds this holds all of it.
    """

    is_held: bool

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def check(self) -> None:
        """Raise InvalidModelError if others may be there by now."""

    @abstractmethod
    def look(self, position: int) -> tuple[bytes | memoryview, int]:
        """Some bytes, and where among them that at ``position`` is; raises as ``fill``.

        ``LOOK_BYTES`` from there on are among them, if there are as many.
        """

    @abstractmethod
    def fill(self, memory: memoryview, start: int) -> None:
        """Read the bytes from ``start`` on into all of ``memory``, which must not reach further.

        Raises:
            InvalidModelError: they cannot be read, or others may be there by now.
        """

    def part(self, start: int, end: int) -> bytes:
        """A copy of some bytes; raises as ``fill``."""
        copy = bytearray(end - start)
        self.fill(memoryview(copy), start)
        return bytes(copy)

    def array(self, start: int, end: int, empty: Empty = aligned_empty) -> Array:
        """uint8[end - start], aligned and in memory that ``empty`` gives; raises as ``fill``."""
        copy = empty((end - start,), np.dtype(np.uint8))
        self.fill(copy.data, start)
        return copy

    def digest(self) -> bytes:
        """The digest of all of it; raises as ``fill``."""
        return Extent(self, 0, len(self)).digest(len(self))

    def begins(self, data: memoryview, start: int) -> bool:
        """Whether the bytes from ``start`` on are ``data``; raises as ``fill``."""
        if len(data) > len(self) - start:
            return False
        piece = memoryview(bytearray(min(_PIECE_BYTES, len(data))))
        for done in range(0, len(data), _PIECE_BYTES):
            wanted = data[done : done + _PIECE_BYTES]
            read = piece[: len(wanted)]
            self.fill(read, start + done)
            if read != wanted:
                return False
        return True


class HeldContent(Content):
    """Bytes that are in memory, and are not written to."""

    is_held = True

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data)

    def __len__(self) -> int:
        return len(self._data)

    def check(self) -> None:
        """Nobody writes to it."""

    def look(self, position: int) -> tuple[bytes | memoryview, int]:
        return self._data, position

    def part(self, start: int, end: int) -> bytes:
        return bytes(self._data[start:end])

    def fill(self, memory: memoryview, start: int) -> None:
        memory[:] = self._data[start : start + len(memory)]


class FileContent(Content):
    """A file that stays open as long as this lives: what has its name later may be another.

    What is read of it is what it held when it was opened. It is closed when nobody has this any
    more.
    """

    is_held = False

    def __init__(self, path: Path, descriptor: int) -> None:
        """Own ``descriptor``, which was opened to read; ``path`` is for messages."""
        self._path = path
        self._descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)
        self._stamp = _stamp(descriptor)
        self._nbytes = self._stamp[0]
        # The last two, where they begin, and where one can look at the last: who cuts a tensor out
        # looks before and behind it by turns. Replaced as a whole, for other threads.
        self._windows = ((0, b"", -1), (0, b"", -1))

    def __len__(self) -> int:
        return self._nbytes

    def check(self) -> None:
        self._require(_stamp(self._descriptor) == self._stamp)

    def look(self, position: int) -> tuple[bytes | memoryview, int]:
        for begin, window, last in self._windows:
            if begin <= position <= last:
                return window, position - begin
        return self._window_from(position), 0

    def part(self, start: int, end: int) -> bytes:
        for begin, window, _ in self._windows:
            if begin <= start and end <= begin + len(window):
                return window[start - begin : end - begin]
        if end - start > _WINDOW_BYTES:
            return self._read(start, end)
        return self._window_from(start)[: end - start]

    def _read(self, start: int, end: int) -> bytes:
        """``part``, in one step; where that is not enough, ``fill`` reads on or tells why."""
        with suppress(OSError):
            data = os.pread(self._descriptor, end - start, start)
            if len(data) == end - start and _stamp(self._descriptor) == self._stamp:
                return data
        return super().part(start, end)

    def _window_from(self, position: int) -> bytes:
        end = min(position + _WINDOW_BYTES, self._nbytes)
        window = self._read(position, end)
        last = end if end == self._nbytes else end - LOOK_BYTES
        self._windows = (position, window, last), self._windows[0]
        return window

    def fill(self, memory: memoryview, start: int) -> None:
        left = memory
        try:
            while left:
                count = os.preadv(self._descriptor, [left], start)
                if not count:
                    break
                left, start = left[count:], start + count
            is_same = not left and _stamp(self._descriptor) == self._stamp
        except OSError as error:
            raise InvalidModelError(
                f"{self._path}: cannot be read: {error.strerror or error}"
            ) from error
        self._require(is_same)

    def _require(self, is_same: bool) -> None:
        if not is_same:
            raise InvalidModelError(
                f"{self._path}: was written to after it was opened, and more of it is needed, as "
                "for inputs of other shapes; load it again"
            )


def content_of(path: Path, file: BinaryIO) -> Content:
    """What is in an open file: read as its parts are needed, where the system can; else held."""
    if hasattr(os, "preadv"):
        return FileContent(path, os.dup(file.fileno()))
    # Room is made for as many bytes as are asked for, not for as many as there are.
    return HeldContent(file.read(os.fstat(file.fileno()).st_size + 1))


def _stamp(descriptor: int) -> tuple[int, int]:
    """What changes when it is written to; not the time of the inode, which losing a name sets."""
    status = os.fstat(descriptor)
    return status.st_size, status.st_mtime_ns


class Extent(NamedTuple):
    """Some bytes of a content, not read yet.

    Attributes:
        content, start, end: of which the bytes are, and where they lie.
        location: of the content, as the model names the file; empty for the model itself.
    """

    content: Content
    start: int
    end: int
    location: str = ""

    @property
    def nbytes(self) -> int:
        """How many."""
        return self.end - self.start

    def key(self, spec: TensorSpec) -> tuple[object, ...]:
        """What tells a tensor that they are from others of one model."""
        return self.location, self.start, self.end, spec

    def part(self) -> bytes:
        """``Content.part`` of them."""
        return self.content.part(self.start, self.end)

    def digest(self, total_bytes: int) -> bytes:
        """Their digest, that of so many bytes as are digested with them; raises as ``fill``."""
        digest = new_digest(total_bytes)
        piece = memoryview(bytearray(min(_PIECE_BYTES, self.nbytes)))
        for start in range(self.start, self.end, _PIECE_BYTES):
            read = piece[: self.end - start]
            self.content.fill(read, start)
            digest.update(read)
        return digest.digest()

    def array(self, empty: Empty = aligned_empty) -> Array:
        """``Content.array`` of them."""
        return self.content.array(self.start, self.end, empty)


class PartContent(Content):
    """Some bytes of a content, as one of their own."""

    def __init__(self, part: Extent) -> None:
        self._part = part
        self.is_held = part.content.is_held

    def __len__(self) -> int:
        return self._part.nbytes

    def check(self) -> None:
        self._part.content.check()

    def look(self, position: int) -> tuple[bytes | memoryview, int]:
        return self._part.content.look(self._part.start + position)

    def fill(self, memory: memoryview, start: int) -> None:
        self._part.content.fill(memory, self._part.start + start)
