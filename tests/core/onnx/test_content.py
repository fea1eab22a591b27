"""What is in a model's file is read as it is needed, each tensor to where it stays."""

from __future__ import annotations

import gc
import hashlib
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import info, model, node

from headrace.aligned import is_aligned
from headrace.errors import InvalidModelError
from headrace.onnx.file import wire
from headrace.onnx.file.content import Content, Extent, HeldContent
from headrace.onnx.file.read import read_model
from headrace.onnx.file.source import open_model
from headrace.onnx.file.stored import StoredBytes

DATA = np.random.default_rng(0).bytes(700_001)  # several windows, pieces, and a part of one


def held(path: Path) -> Content:
    return HeldContent(path.read_bytes())


def opened(path: Path) -> Content:
    return open_model(path).content


@pytest.fixture(params=[held, opened])
def content(request: pytest.FixtureRequest, tmp_path: Path) -> Content:
    (tmp_path / "data").write_bytes(DATA)
    made: Content = request.param(tmp_path / "data")
    return made


def test_every_part_is_what_the_file_holds(content: Content) -> None:
    """Single bytes near and far, parts, arrays, and the digest of all."""
    assert len(content) == len(DATA)
    for position in (0, 1, 20_000, 19_999, 700_000, 5):
        window, at = content.look(position)
        assert window[at] == DATA[position]
    for start, end in ((0, 10), (7, 7), (299_999, 700_001)):
        assert content.part(start, end) == DATA[start:end]
    assert content.digest() == hashlib.blake2b(DATA, digest_size=32).digest()


def test_a_large_file_is_told_by_what_processors_have_instructions_for() -> None:
    """Its digest is SHA-256, from a size on at which it pays to load OpenSSL."""
    data = bytes(16 << 20)
    assert HeldContent(data).digest() == hashlib.sha256(data).digest()
    assert HeldContent(data[1:]).digest() == hashlib.blake2b(data[1:], digest_size=32).digest()
    part = Extent(HeldContent(data), 3, 10)
    assert part.digest(len(data)) == hashlib.sha256(data[3:10]).digest()


@pytest.mark.parametrize("end", [65, 2000, 600_001])
def test_an_array_has_memory_of_its_own(content: Content, end: int) -> None:
    """It begins at a cache line, wherever it is in the file, and may be written to."""
    array = content.array(1, end)
    assert is_aligned(array)
    assert array.tobytes() == DATA[1:end]
    array[:] = 0
    assert content.part(1, 5) == DATA[1:5]


def test_bytes_are_compared_to_their_end(content: Content) -> None:
    """In whatever piece they differ, and where the file ends before they do."""
    wanted = bytearray(DATA[3:])
    assert content.begins(memoryview(wanted), 3)
    assert not content.begins(memoryview(wanted), 4)
    wanted[-1] ^= 1
    assert not content.begins(memoryview(wanted), 3)


def test_a_weight_does_not_hold_the_file() -> None:
    """Not even where its elements begin at a cache line in the bytes that were given."""
    weights = {f"w{i}": np.full(4096 + i, i, np.float32) for i in range(64)}
    nodes = [node("Identity", name, f"y{name}") for name in weights]
    outputs = [info(f"y{name}", value.shape) for name, value in weights.items()]
    data = model(nodes, outputs=outputs, weights=weights).SerializeToString()
    for value in read_model(data).weights.values():
        owner: Any = value
        while getattr(owner, "base", None) is not None:
            owner = owner.base
        assert memoryview(owner).nbytes < 2 * value.nbytes


