"""``BoundedBuilder``: builds a job of a model, within limits, on what earlier stages found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from headrace import numpy_ops
from headrace.aligned import Empty, aligned_empty
from headrace.errors import ResourceLimitError
from headrace.graph import CORE_OPS, DeviceOps
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.constants import Entry, LazyConstant
from headrace.graph.job_graph import JobGraph, JobOp
from headrace.graph.sized import SizedConstant
from headrace.onnx.file import limits
from headrace.onnx.importing.draws import draw_name, drawn_by
from headrace.onnx.importing.guesses import GUESSED_ELEMENTS, Assumption
from headrace.onnx.importing.measure import (
    KEPT,
    SUPPOSED,
    VALUE_OF,
    Compute,
    Measure,
    MeasureNeeded,
    made_name,
    read_name,
)
from headrace.op_call import OpCall
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.tensor_spec import Array, TensorSpec

if TYPE_CHECKING:
    from headrace.onnx.importing.written_regions import Run

IDLE_BYTES = 8 << 20
"""When so much was folded it is worth to look for what nobody reads any more."""


class Names(NamedTuple):
    """What a measure reads and makes, as inputs of the stage after it."""

    reads: tuple[str, ...]
    makes: tuple[str, ...]


class Found(NamedTuple):
    """What an earlier stage has computed, and what the host made of it."""

    reads: tuple[Tensor, ...]
    made: tuple[Tensor, ...]


class BoundedBuilder(JobGraphBuilder):
    """Refuses tensors, and sums of folded constants, that no useful model has.

    A file of a hundred bytes can ask for tensors of any size; the bounds of
    ``file/limits.py`` are checked on their specs, and nothing of that size has been allocated when
    it fails.

    Attributes:
        node: position of the node of the model's graph that is imported.
        assumptions: what the job is built for.
        idle_bytes: of what was folded, and of what it was folded from, since ``forget_unread``.
    """

    def __init__(
        self,
        name: str,
        placement: Placement,
        ops: DeviceOps = CORE_OPS,
        empty: Empty = aligned_empty,
    ) -> None:
        super().__init__(name, placement, empty=empty, ops=ops)
        self._device_ops = ops
        self._folded = 0
        self.idle_bytes = 0
        self._given: dict[str, Tensor] = {}
        self._supposed: dict[str, Array] = {}
        self.node = 0
        self._asked: dict[int, int] = {}  # how many names, by node
        self._guesses: dict[str, Array] = {}
        self.assumptions: list[Assumption] = []

    def _next_name(self) -> str:
        """A name for what is measured or drawn, which comes of the node that it is so for.

        Stages reach nodes in different orders, and mean the same by it.
        """
        asked = self._asked[self.node] = self._asked.get(self.node, 0) + 1
        return f"{self.node}.{asked}"

    def give(self, name: str, spec: TensorSpec, value: Array | None) -> None:
        """Add what an earlier stage found, or a list has; with a value, it is a part of the job."""
        self._given[name] = self.input(name, spec) if value is None else self.constant(value, name)

    def given(self, name: str) -> Tensor | None:
        """What was given under ``name``."""
        return self._given.get(name)

    def suppose(self, name: str, value: Array) -> None:
        """Build the job for a value, named by ``SUPPOSED``, of a tensor that it will compute."""
        tensor = name.removeprefix(SUPPOSED)
        self._given[VALUE_OF + tensor] = self.constant(value, name)
        self._supposed[tensor] = value

    def assume_supposed(self) -> None:
        """Say so among what the job is built for; of what it has computed by now."""
        for name, value in self._supposed.items():
            if self._tensors.get(name) == TensorSpec.of(value):
                tensor = Tensor(name, self._tensors[name])
                self.assumptions.append(Assumption((tensor,), partial(_is_same, value.tobytes())))

    def as_found(self, name: str, tensor: Tensor) -> Tensor:
        """``tensor``, which the model calls ``name``, as an earlier stage found or kept it."""
        if not self._given:
            return tensor
        for found in (VALUE_OF + tensor.name, KEPT + name):
            given = self._given.get(found)
            if given is not None and given.spec == tensor.spec:
                return given
        return tensor

    def value(self, tensor: Tensor) -> Array | None:
        """As ``JobGraphBuilder.value``; or as an earlier stage computed it."""
        known = super().value(tensor)
        if known is None and self._given and VALUE_OF + tensor.name in self._given:
            known = super().value(self._given[VALUE_OF + tensor.name])
        return known

    def integers(self, tensor: Tensor) -> Array | None:
        """The value of a tensor of integers; of objects where some are symbolic sizes.

        None where it is not known, and where sizes say how many there are.
        """
        entry = self._constants.get(tensor.name)
        if isinstance(entry, np.ndarray):
            return entry
        return entry.numbers if isinstance(entry, SizedConstant) else self.value(tensor)

    def region(self, tensor: Tensor) -> tuple[Run, ...] | None:
        """``region_of`` a tensor of indices whose value is known; None for another."""
        entry = self._constants.get(tensor.name)
        if entry is None:
            return None
        from headrace.onnx.importing.written_regions import region_of  # few models write any

        return region_of(entry, tensor.spec.shape)

    def is_known(self, tensor: Tensor) -> bool:
        """As ``JobGraphBuilder.is_known``; or an earlier stage computed it."""
        return super().is_known(tensor) or VALUE_OF + tensor.name in self._given

    def has_kernel(self, call: OpCall) -> bool:
        """Whether the device where ops are placed has a kernel for ``call``."""
        return self._device_ops.has_kernel(self.placement.tag, call)

    def guess(self, tensor: Tensor, value: Array) -> None:
        """Say what the value of an input is likely to be like."""
        self._guesses[tensor.name] = value

    def likely(self, tensor: Tensor) -> Array | None:
        """The value of ``tensor``, or what it was when the guesses were made; None if unknown."""
        known = self.value(tensor)
        return self._guesses.get(tensor.name) if known is None else known

    def _follow(self, op: JobOp) -> None:
        """Guess what an op makes, if all that it reads is guessed or known."""
        call, given = op.call, list[Array | None]()
        if self._guesses.keys().isdisjoint(op.inputs):
            return
        for name, spec in zip(op.inputs, call.inputs, strict=True):
            found = None if name is None or spec is None else self.likely(Tensor(name, spec))
            if found is None and name is not None:
                return
            given.append(found)
        if any(spec.elements > GUESSED_ELEMENTS for spec in call.outputs):
            return
        made = numpy_ops.evaluate(call, given, self._ops_known.op(call.op).compute)
        self._guesses.update(zip(op.outputs, made, strict=True))

    def measured(
        self, tensors: Sequence[Tensor], compute: Compute, outputs: int, why: str
    ) -> Found:
        """What was found of ``tensors`` by the stage that ended here.

        Raises:
            MeasureNeeded: this stage ends here.
        """
        names, found = self.found(len(tensors), outputs)
        if found is None:
            raise MeasureNeeded(tensors, Measure(names.reads, compute, names.makes, why))
        return found

    def found(self, reads: int, makes: int) -> tuple[Names, Found | None]:
        """The names of what the next measure reads and makes, and what was found if it was done."""
        number = self._next_name()
        names = Names(
            tuple(read_name(number, index) for index in range(reads)),
            tuple(made_name(number, index) for index in range(makes)),
        )
        given = self._given
        if not all(name in given for name in names.makes):
            return names, None
        found = (tuple(given[name] for name in part) for part in names)
        return names, Found(*found)

    def drawn(self, kind: str, spec: TensorSpec, seed: float | None) -> Tensor:
        """Random numbers: a constant where there is a seed, else an input of the job.

        Raises:
            ResourceLimitError: they are too many.
        """
        if spec.nbytes > limits.TENSOR_BYTES:
            raise ResourceLimitError(
                f"{self.name}: draws {spec}, {spec.nbytes} bytes; the limit for one tensor is "
                f"{limits.TENSOR_BYTES}"
            )
        if seed is None:
            return self.input(draw_name(kind, spec, self._next_name()), spec)
        bits = int(np.float32(seed).view(np.uint32))
        return self.constant(drawn_by(np.random.default_rng(bits), kind, spec))

    def _admit(self, call: OpCall) -> None:
        for spec in call.outputs:
            if spec.nbytes > limits.TENSOR_BYTES:
                raise ResourceLimitError(
                    f"{call.location}: {call.op} would make {spec}, {spec.nbytes} bytes; the "
                    f"limit for one tensor is {limits.TENSOR_BYTES}"
                )

    def _fold(self, call: OpCall, names: Sequence[str | None]) -> tuple[Entry, ...]:
        specs = (*call.inputs, *call.outputs)
        self.idle_bytes += sum([spec.nbytes for spec in specs if spec is not None])
        return super()._fold(call, names)

    def _admit_folded(self, call: OpCall) -> None:
        self._folded += sum([spec.nbytes for spec in call.outputs])
        if self._folded > limits.FOLDED_BYTES:
            raise ResourceLimitError(
                f"{call.location}: tensors that do not depend on the inputs take over "
                f"{limits.FOLDED_BYTES} bytes"
            )

    def finish(self) -> JobGraph:
        """As ``JobGraphBuilder.finish``; what is to be made of weights is no more than they are."""
        later = [
            entry.nbytes
            for entry in self._constants.values()
            if isinstance(entry, LazyConstant) and not isinstance(entry, SizedConstant)
        ]
        if sum(later) > limits.WEIGHT_BYTES:
            raise ResourceLimitError(
                f"{self.name}: weights, and what is made of them, take {sum(later)} bytes; the "
                f"limit is {limits.WEIGHT_BYTES}"
            )
        return super().finish()

    def forget_unread(self, tensors: Iterable[Tensor] = ()) -> None:
        """Hold values of those constants alone that ops or results read, or that are ``tensors``.

        Large constants that others were folded from are most of the memory of a job under
        construction. What is left is no one's but the job's when the model is imported.
        """
        self.idle_bytes = 0
        assumed = [tensor for assumption in self.assumptions for tensor in assumption.tensors]
        read = [*tensors, *assumed, *self._given.values(), *self._outputs.values()]
        names = self._read.union([tensor.name for tensor in read])
        self._constants = {n: entry for n, entry in self._constants.items() if n in names}

    def _add(self, op: JobOp) -> None:
        super()._add(op)
        if self._guesses:
            self._follow(op)


def _is_same(known: bytes, value: Array) -> bool:
    return value.tobytes() == known
