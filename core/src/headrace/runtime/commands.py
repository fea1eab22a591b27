"""What an actor asks for. Somebody else does it: see ``runner.py``."""

from __future__ import annotations

from headrace.ids import RegisterId
from headrace.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Act:
    """Launch the actor's tasks for piece ``number``, then report ``ActLaunched(number)``."""

    number: int


@dataclass(frozen=True, slots=True)
class Publish:
    """Tell every consumer of ``register`` that what writes the next piece is launched."""

    register: RegisterId


@dataclass(frozen=True, slots=True)
class Return:
    """Tell the producer of ``register`` that what this actor reads of a piece is launched."""

    register: RegisterId


Command = Act | Publish | Return