@pytest.mark.skipif(not hasattr(os, "preadv"), reason="files are held on this system")
def test_a_file_is_never_in_memory_as_a_whole(tmp_path: Path) -> None:
    """What Python allocates while a model is read is its weights once, and little else."""
    value = np.zeros(60_000, np.float32)  # small enough to be seen by those who trace allocations
    weights = {f"w{i}": value for i in range(40)}
    nodes = [node("Identity", name, f"y{name}") for name in weights]
    outputs = [info(f"y{name}", value.shape) for name in weights]
    onnx.save(model(nodes, outputs=outputs, weights=weights), tmp_path / "m.onnx")
    read_model(tmp_path / "m.onnx")  # what is imported stays
    gc.collect()
    tracemalloc.start()
    try:
        read = read_model(tmp_path / "m.onnx")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(read.weights) == 40
    assert peak < 1.2 * 40 * value.nbytes


@pytest.mark.skipif(not hasattr(os, "preadv"), reason="files are held on this system")
@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(DATA[:-1]),
        lambda path: path.write_bytes(DATA + b"more"),
        lambda path: os.utime(path, ns=(0, 1)),
    ],
    ids=["shorter", "longer", "written"],
)
def test_a_file_that_was_written_to_is_not_read(
    tmp_path: Path, change: Callable[[Path], object]
) -> None:
    """Whatever part is asked for next: it may be another by now."""
    path = tmp_path / "data"
    path.write_bytes(DATA)
    made = open_model(path).content
    change(path)
    for use in (
        lambda: made.look(0),
        lambda: made.part(0, 10),
        lambda: made.array(600_000, 700_001),
        made.digest,
    ):
        with pytest.raises(InvalidModelError, match=r"data: was written to after it was opened"):
            use()


def test_however_many_fields_follow_each_other_nothing_is_kept_of_each() -> None:
    """Numbers are passed by a pattern, which could remember where each began."""
    data = HeldContent(b"\x08\x01" * 1_000_000 + b"\x12\x01x")
    tracemalloc.start()
    try:
        (part,) = wire.parts(data, 0, len(data))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert part == (2, 2_000_000, 2_000_002, 2_000_003)
    assert peak < 100_000


@pytest.mark.parametrize(
    "data",
    [
        b"\x08",
        b"\x08\x80",
        b"\x08" + b"\x80" * 10 + b"\x01",
        b"\x12",
        b"\x12\x80",
        b"\x12\x02x",
        b"\x12\xff\xff\xff\xff\xff\xff\x01",
        b"\x82\x80",
        b"\x0d\x01\x02\x03",
        b"\x09\x01",
        b"\x0b",
        b"\x0b\x0c",
    ],
)
def test_what_is_no_message_is_told(data: bytes) -> None:
    """Whatever it ends amid, and whatever follows it."""
    for behind in (b"", b"\x00" * 40, b"\xff" * 40):
        whole = HeldContent(data + behind)
        with pytest.raises(wire.WireError):
            list(wire.parts(whole, 0, len(data)))


def test_keys_and_lengths_may_take_more_bytes_than_they_need() -> None:
    """As protobuf reads them; and there are numbers of all kinds between them."""
    numbers = b"\x08\x05\xa0\x01\x07\x0d1234\x0912345678\x10" + b"\xff" * 9 + b"\x01"
    data = numbers + b"\x92\x80\x00\x83\x80\x80\x00abc" + numbers + b"\x82\x01\x01d"
    counts = wire.Counts(int)
    assert [
        (part.field, data[part.start : part.end])
        for part in wire.parts(HeldContent(data), 0, len(data), counts=counts)
    ] == [(2, b"abc"), (16, b"d")]
    assert counts == {2: 1, 16: 1}


def test_stored_tensors_are_found_in_an_open_file(tmp_path: Path) -> None:
    """By their bytes, as in bytes that are held; others of the same length are not."""
    value = np.arange(200_000, dtype=np.float32)
    proto = model(
        [node("Identity", "w", "y")], outputs=[info("y", value.shape)], weights={"w": value}
    )
    onnx.save(proto, tmp_path / "m.onnx")
    data = (tmp_path / "m.onnx").read_bytes()
    stored = StoredBytes([opened(tmp_path / "m.onnx")])
    assert stored.find(value) == (0, data.index(value.tobytes()))
    other = value.copy()
    other[-1] = 0
    assert stored.find(other) is None
