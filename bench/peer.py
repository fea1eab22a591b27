"""The peer of most scripts: a session of onnxruntime on the host, and what can be fed to it.

Packages are imported when they are needed: scripts measure what importing them costs, and what the
peer's threads and memory add to a process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import onnxruntime

Dims = Sequence[int | str | None]
"""A declared shape: sizes, names of sizes that the model leaves open, and nothing."""

Shapes = Mapping[str, tuple[int, ...]]
"""By the name of an input, as a user gives them."""

FLOATS = {"float": "float32", "double": "float64"}
"""What the peer names otherwise than numpy."""


def peer_session(
    model: str | os.PathLike[str] | bytes, threads: int = 1, *, optimised: bool = True
) -> onnxruntime.InferenceSession:
    """A session with kernels on so many threads, that keeps its warnings to itself."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.log_severity_level = 3  # errors; not what could be said of the model
    if not optimised:
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])


def shape_of(shapes: Shapes, name: str, declared: Dims) -> tuple[int, ...]:
    """The shape that is given for an input, where it fits; else each size that is open is 1."""
    given = shapes.get(name, ())
    fits = len(given) == len(declared) and all(
        not isinstance(dim, int) or dim == size for dim, size in zip(declared, given, strict=True)
    )
    return given if fits else tuple(dim if isinstance(dim, int) else 1 for dim in declared)


def feeds_of(
    session: onnxruntime.InferenceSession,
    shape: Callable[[str, Dims], Sequence[int]],
    seed: int = 0,
) -> dict[str, Any]:
    """Arrays for the inputs: numbers between 0 and 1, and ones of what has no fractions.

    Args:
        session: whose inputs.
        shape: gives the shape of an input by its name and declared shape.
        seed: of the numbers.
    """
    import numpy as np

    draw = np.random.default_rng(seed)
    feeds = {}
    for entry in session.get_inputs():
        element = entry.type.removeprefix("tensor(").removesuffix(")")
        dtype = np.dtype(FLOATS.get(element, element))
        dims = shape(entry.name, entry.shape)
        made = draw.random(dims) if dtype.kind == "f" else np.ones(dims)
        feeds[entry.name] = made.astype(dtype)
    return feeds
