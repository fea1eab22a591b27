"""The builder of job graphs, with which tracing, the ONNX importer and decompositions make them.

``JobGraphBuilder`` checks and infers each op as it is added and folds those whose inputs are all
constant: a tensor whose value is known while building is never computed at run time.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType

import numpy as np

from headrace.aligned import Empty, aligned_empty
from headrace.dtypes import int64
from headrace.errors import GraphError, SbpError, VariableError
from headrace.graph.constants import (
    Constants,
    Entry,
    LazyConstant,
    folded,
    folded_later,
    folded_now,
    read_only,
)
from headrace.graph.hint import Auto, SbpHint, Wish
from headrace.graph.job_graph import JobGraph, JobOp
from headrace.graph.op_source import CORE_OPS, OpSource
from headrace.graph.sized import SizedConstant, fold_sized, numbers_of
from headrace.graph.variable import Variable, VariablePart
from headrace.op_call import Attrs, AttrValue, OpCall
from headrace.ops import Op, Tensor, make_call
from headrace.placement import Placement
from headrace.sizes import Size, Whole
from headrace.tensor_spec import Array, TensorSpec

FOLD_LIMIT_BYTES = 64 << 20
"""A constant larger than this and than all its sources is left to be computed on the device."""

FILLED_UP = 8
"""What packs weights may fill them up by this part of them: it takes the place of its source."""


def fold_limit(source_bytes: int, *, late: bool = False) -> int:
    """The most bytes that are computed of constants while a job is compiled.

    Args:
        source_bytes: of the constants.
        late: by an op that ``folds_late``.
    """
    room = source_bytes // FILLED_UP if late else 0
    return max(FOLD_LIMIT_BYTES, source_bytes + room)


class JobGraphBuilder:
    """Builds one job graph; used by one thread."""

    def __init__(
        self,
        name: str,
        placement: Placement,
        *,
        fold: bool = True,
        fold_late: bool = False,
        empty: Empty = aligned_empty,
        ops: OpSource = CORE_OPS,
    ) -> None:
        """Begin an empty graph.

        Args:
            name: of the job.
            placement: where ops are placed that no ``placed`` block places.
            fold: compute at once what depends on constants alone; without it even an op that takes
                no input is left to its device.
            fold_late: compute also what ops make that say ``folds_late``, and more than one number.
            empty: gives memory for what is computed, or read of lazy constants.
            ops: where the ops that are added are known.
        """
        self.name = name
        self._may_fold = fold
        self._may_fold_late = fold_late
        self._empty = empty
        self._ops_known = ops
        self._placement = placement
        self._default = placement
        self._inputs: list[Tensor] = []
        self._outputs: dict[str, Tensor] = {}
        self._ops: list[JobOp] = []
        self._constants: dict[str, Entry] = {}
        self._variables: dict[str, VariablePart] = {}  # by tensor name
        self._updates: dict[str, Tensor] = {}
        self._hints: dict[str, SbpHint] = {}
        self._tensors: dict[str, TensorSpec] = {}
        self._op_names: set[str] = set()
        self._read: set[str | None] = set()  # what ops read; None for absent inputs
        self._numbers: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)  # by stem
        # Ops by name, and the suffixes of the tensors that each makes.
        self._schemas: dict[str, tuple[type[Op], tuple[str, ...]]] = {}

    @property
    def placement(self) -> Placement:
        """Where the next op is placed."""
        return self._placement

    @contextmanager
    def placed(self, placement: Placement) -> Iterator[None]:
        """Place the ops that are added inside the ``with`` block."""
        before, self._placement = self._placement, placement
        try:
            yield
        finally:
            self._placement = before

    def input(self, name: str, spec: TensorSpec) -> Tensor:
        """Declare what is fed under ``name``.

        Raises:
            GraphError: the name is taken.
        """
        tensor = self._define(name, spec)
        self._inputs.append(tensor)
        return tensor

    def constant(self, value: Entry, name: str | None = None) -> Tensor:
        """Add a tensor whose value is known. ``value`` is kept, not copied: do not write to it.

        One that is lazy is made when its value is asked for, or a device is to have it.

        Raises:
            GraphError: the name is taken.
            DTypeError: its dtype is no tensor dtype.
        """
        if isinstance(value, LazyConstant):
            tensor = self._define(name or self._fresh("constant"), value.spec)
            self._constants[tensor.name] = value.again(self._empty)
            return tensor
        array = np.asarray(value)
        if not array.flags.c_contiguous:
            array = np.ascontiguousarray(array)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        tensor = self._define(name or self._fresh("constant"), TensorSpec.of(array))
        self._constants[tensor.name] = read_only(array)
        return tensor

    def variable(self, variable: Variable) -> Tensor:
        """The tensor that is ``variable``; the same one each time.

        Raises:
            VariableError: the job has a variable of this name that is another.
        """
        for known in self._variables.values():
            if known.variable.name == variable.name:
                for what, here, there in known.variable.differences(variable):
                    raise VariableError(
                        f"job {self.name!r}: variable {variable.name!r} was created with {what} "
                        f"{here} and is now asked for with {there}; it is one variable, so ask for "
                        "it alike, or give the other one another name"
                    )
                return known.tensor
        taken = variable.name in self._tensors
        name = self._fresh(variable.name) if taken else variable.name
        return self.variable_part(
            VariablePart(Tensor(name, variable.spec), variable, 0, variable.placement)
        )

    def variable_part(self, part: VariablePart) -> Tensor:
        """Add a tensor that is a variable or a part of one, under its own name."""
        tensor = self._define(part.tensor.name, part.tensor.spec)
        self._variables[tensor.name] = part
        return tensor

    def update(self, variable: Tensor, value: Tensor) -> None:
        """Let a variable, or the part of one, be ``value`` when the call has ended.

        Raises:
            VariableError: it is no variable, ``value`` has another spec, or there is an update.
            GraphError: ``value`` is no tensor of this graph.
        """
        part = self._variables.get(variable.name)
        if part is None:
            raise VariableError(
                f"job {self.name!r}: {variable.name!r} is no variable, so nothing can be assigned "
                "to it; make one with get_variable"
            )
        who = f"job {self.name!r}: variable {part.variable.name!r}"
        if variable.name in self._updates:
            raise VariableError(
                f"{who} is assigned twice; a call gives it one value, so compute that first"
            )
        if self._tensors.get(value.name) != value.spec:
            raise GraphError(f"{who} is assigned {value.name!r}, which is no tensor of the job")
        if variable.spec != value.spec:
            raise VariableError(
                f"{who} is {variable.spec} and is assigned {value.spec}; cast or reshape the value"
            )
        self._updates[variable.name] = value

    def value(self, tensor: Tensor) -> Array | None:
        """The value of ``tensor`` when it is known while building, else None."""
        entry = self._constants.get(tensor.name)
        return entry.value() if isinstance(entry, LazyConstant) else entry

    def is_known(self, tensor: Tensor) -> bool:
        """Whether the value of ``tensor`` is known while building."""
        return tensor.name in self._constants

    def numbers(self, tensor: Tensor) -> Array | None:
        """The elements of a constant of a few integers, each an ``int`` or a ``Size``; or None.

        For whoever computes shapes: ``value`` knows no symbolic sizes.
        """
        return numbers_of(self._constants.get(tensor.name))

    def progression(self, tensor: Tensor) -> tuple[int, int, int] | None:
        """The first element, the step, and how many; of an ``arange`` of symbolic size."""
        entry = self._constants.get(tensor.name)
        return entry.progression if isinstance(entry, SizedConstant) else None

    def sizes(self, sizes: Sequence[Whole], shape: tuple[int, ...]) -> Tensor:
        """Add a constant of 64-bit integers, of which some may be a ``Size``."""
        scope = next((size.scope for size in sizes if type(size) is Size), None)
        if scope is None:
            return self.constant(np.array(sizes, np.int64).reshape(shape))
        numbers = np.empty(len(sizes), object)
        numbers[:] = sizes
        spec = TensorSpec(shape, int64)
        return self.constant(SizedConstant(spec, scope, numbers.reshape(shape)))

    def forget(self, tensor: Tensor) -> None:
        """Do not hold the value of ``tensor`` any more, if no op reads it.

        For whoever knows that nothing which is added from here on reads it, or returns it: large
        constants that others were folded from are most of the memory of a job under construction.
        """
        if tensor.name not in self._read:
            self._constants.pop(tensor.name, None)

    def op(
        self,
        op: str,
        inputs: Sequence[Tensor | None],
        *,
        outputs: int = 1,
        name: str | None = None,
        location: str = "",
        attrs: Mapping[str, object] = MappingProxyType({}),
        **more_attrs: object,
    ) -> tuple[Tensor, ...]:
        """Check, infer and add an op at the current placement; returns its outputs.

        Attributes are given by keyword, or as the mapping ``attrs``.

        Raises:
            OpError: the op is unknown, or does not take these inputs or attributes.
            GraphError: ``name`` is taken, or an input is not a tensor of this graph.
        """
        schema, suffixes = self._schemas.get(op) or self._schema(op)
        node = name or self._fresh(op, suffixes)
        if name and node in self._op_names:
            raise GraphError(f"job {self.name!r} has two ops called {node!r}")
        self._op_names.add(node)
        specs: list[TensorSpec | None] = []
        read: list[str | None] = []
        for tensor in inputs:
            if tensor is None:
                specs.append(None)
                read.append(None)
                continue
            known = self._tensors.get(tensor.name)
            if known is not tensor.spec and known != tensor.spec:
                raise GraphError(
                    f"{op} {node!r} reads {tensor.name!r}, which is no tensor of job {self.name!r}"
                )
            specs.append(tensor.spec)
            read.append(tensor.name)
        all_attrs = {**attrs, **more_attrs} if more_attrs else attrs
        call = make_call(schema, node, specs, all_attrs, outputs=outputs, location=location)
        self._admit(call)
        return self._enter(call, (*read, *(None,) * (len(call.inputs) - len(read))), suffixes)

    def _enter(
        self, call: OpCall, names: tuple[str | None, ...], suffixes: tuple[str, ...]
    ) -> tuple[Tensor, ...]:
        """Compute a call that is checked, or add it; its name is its own already."""
        folded = self._fold(call, names) if self.folds(call, names) else None
        made_names = tuple([call.name + suffix for suffix in suffixes[: call.output_count]])
        made = tuple(map(self._define, made_names, call.outputs))
        if folded is not None:
            self._constants.update(zip(made_names, folded, strict=True))
        else:
            self._add(JobOp(call, names, made_names, self._placement))
        return made

    def _schema(self, op: str) -> tuple[type[Op], tuple[str, ...]]:
        schema = self._ops_known.op(op).op
        found = schema, tuple([f"/{output.name}" for output in schema.outputs])
        self._schemas[op] = found
        return found

    def _admit(self, call: OpCall) -> None:
        """Raise where ``call`` may be no op of this graph; nothing of it has been computed."""

    def _admit_folded(self, call: OpCall) -> None:
        """Raise where what ``call`` makes of constants is too much to be computed now."""

    def _add(self, op: JobOp) -> None:
        """Add an op that is checked, and not folded; its outputs are defined."""
        self._read.update(op.inputs)
        self._ops.append(op)

    @property
    def op_count(self) -> int:
        """How many ops there are so far; what was folded is none."""
        return len(self._ops)

    def ops_since(self, count: int) -> list[JobOp]:
        """The ops that were added when there were ``count``."""
        return self._ops[count:]

    def reserve(self, names: Iterable[str]) -> None:
        """Keep ``names`` for ops that are adopted later: no op is given one of them by itself."""
        self._op_names.update(names)

    def adopt(self, op: JobOp, inputs: Sequence[str | None]) -> tuple[Tensor, ...]:
        """Add an op of another graph as it is, reading ``inputs``; its names must be free here.

        For passes: the call was checked when it was first added, and is not checked again.
        """
        self._op_names.add(op.call.name)
        wired = tuple(inputs)
        # One that a pass leaves alone is the same object in both graphs: who compares sees it.
        if wired != op.inputs:
            op = JobOp(op.call, wired, op.outputs, op.placement)
        self._read.update(wired)
        self._ops.append(op)
        return tuple(map(self._define, op.outputs, op.call.outputs))

    def exchange(
        self,
        collective: str,
        inputs: Sequence[Tensor],
        outputs: Sequence[TensorSpec],
        attrs: Mapping[str, AttrValue],
        placement: Placement,
    ) -> tuple[Tensor, ...]:
        """Add a collective that the devices of ``placement`` do together; returns its outputs.

        For the compiler, when ops are on one device each: it has one output for each device. See
        ``headrace.device.COLLECTIVES``.
        """
        node = self._fresh(collective, tuple(f"/{index}" for index in range(len(outputs))))
        specs = tuple(tensor.spec for tensor in inputs)
        call = OpCall(collective, node, specs, tuple(outputs), Attrs(attrs), len(outputs))
        made = tuple(f"{node}/{index}" for index in range(len(outputs)))
        op = JobOp(call, tuple(tensor.name for tensor in inputs), made, placement)
        return self.adopt(op, op.inputs)

    def output(self, name: str, tensor: Tensor) -> None:
        """Return ``tensor`` to the caller under ``name``.

        Raises:
            GraphError: another result has this name, or ``tensor`` is of another graph.
        """
        if self._tensors.get(tensor.name) != tensor.spec:
            raise GraphError(
                f"result {name!r} is {tensor.name!r}, which is no tensor of job {self.name!r}; "
                "return what this job computes"
            )
        if name in self._outputs:
            raise GraphError(f"job {self.name!r} has two results called {name!r}")
        self._outputs[name] = tensor

    def hint(self, tensor: Tensor, hint: SbpHint) -> None:
        """Let ``tensor`` lie over its devices as ``hint`` says; said twice, it must be the same.

        What an op makes lies so over the devices of that op; what is fed or constant, over the
        devices of each op that reads it. On one device every hint is met.

        Raises:
            GraphError: it is no tensor of this graph.
            SbpError: it lacks an axis that it is to be split along, or has another distribution
                already; the message has both places.
        """
        if self._tensors.get(tensor.name) != tensor.spec:
            raise GraphError(f"{tensor.name!r} is no tensor of job {self.name!r}")
        hint.check(tensor.name, tensor.spec)
        held = self._variables.get(tensor.name)
        if held is not None:
            if not hint.agrees(SbpHint(held.variable.sbp.axes)):
                raise SbpError(
                    f"{hint.said_of(tensor.name)}; it is variable {held.variable.name!r}, which "
                    f"is distributed as {held.variable.sbp}; say it where the variable is made"
                )
            return
        before = self._hints.setdefault(tensor.name, hint)
        if not before.agrees(hint):
            raise SbpError(
                f"{hint.said_of(tensor.name)}, but before {before.said_of(tensor.name)}; a tensor "
                "has one distribution: apply 'identity' to it for another"
            )

    def hint_of(self, tensor: Tensor) -> tuple[Wish, ...] | None:
        """How ``tensor`` is to lie: its hint, or the variable's own way; None for no wish."""
        if tensor.name in self._variables:
            return self._variables[tensor.name].variable.sbp.axes
        hint = self._hints.get(tensor.name)
        return None if hint is None or set(hint.axes) == {Auto()} else hint.axes

    def finish(self) -> JobGraph:
        """The graph built so far."""
        return JobGraph(
            self.name,
            self._default,
            tuple(self._inputs),
            tuple(self._outputs.items()),
            tuple(self._ops),
            Constants(dict(self._constants), self._tensors),
            tuple(self._variables.values()),
            tuple(self._updates.items()),
            MappingProxyType(dict(self._hints)),
        )

    def folds(self, call: OpCall, names: Sequence[str | None]) -> bool:
        """True when ``op`` computes ``call`` at once: all inputs are known and it is worth it.

        Args:
            call: the complete call.
            names: the tensors it reads; None for an absent optional input.
        """
        if not self._may_fold:
            return False
        for name in names:
            if name is not None and name not in self._constants:
                return False
        entry = self._ops_known.op(call.op)
        late = entry.op.folds_late
        if late and not self._may_fold_late and call.outputs[0].elements > 1:
            return False
        made = sum([spec.nbytes for spec in call.outputs])
        if made > FOLD_LIMIT_BYTES:
            # A source that is read twice counts once, or concatenations of a constant with itself
            # would double it without end.
            read = {name for name in names if name is not None}
            sources = sum(self._constants[name].nbytes for name in read)
            if made > fold_limit(sources, late=late):
                return False
        return entry.computes

    def _fold(self, call: OpCall, names: Sequence[str | None]) -> tuple[Entry, ...]:
        entry = self._ops_known.op(call.op)
        entries = [None if name is None else self._constants[name] for name in names]
        sized = fold_sized(call, entries, partial(folded, entry, aligned_empty))
        lazy = folded_later(entry, self._empty, call, entries) if sized is None else None
        if lazy is not None:
            return lazy
        self._admit_folded(call)
        return folded_now(entry, self._empty, call, entries) if sized is None else sized

    def _define(self, name: str, spec: TensorSpec) -> Tensor:
        if name in self._tensors:
            raise GraphError(f"job {self.name!r} has two tensors called {name!r}")
        self._tensors[name] = spec
        return Tensor(name, spec)

    def _fresh(self, stem: str, suffixes: tuple[str, ...] = ()) -> str:
        """A name that no op or tensor has, also not with a suffix: stem_0, stem_1, ..."""
        numbers, tensors, ops = self._numbers[stem], self._tensors, self._op_names
        while True:
            name = f"{stem}_{next(numbers)}"
            if name in tensors or name in ops:
                continue
            for suffix in suffixes:
                if name + suffix in tensors:
                    break
            else:
                return name
