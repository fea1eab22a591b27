"""``PlacedWeights``: where weights lie that were kept or found before, so that they lie there once.

Plans of one model for several shapes have most weights in common. What a plan's file has of them,
and where in the model's files the others are, is known of arrays that are alive: the next plan
refers to both, and nothing is written, or looked for in the model, a second time.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import ref

from headrace.light_tuple import NamedTuple
from headrace.plan.saved import Weight
from headrace.tensor_spec import Array


class _Placed(NamedTuple):
    array: ref[Array]
    source: int | None
    offset: int


class PlacedWeights:
    """Places of arrays that are alive. Used under the lock of its user.

    Attributes:
        base: the key of the plan whose file has what is in no file of the model; None for none yet.
    """

    def __init__(self) -> None:
        """Know none."""
        self.base: str | None = None
        self._places: dict[int, _Placed] = {}

    def find(self, array: Array, base_source: int) -> tuple[int, int] | None:
        """(source, offset) of this very array; None where that is not known.

        Args:
            array: a weight.
            base_source: what the source of weights is called that are in the file of ``base``.
        """
        placed = self._places.get(id(array))
        if placed is None or placed.array() is not array:
            return None
        return base_source if placed.source is None else placed.source, placed.offset

    def learn(self, key: str, weights: Iterable[tuple[Weight, Array]]) -> None:
        """Know where the weights of a plan lie; the first that has a file of its own is the base.

        Args:
            key: of the plan.
            weights: with their values, to which nobody writes.
        """
        self._places = {i: p for i, p in self._places.items() if p.array() is not None}
        for weight, array in weights:
            if weight.source is None:
                self.base = self.base or key
                if self.base != key:
                    continue
            self._places[id(array)] = _Placed(ref(array), weight.source, weight.offset)
