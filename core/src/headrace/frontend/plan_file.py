"""Plan files: a plan, what it was compiled with, and its weights, in one file.

Layout, numbers little end first::

    0    8  magic: the first byte is no text, and line ends show a transfer that changes them
    8    4  version of this layout
    12   4  CRC-32 of the weights
    16   8  bytes of the header
    24   8  where the weights begin; a multiple of 4096
    32   8  bytes of the weights; the file ends behind them
    40  32  digest (BLAKE2b) of bytes 0 to 39 and the header
    72  56  zero
    128     the header; zeros up to the weights
    ...     the weights, each at a multiple of 64 behind the beginning, zeros between them

The header is the message ``headrace.proto.PlanFile``, which other versions can read. Of a file that
only the code which wrote it will read, it is what ``kept_codec`` makes, and the magic is another.

Whatever byte of a file changes, is missing or is too much, it is refused: nothing is believed
before both were compared, and nothing is allocated but what is there. Both are there against
damage, not against people; of the weights, a longer digest would take as long as all else that
is done to have a large model ready. Weights are mapped,
not read: devices in host memory use them where they lie. So a file must not be written while a plan
out of it is open; replace it by another one (as ``write_plan_file`` does) instead.

Equal plans and weights give equal files.
"""

from __future__ import annotations

import mmap
import os
import stat
import struct
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from headrace.digest import DIGEST_BYTES, digest_of
from headrace.errors import PlanError
from headrace.light_tuple import NamedTuple
from headrace.plan.kept_codec import decode_kept, encode_kept
from headrace.plan.saved import SavedPlan, Weight
from headrace.tensor_spec import Array, TensorSpec

MAGIC = b"\x8bHRPLN\r\n"
KEPT_MAGIC = b"\x8bHRKPT\r\n"
"""Of a file that the code which wrote it reads alone: its header is as ``kept_codec`` has it."""

LAYOUT_VERSION = 2
PRELUDE_BYTES = 128
PAGE_BYTES = 4096
ALIGNMENT_BYTES = 64
_FIELDS = struct.Struct("<8sIIQQQ")


class PlanFile(NamedTuple):
    """What a plan file holds.

    Attributes:
        saved: the plan and what goes with it.
        weights: values of ``saved.weights``, by name; arrays over the mapped file, which nobody
            can write. Those of other files are not among them.
        fixed: values of ``saved.fixed``, by name.
    """

    saved: SavedPlan
    weights: Mapping[str, Array]
    fixed: Mapping[str, Array]


def is_plan_file(path: str | os.PathLike[str]) -> bool:
    """True when the file begins as plan files do, whatever its name."""
    try:
        # Looked at before it is opened: opening a pipe would wait for its other end.
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


class WeightPacker:
    """Gives arrays their places behind a header.

    Args:
        find: (source, offset) of bytes that another file has already; None for bytes that it has
            not. They are then not stored again.
    """

    def __init__(self, find: Callable[[Array], tuple[int, int] | None] | None = None) -> None:
        self.blobs: list[Array] = []
        self._find = find
        self._end = 0

    def place(self, name: str, array: Array) -> Weight:
        """Where the bytes of ``array`` are, or will be."""
        spec = TensorSpec.of(array)
        found = self._find(array) if self._find is not None else None
        if found is not None:
            return Weight(name, spec, *found)
        offset = self._end
        self.blobs.append(array)
        self._end = _aligned(offset + spec.nbytes, ALIGNMENT_BYTES)
        return Weight(name, spec, None, offset)


