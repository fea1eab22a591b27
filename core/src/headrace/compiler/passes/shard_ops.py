"""Say a job on many devices as a job each of whose ops runs on one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from headrace.compiler.sharding.boxing import ShardedTensor, box
from headrace.compiler.sharding.layout import lay_out
from headrace.compiler.sharding.signature import choose_signature
from headrace.errors import UnsupportedError
from headrace.graph import JobGraph, JobGraphBuilder, JobOp, OpSource, VariablePart
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.sbp import Broadcast, NdSbp, Split
from headrace.tensor_spec import TensorSpec

NO_HINTS: Mapping[str, NdSbp] = MappingProxyType({})


def shard_ops(graph: JobGraph, ops: OpSource, hints: Mapping[str, NdSbp] = NO_HINTS) -> JobGraph:
    """Replace every op by one for each device of its placement, and box what does not fit.

    Before: ops are placed on any number of devices; tensors are logical. After: ops are placed on
    one device; each part of a tensor is a tensor, and how it got there is ops as well. A graph
    without an op on several devices stays as it is.

    Args:
        graph: the job.
        ops: where its ops are looked up.
        hints: how the user wants tensors to lie over the devices of their op, by name.

    Raises:
        UnsupportedError: an op is placed on another machine, or cannot run as a hint wants it.
    """
    placements = {graph.placement, *(op.placement for op in graph.ops)}
    placements |= {part.placement for part in graph.variables}
    for placement in placements:
        _check_machine(graph, placement)
    if all(placement.parallel_num == 1 for placement in placements):
        return graph
    return _Sharding(graph, ops, hints).run()


class _Sharding:
    def __init__(self, graph: JobGraph, ops: OpSource, hints: Mapping[str, NdSbp]) -> None:
        self._graph = graph
        self._ops = ops
        self._hints = hints
        self._builder = JobGraphBuilder(graph.name, graph.placement.device(0), ops=ops)
        self._inputs = {tensor.name for tensor in graph.inputs}
        self._tensors: dict[str, ShardedTensor] = {}
        self._boxed: dict[tuple[str, NdSbp, Placement], ShardedTensor] = {}
        # Users may name an op or an input as we would name a part of another op.
        self._taken = {op.call.name for op in graph.ops}
        self._taken |= {name.rpartition("/")[0] for name in (*self._inputs, *graph.constants)}
        self._taken |= {*self._inputs, *graph.constants}

    def run(self) -> JobGraph:
        graph, builder = self._graph, self._builder
        homes: dict[str, Placement] = {}
        for op in graph.ops:  # what is fed comes to the first device that reads it
            for name in op.inputs:
                if name is not None:
                    homes.setdefault(name, op.placement.device(0))
        for part in graph.variables:
            self._variable(part)
        nowhere = graph.placement.device(0)
        for tensor in graph.inputs:
            home = homes.get(tensor.name, nowhere)
            self._whole(builder.input(tensor.name, tensor.spec), home)
        for name, value in graph.constants.items():
            self._whole(builder.constant(value, name), homes.get(name, nowhere))
        builder.reserve(op.call.name for op in graph.ops)
        for op in graph.ops:
            self._op(op)
        for name, tensor in graph.outputs:
            source = self._tensors[tensor.name]
            one = source.placement.device(0)
            builder.output(name, box(source, NdSbp.broadcast(1), one, builder).parts[0])
        for name, tensor in graph.updates:
            held = self._tensors[name]
            new = box(self._tensors[tensor.name], held.sbp, held.placement, builder)
            for variable, after in zip(held.parts, new.parts, strict=True):
                builder.update(variable, after)
        return builder.finish()

    def _variable(self, whole: VariablePart) -> None:
        """A variable as the parts that its devices hold, whatever the job does with it."""
        name, variable, placement = whole.tensor.name, whole.variable, whole.placement
        parts = []
        for index, piece in enumerate(
            lay_out(variable.sbp, placement.hierarchy, variable.spec.shape)
        ):
            part = self._part_name(name, index) if placement.parallel_num > 1 else name
            tensor = Tensor(part, variable.spec.with_shape(piece.shape))
            place = placement.device(index)
            parts.append(self._builder.variable_part(VariablePart(tensor, variable, index, place)))
        sharded = ShardedTensor(variable.spec, variable.sbp, placement, tuple(parts))
        self._tensors[name] = sharded

    def _whole(self, tensor: Tensor, home: Placement) -> None:
        whole = ShardedTensor(tensor.spec, NdSbp.broadcast(1), home, (tensor,))
        self._tensors[tensor.name] = whole

    def _op(self, op: JobOp) -> None:
        if op.placement.parallel_num == 1:
            self._keep(op)
        else:
            self._share_out(op)

    def _keep(self, op: JobOp) -> None:
        """An op on one device, reading what is boxed to it."""
        inputs = [self._input(name, NdSbp.broadcast(1), op.placement) for name in op.inputs]
        made = self._builder.adopt(op, [None if t is None else t.parts[0].name for t in inputs])
        for tensor in made:
            self._whole(tensor, op.placement)

    def _share_out(self, op: JobOp) -> None:
        call, placement = op.call, op.placement
        arriving = [self._arriving(name, placement) for name in op.inputs]
        hints = [self._hints.get(name) for name in op.outputs]
        chosen = choose_signature(call, placement.hierarchy, arriving, hints, self._ops)
        inputs = [
            self._input(name, sbp, placement)
            for name, sbp in zip(op.inputs, chosen.inputs, strict=True)
        ]
        pieces = [
            lay_out(sbp, placement.hierarchy, spec.shape)
            for sbp, spec in zip(chosen.outputs, call.outputs, strict=True)
        ]
        schema = self._ops.op(call.op).op
        rows = []
        for index in range(placement.parallel_num):
            specs = [
                spec.with_shape(laid[index].shape)
                for spec, laid in zip(call.outputs, pieces, strict=True)
            ]
            with self._builder.placed(placement.device(index)):
                rows.append(
                    self._builder.op(
                        call.op,
                        [None if t is None else t.parts[index] for t in inputs],
                        outputs=call.output_count,
                        name=self._part_name(call.name, index),
                        location=call.location,
                        attrs=schema.part_attrs(call, specs),
                    )
                )
        for number, (name, spec) in enumerate(zip(op.outputs, call.outputs, strict=True)):
            parts = tuple(row[number] for row in rows)
            self._tensors[name] = ShardedTensor(spec, chosen.outputs[number], placement, parts)

    def _part_name(self, name: str, index: int) -> str:
        part = f"{name}@{index}"
        while part in self._taken:
            part += "'"
        self._taken.add(part)
        return part

    def _arriving(self, name: str | None, placement: Placement) -> NdSbp | None:
        """How a tensor lies on the devices that read it; None when it lies elsewhere.

        What is fed or constant lies nowhere yet: it comes as the user wants it, else weights whole
        and what is fed split along its first axis, the batch.
        """
        if name is None:
            return None
        source = self._tensors[name]
        if name in self._inputs:
            return self._hints.get(name) or _as_batch(source.spec, placement)
        if name in self._graph.constants:
            return self._hints.get(name) or NdSbp.broadcast(len(placement.hierarchy))
        return source.sbp if source.placement == placement else None

    def _input(self, name: str | None, sbp: NdSbp, placement: Placement) -> ShardedTensor | None:
        """A tensor as an op reads it; boxed once for all that read it alike."""
        if name is None:
            return None
        key = (name, sbp, placement)
        if key not in self._boxed:
            self._boxed[key] = box(self._tensors[name], sbp, placement, self._builder)
        return self._boxed[key]


def _as_batch(spec: TensorSpec, placement: Placement) -> NdSbp:
    left = spec.shape[0] if spec.rank else 0
    axes: list[Split | Broadcast] = []
    for count in placement.hierarchy:
        splits = left >= count > 1
        axes.append(Split(0) if splits else Broadcast())
        left = left // count if splits else left
    return NdSbp(tuple(axes))


def _check_machine(graph: JobGraph, placement: Placement) -> None:
    for machine, _ in placement.devices:
        if machine != 0:
            raise UnsupportedError(
                f"job {graph.name!r}: placement '{placement}' is on machine {machine}; "
                "this version runs on one machine, number 0"
            )
