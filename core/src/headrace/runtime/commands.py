"""What an actor asks for. Somebody else does it: see ``runner.py``."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.ids import RegisterId


@dataclass(frozen=True, slots=True)
class Act:
    """Launch the actor's tasks for piece ``number``, then report ``ActDone(number)``."""

    number: int


@dataclass(frozen=True, slots=True)
class Publish:
    """Tell every consumer of ``register`` that it holds the next piece."""

    register: RegisterId


@dataclass(frozen=True, slots=True)
class Return:
    """Tell the producer of ``register`` that this actor has read a piece."""

    register: RegisterId


Command = Act | Publish | Return
