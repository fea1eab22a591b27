"""Patterns of text in the syntax of RE2, which ONNX asks for, as patterns of ``re``.

What the two write alike and mean otherwise is rewritten: classes of characters are those of ASCII,
``$`` is the very end. What ``re`` has beyond RE2, or lacks of it, is refused.
"""

from __future__ import annotations

import functools
import re
import string
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from headrace.errors import UnsupportedModelError
from headrace.onnx.file.text import quote

_FLAGS = re.compile(r"\(\?([ims]+)\)")
_ESCAPE = r"\\[pP](?:\{[^}]*\}|.)|\\x\{[0-9A-Fa-f]+\}|\\."
_OUTSIDE = re.compile(_ESCAPE + r"|\[\^?\]?|\(\?(?:P?[^)]|)|[^\\]", re.DOTALL)
_INSIDE = re.compile(_ESCAPE + r"|\[:\^?[a-z]+:\]|[^\\]", re.DOTALL)
_GROUPS = ("(?:", "(?P<")
_ITEM = r"(?:\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]|\\[^pPx]|[^\\\[\](){}|*+?])"
_ONE_REPEATED = re.compile(rf"{_ITEM}*(?:{_ITEM}(?:[*+?]|\{{\d+(?:,\d*)?\}}){_ITEM}*)?", re.DOTALL)
_SAME = frozenset("afnrtvx0" + string.punctuation)  # what a backslash before it makes of it
_PLACES = {"A": r"\A", "z": r"\Z", "b": r"(?a:\b)", "B": r"(?a:\B)"}
_SPACES = frozenset("\t\n\f\r ")
_WORDS = frozenset(string.ascii_letters + string.digits + "_")
_CLASSES: dict[str, Iterable[str]] = {
    "d": string.digits,
    "s": _SPACES,
    "w": _WORDS,
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "ascii": map(chr, range(128)),
    "blank": " \t",
    "cntrl": [*map(chr, range(32)), "\x7f"],
    "digit": string.digits,
    "graph": map(chr, range(33, 127)),
    "lower": string.ascii_lowercase,
    "print": map(chr, range(32, 127)),
    "punct": string.punctuation,
    "space": string.whitespace,
    "upper": string.ascii_uppercase,
    "word": _WORDS,
    "xdigit": string.hexdigits,
}
_CODES = {name: frozenset(map(ord, characters)) for name, characters in _CLASSES.items()}


@functools.lru_cache(maxsize=256)
def compiled(pattern: str, suffix: str = "") -> re.Pattern[str]:
    """The pattern, followed by ``suffix``, which is of ``re``.

    Raises:
        UnsupportedModelError: it is no pattern of RE2, or has what ``re`` cannot say.
    """
    found = _FLAGS.match(pattern)
    letters = found[1] if found else ""
    flags = re.DOTALL if "s" in letters else re.NOFLAG
    flags |= re.IGNORECASE if "i" in letters else re.NOFLAG
    flags |= re.MULTILINE if "m" in letters else re.NOFLAG
    end = "$" if "m" in letters else r"\Z"
    try:
        body = "".join(_rewritten(pattern[found.end() if found else 0 :], end))
        return re.compile(f"(?:{body}){suffix}", flags)
    except (re.error, ValueError) as error:
        raise UnsupportedModelError(
            f"headrace does not run the pattern {quote(pattern)}: {error}"
        ) from error


def first_is_longest(pattern: str) -> bool:
    """Whether no match is longer than the one that ``re`` finds first at its place.

    That is told of single characters of which at most one is repeated, greedily: how long a match
    is depends on that one alone.
    """
    return _ONE_REPEATED.fullmatch(pattern) is not None


def _rewritten(pattern: str, end: str) -> Iterator[str]:
    place, inside = 0, False
    while place < len(pattern):
        token = (_INSIDE if inside else _OUTSIDE).match(pattern, place)
        if token is None:
            raise ValueError("it ends in a backslash")
        place, text = token.end(), token[0]
        if text[0] == "\\" and not inside and text[1] in _PLACES:
            yield _PLACES[text[1]]
        elif text[0] == "\\" or text.startswith("[:"):
            escaped = _escaped(text)
            yield f"[{escaped}]" if len(escaped) > 2 and not inside else escaped
        elif inside:
            inside = text != "]"
            yield text if text in "]-^" or text.isalnum() else re.escape(text)
        elif text[0] == "[":
            inside = True
            yield text.replace("]", r"\]")
        elif text.startswith("(?") and text[:3] not in _GROUPS and text[:4] not in _GROUPS:
            raise ValueError(f"{text} is not of RE2, or not at its start")
        else:
            yield end if text == "$" else text


def _escaped(text: str) -> str:
    """What an escape stands for, as inside of brackets."""
    letter = text[1]
    if letter == ":":
        return _ranges_of(text[2:-2].removeprefix("^"), text[2] == "^")
    if letter in "pP":
        name = text[2:].strip("{}")
        return _of_category(name.removeprefix("^"), (letter == "P") != name.startswith("^"))
    if letter.lower() in "dsw":
        return _ranges_of(letter.lower(), letter.isupper())
    if text.startswith(r"\x{"):
        return re.escape(chr(int(text[3:-1], 16)))
    if letter not in _SAME and letter.isascii():
        raise ValueError(f"{text} is not of RE2")
    return text


def _ranges_of(name: str, negated: bool) -> str:
    if name not in _CODES:
        raise ValueError(f"it has no class {name}")
    return _written(_runs(sorted(_CODES[name])), negated)


@functools.lru_cache(maxsize=32)
def _of_category(name: str, negated: bool) -> str:
    """Of the characters of a general category of Unicode, or of all whose names begin so."""
    every = range(sys.maxunicode + 1)
    runs = _runs([c for c in every if unicodedata.category(chr(c)).startswith(name)])
    if not name or not runs:
        raise ValueError(f"{name} is no general category; scripts are not told apart")
    return _written(runs, negated)


def _runs(codes: Sequence[int]) -> list[tuple[int, int]]:
    """The first and the last of each run of numbers that follow each other."""
    firsts = [c for c, before in zip(codes, [-2, *codes], strict=False) if c != before + 1]
    lasts = [c for c, after in zip(codes, [*codes[1:], -2], strict=True) if c + 1 != after]
    return list(zip(firsts, lasts, strict=True))


def _written(runs: list[tuple[int, int]], negated: bool) -> str:
    if negated:
        starts = [0, *(last + 1 for _, last in runs)]
        ends = [*(first - 1 for first, _ in runs), sys.maxunicode]
        runs = [(a, b) for a, b in zip(starts, ends, strict=True) if a <= b]
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in runs)
