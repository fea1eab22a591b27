"""``Templates``: jobs of a model for shapes that it has not met, made out of one that is general.

When a model meets inputs of a third set of shapes it is imported, and goes through all passes, with
symbolic sizes where its inputs differ (``headrace.sizes``). For other shapes that graph is filled
in, if all that was decided by sizes is decided alike for them. What is not, or cannot be, made so
is made as ever; that costs time and nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from headrace.compiler.pipeline import Prepared
from headrace.compiler.template import Template
from headrace.errors import HeadraceError
from headrace.signals import let_handlers_through
from headrace.sizes import Scope, Values, Whole, as_size
from headrace.tensor_spec import Array, TensorSpec

MET = 2
"""So many other sets of shapes show which sizes a model is fed that differ."""

MOST = 4
"""So many templates a model has; the one unused longest goes first."""

MOST_MADE = 12
"""So many are made of a model, ever."""

MOST_IN_VAIN = 2
"""So many may turn out to serve one set of shapes alone; then none is made any more."""

MOST_BYTES = 32 << 20
"""So much a template holds at most, where no job holds it. Most weights it does not hold."""

Specs = Mapping[str, TensorSpec]
Prepare = Callable[[Specs], Prepared | None]
"""Imports a model for shapes with sizes, and runs all passes; None where it is not for this."""


class _Made(NamedTuple):
    """A template, and what its sizes were taken from."""

    template: Template
    scope: Scope
    specs: Specs

    def filled(self, specs: Specs) -> Prepared | None:
        """The job for shapes; None where something would be decided otherwise."""
        values = self.values(specs)
        try:
            return None if values is None else self.template.filled(values)
        except HeadraceError:  # the model's own, which comes again when it is imported
            return None

    def values(self, specs: Specs) -> Values | None:
        """What sizes are for shapes; None where something would be decided otherwise."""
        found: dict[int, int] = {}
        if specs.keys() != self.specs.keys():
            return None
        for name, sized in self.specs.items():
            spec = specs[name]
            if spec.dtype != sized.dtype or spec.rank != sized.rank:
                return None
            for dim, size in zip(spec.shape, sized.shape, strict=True):
                for number, unknown in enumerate(self.scope.unknowns):
                    if as_size(size) is unknown:
                        found.setdefault(number, dim)
        values = self.scope.values([found[n] for n in range(len(self.scope.unknowns))])
        if values is None:
            return None
        for name, sized in self.specs.items():
            if any(
                values.of(size) != dim
                for size, dim in zip(sized.shape, specs[name].shape, strict=True)
            ):
                return None
        return values


class Templates:
    """The templates of one model on one placement. Used by one thread at a time."""

    def __init__(self, name: str, shared: Callable[[Array], Array]) -> None:
        """None yet.

        Args:
            name: of the model, for the log.
            shared: as ``Template`` takes it.
        """
        self._shared = shared
        self._name = name
        self._met: deque[Specs] = deque(maxlen=MET)
        self._made: list[_Made] = []  # the one used last is the last
        self._count = self._in_vain = 0
        self._fault = ""  # of what was tried last

    def find(self, specs: Specs) -> Prepared | None:
        """The job for shapes, after all passes, if a template has it."""
        for made in reversed(self._made):
            prepared = made.filled(specs)
            if prepared is not None:
                self._made.remove(made)
                self._made.append(made)
                return prepared
        return None

    def make(self, specs: Specs, prepare: Prepare) -> Prepared | None:
        """The job for shapes, out of a new template; None where none can be made, or not yet.

        Args:
            specs: that no template serves.
            prepare: makes what it is made of.
        """
        before = [met for met in self._met if _alike(met, specs)]
        if self._in_vain >= MOST_IN_VAIN or self._count >= MOST_MADE or len(before) < MET:
            return None
        sized = _sized(specs, before)
        if sized is None:
            return None
        made = self._try(sized, prepare)
        if made is None:
            return None
        if all(made.values(met) is None for met in before):
            self._fault = "it would serve one set of shapes alone"
            return None
        self._count += 1
        self._made = [*self._made, made][-MOST:]
        self._met.append(specs)
        return made.filled(specs)

    def made_as_ever(self, specs: Specs, *, is_general: bool) -> None:
        """Learn that the job for ``specs`` was imported, and if it depends on shapes alone."""
        self._met.append(specs)
        if not is_general:
            self._in_vain = MOST_IN_VAIN
        elif self._fault:
            from logging import getLogger  # seldom needed, and 4 ms of a first load

            self._in_vain += 1
            text = "%s: no template for inputs of other shapes, each is compiled anew: %s"
            getLogger("headrace.templates").info(text, self._name, self._fault)
        self._fault = ""

    def _try(self, sized: tuple[Scope, Specs], prepare: Prepare) -> _Made | None:
        scope, specs = sized
        try:
            prepared = prepare(specs)
        except Exception as error:  # noqa: BLE001 - the model's own comes again when it is imported
            let_handlers_through(error)
            self._fault = f"{type(error).__name__}: {error}"
            return None
        if prepared is None:
            self._fault = "it is no job alone, or depends on more than shapes"
            return None
        template = Template(prepared, self._shared)
        self._fault = template.fault
        if not self._fault and template.held_bytes > MOST_BYTES:
            self._fault = f"it would hold {template.held_bytes} bytes"
        return None if self._fault else _Made(template, scope, specs)


def _alike(a: Specs, b: Specs) -> bool:
    """Whether only sizes differ."""
    return a.keys() == b.keys() and all(
        a[name].dtype == spec.dtype and a[name].rank == spec.rank for name, spec in b.items()
    )


def _sized(specs: Specs, before: Sequence[Specs]) -> tuple[Scope, Specs] | None:
    """Specs with sizes where they differ, of as few unknowns as there may be.

    Dimensions that have differed by one number, whenever they were met, are sizes of one unknown.
    None where one is too small to be an example.
    """
    met = (specs, *before)
    classes: dict[tuple[int, ...], list[int]] = {}  # steps of what differs: numbers in specs
    dims: dict[tuple[str, int], tuple[int, ...]] = {}
    for name, spec in specs.items():
        for axis in range(spec.rank):
            numbers = tuple(one[name].shape[axis] for one in met)
            if len(set(numbers)) > 1:
                steps = tuple(number - numbers[0] for number in numbers)
                dims[name, axis] = steps
                classes.setdefault(steps, []).append(numbers[0])
    examples = {steps: min(numbers) for steps, numbers in classes.items()}
    if not examples or min(examples.values()) < 2:
        return None
    scope = Scope(list(examples.values()))
    unknown = dict(zip(examples, scope.unknowns, strict=True))

    def size(name: str, axis: int, dim: int) -> Whole:
        steps = dims.get((name, axis))
        return dim if steps is None else unknown[steps] + (dim - examples[steps])

    return scope, {
        name: TensorSpec(
            tuple(size(name, axis, dim) for axis, dim in enumerate(spec.shape)), spec.dtype
        )
        for name, spec in specs.items()
    }
