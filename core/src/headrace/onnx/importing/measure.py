"""``Measure``: what ends one stage of a model and begins the next.

Every shape of a job is known when it is built. Where a shape depends on numbers that a device has
computed (which boxes are left, how many elements are not zero), the model runs in stages, each a
job: the first computes the numbers, the host looks at them, and the next is built for the shape
that it found, or for the value. What the host found is fed to it as further inputs; so jobs of a
stage are found again by their shapes, as those of any model are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import chain, islice

from headrace.errors import HeadraceError
from headrace.light_dataclass import dataclass
from headrace.ops import Tensor
from headrace.tensor_spec import Array

Compute = Callable[..., Sequence[Array]]
"""Arrays of numbers that were computed -> arrays whose shape depends on them. On the host."""

VALUE_OF = "value of "
"""Begins the name of an input that is the value of a tensor: it becomes a part of the job."""

SUPPOSED = "supposed value of "
"""Begins the name of such an input where the job computes the tensor itself, and is built for its
being this value."""

KEPT = "kept "
"""Begins the name of an input that is a tensor which an earlier stage computed and a later one
reads; how the model calls it follows."""


_MEASURE = "measure_"


def read_name(measure: str, index: int) -> str:
    """The name of what a measure reads; the same in whatever stage its node is reached."""
    return f"{_MEASURE}{measure}/read_{index}"


def made_name(measure: str, index: int) -> str:
    """The name of what it makes."""
    return f"{_MEASURE}{measure}/made_{index}"


def is_found(name: str) -> bool:
    """True for one name of each measure: what it reads first."""
    return name.startswith(VALUE_OF) or name.endswith("/read_0")


def is_kept(name: str) -> bool:
    """True for the name of a tensor that an earlier stage computed."""
    return name.startswith(KEPT)


def supposed(found: Iterable[str], values: Mapping[str, Array]) -> dict[str, Array]:
    """What a job of all stages would suppose, which are to find again what they have found.

    Args:
        found: names of what is fed to the last stage.
        values: of what is a part of it.

    Returns:
        Nothing where stages found more than values.
    """
    if any(name.startswith(_MEASURE) for name in found):
        return {}
    return {
        SUPPOSED + name.removeprefix(VALUE_OF): value
        for name, value in values.items()
        if name.startswith(VALUE_OF)
    }


@dataclass(frozen=True, slots=True)
class Measure:
    """What is done between two stages.

    Attributes:
        reads: the outputs of the first stage that ``compute`` takes, in order. They are fed to the
            next stage as well, under these names: it need not compute them again.
        compute: done by the host.
        makes: names of what ``compute`` returns, as inputs of the next stage.
        why: file, node and reason, for messages.
        keeps: what the next stage need not compute again: the name of an input of it, and of the
            output of this one that is fed to it as it is.
        close: gives back what ``compute`` holds, when the stage is not run again.
    """

    reads: tuple[str, ...]
    compute: Compute
    makes: tuple[str, ...]
    why: str
    keeps: Mapping[str, str] = field(default_factory=dict)
    close: Callable[[], None] = lambda: None

    def __call__(self, computed: Mapping[str, Array]) -> dict[str, Array]:
        """What is fed to the next stage besides the inputs of the model."""
        read = [computed[name] for name in self.reads]
        return {
            **dict(zip(self.reads, read, strict=True)),
            **dict(zip(self.makes, self.compute(*read), strict=True)),
            **{kept: computed[name] for kept, name in self.keeps.items()},
        }


class MeasureNeeded(HeadraceError):
    """The model's shapes depend on what ``tensors`` are found to be when they have been computed.

    Never reaches a user: it ends a stage of the model.
    """

    def __init__(self, tensors: Sequence[Tensor], measure: Measure) -> None:
        super().__init__(measure.why)
        self.tensors = tuple(tensors)
        self.measure = measure


def joined(needs: Sequence[MeasureNeeded]) -> MeasureNeeded:
    """One for all: each makes what it does of what it reads. The first says why the stage ends."""
    if len(needs) == 1:
        return needs[0]
    measures = [need.measure for need in needs]

    def compute(*read: Array) -> list[Array]:
        left, made = iter(read), list[Array]()
        for measure in measures:
            made += measure.compute(*islice(left, len(measure.reads)))
        return made

    def close() -> None:
        for measure in measures:
            measure.close()

    tensors = tuple(chain.from_iterable(need.tensors for need in needs))
    reads = tuple(chain.from_iterable(measure.reads for measure in measures))
    makes = tuple(chain.from_iterable(measure.makes for measure in measures))
    return MeasureNeeded(tensors, Measure(reads, compute, makes, measures[0].why, close=close))


def nothing_more(value: Array) -> Sequence[Array]:
    """The measure of a tensor whose value is needed itself: it is read, and nothing is made."""
    return ()
