"""``Case``: one application of one op, to be run on a device and compared with the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headrace.data_format import CHANNELS_LAST
from headrace.tensor_spec import Array


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Inputs and attributes of one op.

    Attributes:
        id: unique in its family, says what is special (``asymmetric-pads``, not ``case3``).
        op: op name.
        inputs: arrays in schema order; None for an absent optional input.
        attrs: attributes that differ from the defaults.
        outputs: how many outputs to ask for.
        rtol, atol: tolerance of floating results; None means the default of their dtype.
        reference: computes the results from the inputs and all attributes by keyword. None: the
            oracle of the op, or, for a plugin's own op, that of the ops it decomposes into.
    """

    id: str
    op: str
    inputs: tuple[Array | None, ...]
    attrs: Mapping[str, object] = field(default_factory=dict)
    outputs: int = 1
    rtol: float | None = None
    atol: float | None = None
    reference: Callable[..., Any] | None = None

    def __str__(self) -> str:
        return f"{self.op}-{self.id}"


def channels_last(case: Case, images: int = 1) -> Case:
    """A channels-first case of the same numbers with channels last.

    Args:
        case: of an op that has a ``data_format``.
        images: so many of its first inputs have an axis of channels.
    """
    inputs = tuple(
        array if array is None or index >= images else np.moveaxis(array, 1, -1).copy()
        for index, array in enumerate(case.inputs)
    )
    attrs = {**case.attrs, "data_format": CHANNELS_LAST}
    return replace(case, id=f"{case.id}-channels-last", inputs=inputs, attrs=attrs)
