"""Say each op in ops that its device has kernels for, or move it to where it can run."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from headrace.compiler.decision import Decision, Fallback, How
from headrace.device import KernelEntry
from headrace.errors import FallbackWarning, UnsupportedError
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.job_graph import JobGraph, JobOp
from headrace.graph.op_source import OpSource
from headrace.graph.rewriter import GraphRewriter
from headrace.ids import HOST_TAG
from headrace.light_dataclass import dataclass
from headrace.op_call import OpCall
from headrace.ops import Op, Tensor, make_call
from headrace.ops.widening import widened
from headrace.placement import Placement
from headrace.registry.registry import BackendRegistry
from headrace.registry.tables import Backend
from headrace.tensor_spec import Array

HOST = Placement.of_device(HOST_TAG)
"""Where ops run that their own device cannot run, if that is allowed."""


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """The lowered graph, and one decision for each op of the graph before."""

    graph: JobGraph
    decisions: tuple[Decision, ...]


def lower_ops(
    graph: JobGraph, registry: BackendRegistry, fallback: Fallback = Fallback.ERROR
) -> Lowered:
    """Replace every op without a kernel on its device by the ops it decomposes into.

    Before: any ops. After: the device of every op has a kernel for it. Ops that have one keep
    their names. An op that cannot be said in ops of its device is moved to the host's device as a
    whole, if ``fallback`` allows it; its tensors then lie there, and are copied where the device
    needs them. No half of it stays behind.

    Raises:
        UnsupportedError: an op has neither a kernel nor a decomposition whose ops have one, and
            may not be moved, or the host cannot run it either.
        DeviceError: the device of an op cannot be used.
    """
    return _lowered(graph, registry, fallback, collect=False)


def judge_ops(graph: JobGraph, registry: BackendRegistry, fallback: Fallback) -> Lowered:
    """As ``lower_ops``, but goes on where it would refuse: such an op is ``unsupported``.

    The graph can then not be compiled further; the decisions say all that is missing.
    """
    return _lowered(graph, registry, fallback, collect=True)


def runs_on(call: OpCall, backend: Backend, ops: OpSource) -> bool:
    """True when a device has a kernel for ``call``, or kernels for what it decomposes into."""
    if backend.kernels.select(call) is not None:
        return True
    trial = JobGraphBuilder("trial", Placement.of_device(backend.tag), ops=ops)
    inputs = [
        None if spec is None else trial.input(str(index), spec)
        for index, spec in enumerate(call.inputs)
    ]
    try:
        _Decomposition(trial, backend, call, ops).decompose(call, inputs)
    except _CannotRunError:
        return False
    return True


class _CannotRunError(UnsupportedError):
    """A device cannot run an op; ``reason`` says it without the op's place and without advice."""

    def __init__(self, origin: OpCall, reason: str) -> None:
        super().__init__(
            f"{origin}: {reason}. Cast the inputs, place the op on another device, or allow a "
            "fallback"
        )
        self.reason = reason


def _lowered(
    graph: JobGraph, registry: BackendRegistry, fallback: Fallback, *, collect: bool
) -> Lowered:
    kept = [_as_it_is(op, registry) for op in graph.ops]
    if None in kept:
        return _Lowering(graph, kept, registry, fallback, collect=collect).run()
    return Lowered(graph, tuple(filter(None, kept)))


def _as_it_is(op: JobOp, registry: BackendRegistry) -> Decision | None:
    """The decision for an op that its device has a kernel for; None for all others."""
    if op.placement.parallel_num > 1:
        return None
    entry = registry.backend(op.placement.tag).kernels.select(op.call)
    if entry is None:
        return None
    call, kernels = op.call, ((op.call.op, entry),)
    return Decision(call, op.placement, op.placement, How.KERNEL, (call.name,), kernels)


