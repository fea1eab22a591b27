"""Which calls a kernel takes: dtypes, what the library must have, and more of the call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from headrace.device import OpCall
from headrace_cambricon.enums import find
from headrace_cambricon.kernels.kernel import MAX_RANK
from headrace_cambricon.library import opened_library

FLOATS = ("float32", "float16", "bfloat16")
"""What the library computes in; the last on cards that have it."""

NUMBERS = (*FLOATS, "int32")
"""What it adds and multiplies. That integers wrap around is nowhere said;
its callers count on it."""

COMPARED = (*NUMBERS, "int8", "int16", "uint8")
"""What it compares, and finds the best of."""

_BFLOAT16_SINCE = 5  # the major number of a card's capability


@cache
def _cards_have_bfloat16() -> bool:
    library = opened_library()
    return library is None or all(
        library.capability(card) >= _BFLOAT16_SINCE for card in range(library.device_count())
    )


def available(dtype: str) -> bool:
    """True for a dtype that the cards compute in, if the library does."""
    return dtype != "bfloat16" or _cards_have_bfloat16()


@dataclass(frozen=True, slots=True)
class Takes:
    """Calls whose first input (without one, first output) has one of these dtypes.

    Attributes:
        dtypes: names of dtypes; none: any.
        functions: functions that the library must have; of alternatives, written ``a|b``, one.
        enums: enumerators whose numbers must be known; of alternatives one.
        where: what else must hold of the call.
        text: ``where`` in words.
    """

    dtypes: tuple[str, ...]
    functions: tuple[str, ...] = ()
    enums: tuple[str, ...] = ()
    where: Callable[[OpCall], bool] | None = None
    text: str = ""

    def __call__(self, call: OpCall) -> bool:
        spec = call.input(0) if call.has_input(0) else call.outputs[0]
        specs = (*call.inputs, *call.outputs)
        return (
            (not self.dtypes or spec.dtype.name in self.dtypes)
            and all(s is None or s.rank <= MAX_RANK for s in specs)
            and (not self.dtypes or available(spec.dtype.name))
            and (self.where is None or self.where(call))
            and not self.missing()
        )

    def missing(self) -> str:
        """What the library lacks for it; empty when nothing."""
        library = opened_library()
        if library is None:
            return ""
        for names in self.functions:
            if not any(library.has(name) for name in names.split("|")):
                return f"the library has no {names.replace('|', ' or ')}"
        for names in self.enums:
            if all(find(name) is None for name in names.split("|")):
                said = names.replace("|", " or ")
                return f"no header of the vendor has told the number of {said}"
        return ""

    def __str__(self) -> str:
        dtypes = " | ".join(filter(available, self.dtypes))
        missing = self.missing()
        more = [self.text] if self.text and dtypes else []
        more += [f"but {missing}"] if missing else []
        said = dtypes or self.text or "any"
        return f"{said} ({'; '.join(more)})" if more else said