def write_plan_file(
    path: Path, saved: SavedPlan, blobs: Sequence[Array], mode: int = 0o666, *, kept: bool = False
) -> None:
    """Write a file whole or not at all; one that is there already is replaced.

    Args:
        path: where to.
        saved: the header.
        blobs: of the ``WeightPacker`` that placed its weights.
        mode: permissions, from which the user's mask is taken.
        kept: for ``read_kept_file`` of the same code.

    Raises:
        PlanError: it cannot be written.
    """
    _check_byte_order(path)
    magic, header = (KEPT_MAGIC, encode_kept(saved)) if kept else (MAGIC, _message(saved))
    parts = list(_with_padding(blobs))
    nbytes = sum(map(len, parts))
    start = _aligned(PRELUDE_BYTES + len(header), PAGE_BYTES) if nbytes else 0
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    prelude = _FIELDS.pack(magic, LAYOUT_VERSION, checksum, len(header), start, nbytes)
    prelude += digest_of(prelude + header)
    scratch = path.with_name(f".{path.name[:80]}.{os.getpid()}-{os.urandom(4).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(scratch, flags, mode), "wb") as file:
            file.write(prelude.ljust(PRELUDE_BYTES, b"\0"))
            file.write(header)
            if nbytes:
                file.write(bytes(start - PRELUDE_BYTES - len(header)))
            for part in parts:
                file.write(part)
        scratch.replace(path)
    except OSError as error:
        raise PlanError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        scratch.unlink(missing_ok=True)


def read_plan_file(path: str | os.PathLike[str]) -> PlanFile:
    """Read and check a plan file.

    Raises:
        PlanError: it cannot be read, is no plan file, is damaged or cut short, or of another
            version.
    """
    from headrace.plan.saved_codec import decode_saved  # and with it protobuf

    return _read_file(path, MAGIC, decode_saved)


def read_kept_file(path: str | os.PathLike[str]) -> PlanFile:
    """Read and check a file that was written as ``kept``, by this code; as ``read_plan_file``."""
    return _read_file(path, KEPT_MAGIC, decode_kept)


def _message(saved: SavedPlan) -> bytes:
    from headrace.plan.saved_codec import encode_saved  # and with it protobuf

    return encode_saved(saved)


def _read_file(
    path: str | os.PathLike[str], magic: bytes, decode: Callable[[bytes], SavedPlan]
) -> PlanFile:
    try:
        # Looked at before it is opened: opening a pipe would wait for its other end.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise PlanError(f"{path}: is no plain file")
        with open(path, "rb") as file:
            return _read(file, magic, decode)
    except _DamagedError as error:
        raise PlanError(f"{path}: {error}; compile the model again (headrace compile)") from None
    except PlanError as error:
        raise PlanError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PlanError(f"{path}: cannot be read: {reason}") from error


class _DamagedError(Exception):
    """What is wrong with the file."""


def _read(file: BinaryIO, magic: bytes, decode: Callable[[bytes], SavedPlan]) -> PlanFile:
    size = os.fstat(file.fileno()).st_size
    prelude = file.read(PRELUDE_BYTES)
    if prelude[: len(magic)] != magic:
        raise PlanError(f"is no compiled plan: it begins {prelude[:8]!r}, not {magic!r}")
    if len(prelude) < PRELUDE_BYTES:
        raise _DamagedError(f"is cut short: it has {size} bytes")
    _, version, checksum, header_bytes, start, nbytes = _FIELDS.unpack_from(prelude)
    if version != LAYOUT_VERSION:
        raise _DamagedError(
            f"is a plan file of version {version}, and this headrace reads {LAYOUT_VERSION}"
        )
    _check_byte_order(None)
    header_end = PRELUDE_BYTES + header_bytes
    wanted = (_aligned(header_end, PAGE_BYTES), start + nbytes) if nbytes else (0, header_end)
    if (start, size) != wanted:
        raise _DamagedError(
            f"is damaged or cut short: it has {size} bytes, and its first ones say {wanted[1]}"
        )
    header = file.read(header_bytes)
    said = prelude[_FIELDS.size : _FIELDS.size + DIGEST_BYTES]
    rest = prelude[_FIELDS.size + DIGEST_BYTES :]
    found = digest_of(prelude[: _FIELDS.size] + header)
    if found != said or any(rest):
        raise _DamagedError("is damaged: the checksum of its header does not fit")
    mapped = memoryview(b"")
    if nbytes:
        if any(file.read(start - header_end)):
            raise _DamagedError("is damaged: there are bytes between its header and its weights")
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[start:]
    if zlib.crc32(mapped) != checksum:
        raise _DamagedError("is damaged: the checksum of its weights does not fit")
    saved = decode(header)
    weights = {w.name: array_in(mapped, w) for w in saved.weights if w.source is None}
    return PlanFile(saved, weights, {w.name: array_in(mapped, w) for w in saved.fixed})


def array_in(data: memoryview, weight: Weight) -> Array:
    """The array of ``weight``, whose offset is one in ``data``; shares memory.

    Raises:
        PlanError: it does not lie there.
    """
    spec = weight.spec
    if weight.offset + spec.nbytes > len(data):
        raise PlanError(
            f"weight {weight.name!r} ends at byte {weight.offset + spec.nbytes} of {len(data)}"
        )
    return np.ndarray(spec.shape, spec.dtype.numpy, data, weight.offset)


def bytes_of(array: Array) -> memoryview:
    """The elements row by row, as bytes; shares memory where they lie so."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _with_padding(blobs: Sequence[Array]) -> Sequence[memoryview]:
    parts: list[memoryview] = []
    for blob in blobs:
        data = bytes_of(blob)
        parts.append(data)
        parts.append(memoryview(bytes(-len(data) % ALIGNMENT_BYTES)))
    return parts


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _check_byte_order(path: Path | None) -> None:
    if sys.byteorder != "little":
        where = f"{path}: " if path else ""
        raise PlanError(f"{where}plan files hold numbers little end first, unlike this machine")
