"""Say each op in ops that its device has kernels for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from headrace.compiler.job_graph import JobGraph, JobGraphBuilder
from headrace.errors import UnsupportedError
from headrace.op_call import OpCall
from headrace.ops import Tensor, get_op, make_call
from headrace.registry.registry import BackendRegistry
from headrace.registry.tables import Backend
from headrace.tensor_spec import Array


def lower_ops(graph: JobGraph, registry: BackendRegistry) -> JobGraph:
    """Replace every op without a kernel on its device by the ops it decomposes into.

    Before: any ops. After: the device of every op has a kernel for it. Ops that have one keep
    their names.

    Raises:
        UnsupportedError: an op has neither a kernel nor a decomposition whose ops have one.
        DeviceError: the device of an op cannot be used.
    """
    backends = {op.placement.tag: registry.backend(op.placement.tag) for op in graph.ops}
    if all(backends[op.placement.tag].kernels.select(op.call) for op in graph.ops):
        return graph
    builder = JobGraphBuilder(graph.name, graph.placement)
    known: dict[str, Tensor] = {t.name: builder.input(t.name, t.spec) for t in graph.inputs}
    for name, value in graph.constants.items():
        known[name] = builder.constant(value, name)
    builder.reserve(op.call.name for op in graph.ops)
    for op in graph.ops:
        inputs = [None if name is None else known[name] for name in op.inputs]
        backend = backends[op.placement.tag]
        if backend.kernels.select(op.call):
            names = [None if t is None else t.name for t in inputs]
            known.update(zip(op.outputs, builder.adopt(op, names), strict=True))
            continue
        with builder.placed(op.placement):
            lowered = _Lowering(builder, backend, op.call).decompose(op.call, inputs)
        known.update(zip(op.outputs, lowered, strict=True))
    for result, tensor in graph.outputs:
        builder.output(result, known[tensor.name])
    return builder.finish()


class _Lowering:
    """The builder that decompositions write to: lowers each op until the device has a kernel."""

    def __init__(self, builder: JobGraphBuilder, backend: Backend, origin: OpCall) -> None:
        self._builder = builder
        self._backend = backend
        self._origin = origin

    def constant(self, value: Array) -> Tensor:
        return self._builder.constant(value)

    def op(
        self, op: str, inputs: Sequence[Tensor | None], *, outputs: int = 1, **attrs: object
    ) -> tuple[Tensor, ...]:
        specs = [None if tensor is None else tensor.spec for tensor in inputs]
        call = make_call(get_op(op), self._origin.name, specs, attrs, outputs=outputs)
        names = [None if tensor is None else tensor.name for tensor in inputs]
        if self._backend.kernels.select(call) or self._builder.folds(call, names):
            location = self._origin.location or self._origin.name
            return self._builder.op(op, inputs, outputs=outputs, location=location, attrs=attrs)
        return self.decompose(call, inputs)

    def decompose(self, call: OpCall, inputs: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
        made = get_op(call.op).decompose(call, inputs, self)
        if made is None:
            self._refuse(call)
        return made

    def _refuse(self, call: OpCall) -> NoReturn:
        backend, origin = self._backend, self._origin
        given = "of " + ", ".join("absent" if spec is None else str(spec) for spec in call.inputs)
        if not call.inputs:
            given = "giving " + ", ".join(map(str, call.outputs))
        within = "" if call.op == origin.op else f" (needed by {origin})"
        entries = backend.kernels.entries(call.op)
        if entries:
            has = f"it has {call.op} for " + ", ".join(sorted({str(e.match) for e in entries}))
        else:
            has = f"it has no kernel for {call.op!r} at all, and {call.op!r} has no decomposition"
        raise UnsupportedError(
            f"{origin}: device {backend.tag!r} cannot run {call.op} {given}{within}; {has}. "
            "Cast the inputs, or place the op on another device"
        )
