"""The two formats of images: an oracle that computes channels first, for both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.tensor_spec import Array


def either_format(function: Callable[..., Any], images: int = 1) -> Callable[..., Any]:
    """``function`` of channels-first arrays, for both formats; its first ``images`` are images."""

    def compute(*arrays: Array | None, data_format: str = "channels_first", **attrs: Any) -> Any:
        if data_format == "channels_first":
            return function(*arrays, **attrs)
        given = [
            np.moveaxis(array, -1, 1) if array is not None and index < images else array
            for index, array in enumerate(arrays)
        ]
        made = function(*given, **attrs)
        several = made if isinstance(made, tuple) else (made,)
        moved = tuple(np.moveaxis(array, 1, -1) for array in several)
        return moved if isinstance(made, tuple) else moved[0]

    return compute
