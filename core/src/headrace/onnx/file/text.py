"""How messages show names that come out of a model file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import NodeProto

_LONGEST = 96
"""How many characters of a name a message has, about."""

_MOST = 8
"""How many names of a list a message has."""


def quote(name: str) -> str:
    """``name`` in quotes, on one line, of bounded length, with nothing in it left invisible."""
    shown = name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2]}...{name[-16:]}"
    return repr(shown)


def quote_all(names: Iterable[str]) -> str:
    """The names in quotes, with commas; the rest of a long list is counted."""
    listed = list(names)
    text = ", ".join(quote(name) for name in listed[:_MOST])
    return text if len(listed) <= _MOST else f"{text} and {len(listed) - _MOST} more"


def place(owner: str, node: NodeProto) -> str:
    """Where ``node`` stands, for messages: its owner and its name, or else what it makes."""
    if node.name:
        return f"{owner}: node {quote(node.name)}"
    outputs = node.output
    made = outputs[0] if outputs else "nothing"
    if not made:
        made = next((name for name in outputs if name), "nothing")
    return f"{owner}: node making {quote(made)}"


class Said:
    """A place that is put into words when a message has it: of most places none tells."""

    __slots__ = ("_parts", "_say")

    def __init__(self, say: Callable[..., str], *parts: object) -> None:
        """``say(*parts)`` are the words."""
        self._say = say
        self._parts = parts

    def __str__(self) -> str:
        return self._say(*self._parts)


Where = str | Said
"""A place, for messages."""
