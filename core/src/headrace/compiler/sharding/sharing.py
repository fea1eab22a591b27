"""Every op of a job shared out over its devices, and tensors brought to where they are read."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from headrace.compiler.sharding.boxing import Boxed, box
from headrace.compiler.sharding.layout import Piece, lay_out
from headrace.compiler.sharding.log import BoxedTensor
from headrace.compiler.sharding.sharded import ShardedTensor
from headrace.compiler.sharding.signature import (
    Arrival,
    WantedOutput,
    check_axes,
    choose_signature,
)
from headrace.compiler.sharding.topology import CALLER, COST, Topology
from headrace.device import COLLECTIVES
from headrace.errors import SbpError
from headrace.graph import Auto, JobGraph, JobGraphBuilder, JobOp, OpSource, VariablePart
from headrace.graph.constants import entries_of
from headrace.light_dataclass import dataclass
from headrace.op_call import OpCall
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.sbp import Broadcast, NdSbp, Split
from headrace.tensor_spec import Array, TensorSpec


class Sharing:
    """Makes the new graph, op by op; used once."""

    def __init__(self, graph: JobGraph, ops: OpSource, topology: Topology) -> None:
        self._graph = graph
        self._ops = ops
        self._topology = topology
        self._builder = JobGraphBuilder(graph.name, graph.placement.device(0), ops=ops)
        self._inputs = {tensor.name for tensor in graph.inputs}
        self._tensors: dict[str, ShardedTensor] = {}
        self._laid: dict[tuple[str, Placement], ShardedTensor] = {}  # what is fed, as hinted
        self._boxed: dict[tuple[str, NdSbp, Placement], _Delivery] = {}
        self._log: list[_Delivery] = []
        self._arrived: set[tuple[str, Placement | int]] = set()
        # Users may name an op or an input as we would name a part of another op.
        self._taken = {op.call.name for op in graph.ops}
        self._taken |= {name.rpartition("/")[0] for name in (*self._inputs, *graph.constants)}
        self._taken |= {*self._inputs, *graph.constants}

    def run(self) -> tuple[JobGraph, tuple[BoxedTensor, ...]]:
        """The job on single devices, and what boxing did, in the order of the job.

        Raises:
            SbpError: a tensor cannot lie as a hint wants it.
        """
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
            self._whole(builder.input(tensor.name, tensor.spec), home, is_fed=True)
        for name, value in entries_of(graph.constants).items():
            self._whole(builder.constant(value, name), homes.get(name, nowhere), is_fed=True)
        builder.reserve(op.call.name for op in graph.ops)
        for op in graph.ops:
            self._op(op)
        for name, tensor in graph.outputs:
            source = self._tensors[tensor.name]
            one, whole = source.placement.device(0), NdSbp.broadcast(1)
            delivered = self._deliver(tensor.name, source, whole, one, f"result {name}")
            builder.output(name, delivered.parts[0])
        for name, tensor in graph.updates:
            held, new = self._tensors[name], self._tensors[tensor.name]
            placed = self._deliver(tensor.name, new, held.sbp, held.placement, f"variable {name}")
            for variable, after in zip(held.parts, placed.parts, strict=True):
                builder.update(variable, after)
        return builder.finish(), tuple(delivery.record() for delivery in self._log)

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

    def _whole(self, tensor: Tensor, home: Placement, *, is_fed: bool = False) -> None:
        whole = ShardedTensor(tensor.spec, NdSbp.broadcast(1), home, (tensor,), is_fed)
        self._tensors[tensor.name] = whole

    def _op(self, op: JobOp) -> None:
        if op.placement.parallel_num == 1:
            self._keep(op)
        elif op.call.op in COLLECTIVES:
            self._keep_exchange(op)
        else:
            self._share_out(op)

    def _keep(self, op: JobOp) -> None:
        """An op on one device, reading what is boxed to it."""
        inputs = [self._input(name, NdSbp.broadcast(1), op) for name in op.inputs]
        made = self._builder.adopt(op, [None if t is None else t.parts[0].name for t in inputs])
        for tensor in made:
            self._whole(tensor, op.placement)

    def _keep_exchange(self, op: JobOp) -> None:
        """A collective that is there already: each input lies on its device, and each output."""
        names = [n if n is None else self._tensors[n].parts[0].name for n in op.inputs]
        for index, tensor in enumerate(self._builder.adopt(op, names)):
            self._whole(tensor, op.placement.device(index))

    def _share_out(self, op: JobOp) -> None:
        call, placement = op.call, op.placement
        chosen = choose_signature(
            call,
            placement.hierarchy,
            [self._arriving(name, op) for name in op.inputs],
            [self._wanted(name) for name in op.outputs],
            self._ops,
        )
        inputs = [
            self._input(name, sbp, op) for name, sbp in zip(op.inputs, chosen.inputs, strict=True)
        ]
        pieces = [
            lay_out(sbp, placement.hierarchy, spec.shape)
            for sbp, spec in zip(chosen.outputs, call.outputs, strict=True)
        ]
        rows = [
            self._part(op, index, inputs, [laid[index] for laid in pieces])
            for index in range(placement.parallel_num)
        ]
        for number, (name, spec) in enumerate(zip(op.outputs, call.outputs, strict=True)):
            parts = tuple(row[number] for row in rows)
            self._tensors[name] = ShardedTensor(spec, chosen.outputs[number], placement, parts)

    def _part(
        self,
        op: JobOp,
        index: int,
        inputs: Sequence[ShardedTensor | None],
        pieces: Sequence[Piece],
    ) -> Sequence[Tensor]:
        """What one device makes of its parts."""
        call, schema = op.call, self._ops.op(op.call.op).op
        read = [None if t is None else t.parts[index] for t in inputs]
        boxes = [None if t is None else t.pieces[index].box for t in inputs]
        specs = [
            spec.with_shape(piece.shape) for spec, piece in zip(call.outputs, pieces, strict=True)
        ]
        with self._builder.placed(op.placement.device(index)):
            said = schema.decompose_part(call, boxes, read, _Located(self._builder, call))
            if said is not None:
                return said
            return self._builder.op(
                call.op,
                read,
                outputs=call.output_count,
                name=self._part_name(call.name, index),
                location=call.location,
                attrs=schema.part_attrs(call, specs),
            )

    def _part_name(self, name: str, index: int) -> str:
        part = f"{name}@{index}"
        while part in self._taken:
            part += "'"
        self._taken.add(part)
        return part

    def _wanted(self, name: str) -> WantedOutput | None:
        hint = self._graph.hints.get(name)
        return None if hint is None else WantedOutput(name, hint)

    def _arriving(self, name: str | None, op: JobOp) -> Arrival:
        """How a tensor lies on the devices that read it, and over which link it comes.

        What is fed or constant lies nowhere yet: it comes as the user wants it, else weights whole
        and what is fed split along its first axis, the batch.
        """
        if name is None:
            return Arrival(None)
        source, placement = self._source(name, op), op.placement
        first, other = placement.device(0), placement.device(1)
        if source.placement == placement:
            return Arrival(source.sbp, COST[self._topology.link(first, other)])
        if name in self._inputs:
            return Arrival(
                _as_batch(source.spec, placement), COST[self._topology.link(CALLER, first)]
            )
        if name in self._graph.constants:
            whole = NdSbp.broadcast(len(placement.hierarchy))
            return Arrival(whole, COST[self._topology.link(CALLER, first)])
        there = source.placement.device(0)
        away = next(d for d in (first, other) if d != there)
        return Arrival(None, COST[self._topology.link(there, away)])

    def _source(self, name: str, op: JobOp) -> ShardedTensor:
        """A tensor as it lies before ``op`` reads it: what is fed lies as its hint says."""
        hint, whole, placement = self._graph.hints.get(name), self._tensors[name], op.placement
        if hint is None or not whole.is_fed or placement.parallel_num == 1:
            return whole
        if all(isinstance(wish, Auto) for wish in hint.axes):
            return whole
        if (name, placement) not in self._laid:
            check_axes(name, hint, str(op.call), placement.hierarchy)
            sbp = hint.or_whole()
            for piece in lay_out(sbp, placement.hierarchy, whole.spec.shape):
                if piece.is_empty and whole.spec.elements:
                    raise SbpError(
                        f"{hint.said_of(name)} for {op.call}, which runs on '{placement}'; of "
                        f"{whole.spec} that leaves a device without elements"
                    )
            boxed = box(whole, sbp, placement, self._builder, self._topology, self._arrived)
            self._log.append(_Delivery(name, whole, boxed, [op.call.name]))
            self._laid[name, placement] = boxed.tensor
        return self._laid[name, placement]

    def _input(self, name: str | None, sbp: NdSbp, op: JobOp) -> ShardedTensor | None:
        """A tensor as an op reads it."""
        if name is None:
            return None
        return self._deliver(name, self._source(name, op), sbp, op.placement, op.call.name)

    def _deliver(
        self, name: str, source: ShardedTensor, sbp: NdSbp, placement: Placement, reader: str
    ) -> ShardedTensor:
        """A tensor laid as a reader wants it; boxed once for all that read it alike."""
        key = (name, sbp, placement)
        found = self._boxed.get(key)
        if found is None:
            boxed = box(source, sbp, placement, self._builder, self._topology, self._arrived)
            found = self._boxed[key] = _Delivery(name, source, boxed, [])
            self._log.append(found)
        if reader not in found.readers:
            found.readers.append(reader)
        return found.boxed.tensor


@dataclass(slots=True)
class _Delivery:
    """A tensor that was boxed, and who reads it so."""

    name: str
    source: ShardedTensor
    boxed: Boxed
    readers: list[str]

    def record(self) -> BoxedTensor:
        made = self.boxed.tensor
        return BoxedTensor(
            self.name,
            tuple(self.readers),
            self.source.sbp,
            self.source.placement,
            made.sbp,
            made.placement,
            self.boxed.rule,
            MappingProxyType(dict(self.boxed.received)),
        )


class _Located:
    """The builder, for ops that one part of an op is said in: they stand where it stands."""

    def __init__(self, builder: JobGraphBuilder, origin: OpCall) -> None:
        self._builder = builder
        self._location = origin.location or origin.name

    def constant(self, value: Array) -> Tensor:
        return self._builder.constant(value)

    def op(
        self, op: str, inputs: Sequence[Tensor | None], *, outputs: int = 1, **attrs: object
    ) -> tuple[Tensor, ...]:
        return self._builder.op(op, inputs, outputs=outputs, location=self._location, attrs=attrs)


def _as_batch(spec: TensorSpec, placement: Placement) -> NdSbp:
    left = spec.shape[0] if spec.rank else 0
    axes: list[Split | Broadcast] = []
    for count in placement.hierarchy:
        splits = left >= count > 1
        axes.append(Split(0) if splits else Broadcast())
        left = left // count if splits else left
    return NdSbp(tuple(axes))
