"""Random numbers of a model: the host draws them, and each call of a job is fed fresh ones.

So a model gives numbers of one distribution whatever it runs on, and no device needs a generator.
Nodes that have a seed are constants: the same numbers in every call, on every device.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping

import numpy as np

from headrace.dtypes import dtype_of
from headrace.tensor_spec import Array, TensorSpec

_DRAW: Mapping[str, Callable[[np.random.Generator, tuple[int, ...]], Array]] = {
    "normal": lambda generator, shape: generator.standard_normal(shape),
    "uniform": lambda generator, shape: generator.random(shape),
    "gumbel": lambda generator, shape: generator.gumbel(size=shape),
}
"""By name: of mean 0 and deviation 1; from 0 on, below 1; of location 0 and scale 1."""

_NAME = re.compile(r"random (\w+) (\w+)\[([\d, ]*)\] [\d.]+")


def draw_name(kind: str, spec: TensorSpec, which: str) -> str:
    """The input of a job that is fed the draw ``which`` of a model; it says what is drawn."""
    return f"random {kind} {spec} {which}"


def is_draw(name: str) -> bool:
    """True for the name of an input that is drawn."""
    return _NAME.fullmatch(name) is not None


def draws_of(names: Iterable[str]) -> tuple[str, ...]:
    """Those of the inputs of a job that are drawn."""
    return tuple(filter(is_draw, names))


def draw(names: Iterable[str], drawn: MutableMapping[str, Array]) -> None:
    """Draw what of ``names`` is not in ``drawn`` yet: stages of one call are fed the same."""
    generator = None
    for name in names:
        match = _NAME.fullmatch(name)
        if match is None or name in drawn:
            continue
        generator = generator or np.random.default_rng()
        kind, dtype, dims = match.groups()
        shape = tuple(int(dim) for dim in dims.split(",") if dim.strip())
        drawn[name] = drawn_by(generator, kind, TensorSpec(shape, dtype_of(dtype)))


def drawn_by(generator: np.random.Generator, kind: str, spec: TensorSpec) -> Array:
    """Numbers of a distribution, by its name; a float32 below 1 does not become 1."""
    numbers = np.asarray(_DRAW[kind](generator, spec.shape), np.float64)
    if kind == "uniform":
        step = 2.0 ** -(np.finfo(spec.dtype.numpy).nmant + 1)
        numbers = np.floor(numbers / step) * step
    return np.ascontiguousarray(numbers.astype(spec.dtype.numpy)).reshape(spec.shape)
