"""The rules around the model of the demo, with a model that answers as the test says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from headrace.cli.file_types import FileType, Rules, Unreadable

PAD = 256
CONFIG = {
    "beg_size": 8,
    "end_size": 4,
    "block_size": 16,
    "padding_token": PAD,
    "min_file_size_for_dl": 4,
    "medium_confidence_threshold": 0.5,
    "thresholds": {"poem": 0.9},
    "overwrite_map": {"noise": "unknown"},
    "target_labels_space": ["poem", "song", "noise", "tune"],
}


def kind(label: str, is_text: bool, **fields: str) -> dict[str, object]:
    return {"description": None, "group": None, "mime_type": None, "is_text": is_text, **fields}


TYPES = {
    "poem": kind("poem", True, description="A poem", group="art", mime_type="text/poem"),
    "song": kind("song", True),
    "noise": kind("noise", False),
    "tune": kind("tune", False, description="A tune"),
    "txt": kind("txt", True, description="Text", group="text"),
    "unknown": kind("unknown", False),
    "empty": kind("empty", False),
    "directory": kind("directory", False),
}
RULES = Rules(CONFIG, TYPES)


def never(tokens: Sequence[int]) -> Sequence[float]:
    raise AssertionError("the model was asked")


def tokens_of(path: Path, content: bytes) -> list[int]:
    """What the model is shown of a file."""
    seen: list[int] = []

    def scores(tokens: Sequence[int]) -> Sequence[float]:
        seen.extend(tokens)
        return [0, 1, 0, 0]

    path.write_bytes(content)
    assert isinstance(RULES.identify(path, scores), FileType)
    return seen


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        (b"abcd", [*b"abcd", PAD, PAD, PAD, PAD, *b"abcd"]),
        (b"abcdefghijkl", [*b"abcdefgh", *b"ijkl"]),
        (b" \t\n\r\x0b\x0cabcdef \n", [*b"abcdef", 32, 10, *b"cdef"]),
        (b"ab\0cd\x85\xa0", [*b"ab\0cd\x85\xa0", PAD, *b"cd\x85\xa0"]),
        (b"abcdefgh" + b"x" * 40 + b"wxyz", [*b"abcdefgh", *b"wxyz"]),
        # Only the first and last 16 bytes are looked at, also when blanks leave little of them.
        (b" " * 12 + b"abcd" + b"e" * 40, [*b"abcd", PAD, PAD, PAD, PAD, *b"eeee"]),
        (b"abcdefgh" + b"e" * 40 + b"yz" + b" " * 14, [*b"abcdefgh", PAD, PAD, *b"yz"]),
    ],
)
def test_the_model_sees_both_ends_without_blanks(
    tmp_path: Path, content: bytes, tokens: list[int]
) -> None:
    """Blanks are stripped at the outer sides; what is missing is padding on the inner side."""
    assert tokens_of(tmp_path / "file", content) == tokens
    assert len(tokens) == RULES.tokens


@pytest.mark.parametrize(
    ("content", "label"),
    [
        (b"", "empty"),
        (b"abc", "txt"),
        (b"\xff\xfe", "unknown"),
        (b" " * 16 + b"abcdefgh", "txt"),
        (b" \n  abc", "txt"),
        (b" \n\n  \xff", "unknown"),
        (b"abcd", "song"),
    ],
)
def test_small_files_are_not_shown_to_the_model(tmp_path: Path, content: bytes, label: str) -> None:
    """Fewer than four bytes, or than four after the leading blanks: text if it is UTF-8."""
    path = tmp_path / "file"
    path.write_bytes(content)
    scores = (lambda tokens: [0, 1, 0, 0]) if label == "song" else never
    found = RULES.identify(path, scores)

    assert isinstance(found, FileType)
    assert (found.label, found.score) == (label, 1.0)


@pytest.mark.parametrize(
    ("scores", "label", "guess"),
    [
        ([0.95, 0.05, 0, 0], "poem", ""),
        ([0.9, 0.1, 0, 0], "poem", ""),
        ([0.89, 0.1, 0, 0], "txt", "A poem (art)"),
        ([0.2, 0.5, 0.3, 0], "song", ""),
        ([0.2, 0.4, 0.3, 0], "txt", "song (unknown)"),
        ([0.1, 0.1, 0.3, 0.4], "unknown", "A tune (unknown)"),
        ([0.1, 0.1, 0.8, 0.1], "unknown", ""),
        ([0.1, 0.1, 0.4, 0.1], "unknown", "noise (unknown)"),
        ([0.4, 0.4, 0, 0], "txt", "A poem (art)"),
    ],
)
def test_the_answer_must_be_sure_enough(
    tmp_path: Path, scores: list[float], label: str, guess: str
) -> None:
    """Each label has its threshold; below it the answer is general and the guess is kept."""
    path = tmp_path / "file"
    path.write_bytes(b"abcdefgh")
    found = RULES.identify(path, lambda tokens: scores)

    assert isinstance(found, FileType)
    assert (found.label, found.guess, found.score) == (label, guess, max(scores))


def test_what_is_not_said_of_a_type_has_a_default(tmp_path: Path) -> None:
    """Description is the label, group is unknown, and the MIME type is the general one."""
    path = tmp_path / "file"
    path.write_bytes(b"abcdefgh")

    assert RULES.identify(path, lambda tokens: [0, 1, 0, 0]) == FileType(
        "song", "song", "unknown", "text/plain", 1.0
    )
    assert RULES.identify(path, lambda tokens: [0, 0, 0, 1]) == FileType(
        "tune", "A tune", "unknown", "application/octet-stream", 1.0
    )


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    """A folder is a directory, a pipe is unknown and not waited for, nothing is an error."""
    os.mkfifo(tmp_path / "pipe")

    folder, pipe = RULES.identify(tmp_path, never), RULES.identify(tmp_path / "pipe", never)

    assert isinstance(folder, FileType)
    assert folder.label == "directory"
    assert isinstance(pipe, FileType)
    assert pipe.label == "unknown"
    assert RULES.identify(tmp_path / "no", never) == Unreadable("there is no such file")


def test_links_are_followed(tmp_path: Path) -> None:
    """The answer is about what the link leads to."""
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    found = RULES.identify(tmp_path / "link", never)

    assert isinstance(found, FileType)
    assert found.label == "empty"