class _Lowering:
    """Makes the new graph, op by op."""

    def __init__(
        self,
        graph: JobGraph,
        kept: Sequence[Decision | None],
        registry: BackendRegistry,
        fallback: Fallback,
        *,
        collect: bool,
    ) -> None:
        self._graph = graph
        self._kept = kept
        self._registry = registry
        self._fallback = fallback
        self._collect = collect
        lowered = {
            op.call.name for op, decision in zip(graph.ops, kept, strict=True) if decision is None
        }
        self._rewriter = GraphRewriter(graph, without=lowered, ops=registry)
        self._rewriter.reserve(lowered)  # for those that are moved as they are
        self._decisions: list[Decision] = []

    def run(self) -> Lowered:
        for op, decision in zip(self._graph.ops, self._kept, strict=True):
            if decision is None:
                self._lower(op)
            else:
                self._rewriter.keep(op)
                self._decisions.append(decision)
        return Lowered(self._rewriter.finish(), tuple(self._decisions))

    def _lower(self, op: JobOp) -> None:
        if op.placement.parallel_num > 1:
            self._exchange(op)
            return
        try:
            self._place(op, op.placement, How.KERNEL, "")
        except _CannotRunError as error:
            if self._fallback is not Fallback.ERROR and op.placement.tag != HOST.tag:
                self._move(op, error)
            elif self._collect:
                self._give_up(op, error.reason)
            else:
                raise

    def _exchange(self, op: JobOp) -> None:
        """A collective was put in because the plugin offers it."""
        entry = self._registry.backend(op.placement.tag).collectives.select(op.call)
        assert entry is not None, f"{op.call} is not offered any more"
        self._rewriter.keep(op)
        kernels = ((op.call.op, entry),)
        self._decisions.append(
            Decision(op.call, op.placement, op.placement, How.KERNEL, (op.call.name,), kernels)
        )

    def _move(self, op: JobOp, cause: _CannotRunError) -> None:
        """Place ``op`` on the host."""
        try:
            host = replace(HOST, devices=((op.placement.devices[0][0], 0),))
            self._place(op, host, How.FALLBACK, cause.reason)
        except _CannotRunError as error:
            both = f"{cause.reason}; nor can it fall back: {error.reason}"
            if not self._collect:
                raise _CannotRunError(op.call, both) from error
            self._give_up(op, both)
            return
        if self._fallback is Fallback.WARN:
            message = f"{op.call} falls back to {HOST.tag!r}: {cause.reason}"
            warnings.warn(message, FallbackWarning, stacklevel=2)

    def _place(self, op: JobOp, placement: Placement, how: How, why: str) -> None:
        """Add ``op`` on ``placement``, as it is or decomposed."""
        backend = self._registry.backend(placement.tag)
        entry = backend.kernels.select(op.call)
        if entry is not None:
            self._rewriter.keep(replace(op, placement=placement))
            ops: tuple[str, ...] = (op.call.name,)
            kernels: tuple[tuple[str, KernelEntry], ...] = ((op.call.op, entry),)
        else:
            with self._rewriter.placed(placement):
                parts = _Decomposition(self._rewriter, backend, op.call, self._registry)
                self._rewriter.put(op, parts.decompose(op.call, self._rewriter.read_by(op)))
            ops, kernels = tuple(parts.names), tuple(parts.kernels)
            if how is How.KERNEL:
                how, why = How.DECOMPOSED, _lacks(backend, op.call, self._registry)
        self._decisions.append(Decision(op.call, op.placement, placement, how, ops, kernels, why))

    def _give_up(self, op: JobOp, reason: str) -> None:
        self._rewriter.keep(op)
        self._decisions.append(
            Decision(op.call, op.placement, op.placement, How.UNSUPPORTED, (), (), reason)
        )


class _Decomposition:
    """The builder that decompositions write to: lowers each op until the device has a kernel.

    Attributes:
        names, kernels: of the ops that were added, in order.
    """

    def __init__(
        self, builder: JobGraphBuilder, backend: Backend, origin: OpCall, known: OpSource
    ) -> None:
        self._builder = builder
        self._op_source = known
        self._backend = backend
        self._origin = origin
        self.names: list[str] = []
        self.kernels: list[tuple[str, KernelEntry]] = []

    def constant(self, value: Array) -> Tensor:
        return self._builder.constant(value)

    def op(
        self, op: str, inputs: Sequence[Tensor | None], *, outputs: int = 1, **attrs: object
    ) -> tuple[Tensor, ...]:
        specs = [None if tensor is None else tensor.spec for tensor in inputs]
        call = make_call(
            self._op_source.op(op).op, self._origin.name, specs, attrs, outputs=outputs
        )
        names = [None if tensor is None else tensor.name for tensor in inputs]
        entry = self._backend.kernels.select(call)
        folds = self._builder.folds(call, names)
        if entry is None and not folds:
            return self.decompose(call, inputs)
        location = self._origin.location or self._origin.name
        made = self._builder.op(op, inputs, outputs=outputs, location=location, attrs=attrs)
        if entry is not None and not folds:
            self.names.append(made[0].name.rpartition("/")[0])
            self.kernels.append((op, entry))
        return made

    def decompose(self, call: OpCall, inputs: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
        op = self._op_source.op(call.op).op
        made = op.decompose(call, inputs, self)
        if made is None:
            made = widened(op, call, inputs, self)
        if made is None:
            self._refuse(call)
        return made

    def _refuse(self, call: OpCall) -> NoReturn:
        origin = self._origin
        within = "" if call.op == origin.op else f" (needed by {origin} of {_given(origin)})"
        raise _CannotRunError(
            origin,
            f"device {self._backend.tag!r} cannot run {_form(call)}{within}; "
            f"{_lacks(self._backend, call, self._op_source)}",
        )


def _form(call: OpCall) -> str:
    """What was asked for; results where the inputs do not tell their dtypes, as in a cast."""
    read = {spec.dtype for spec in call.inputs if spec is not None}
    told = all(spec.dtype in read for spec in call.outputs)
    given = f" of {_given(call)}" if call.inputs else ""
    return call.op + given + ("" if told else f" giving {', '.join(map(str, call.outputs))}")


def _given(call: OpCall) -> str:
    return ", ".join("absent" if spec is None else str(spec) for spec in call.inputs)


def _lacks(backend: Backend, call: OpCall, known: OpSource) -> str:
    """What the device has for an op that it has no kernel for in this form."""
    entries = backend.kernels.entries(call.op)
    if entries:
        return f"it has {call.op} for " + ", ".join(sorted({str(e.match) for e in entries}))
    op = known.op(call.op).op
    if op.decompose.__func__ is Op.decompose.__func__:  # type: ignore[attr-defined]
        return f"it has no kernel for {call.op!r} at all, and {call.op!r} has no decomposition"
    return f"it has no kernel for {call.op!r}"
