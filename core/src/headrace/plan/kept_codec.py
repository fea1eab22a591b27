"""``SavedPlan`` to bytes and back, for a process that runs the very code that wrote it.

Such a process needs no message that other versions can read; and to import protobuf took it longer
than all else that it does with a small plan. So these bytes are tuples, as ``marshal`` writes them:
the fields of the records of a plan, in their order. What many tasks have in common, specs,
attributes and names of kernels, is there once and shared when it is read. Equal plans give equal
bytes.

``marshal`` trusts what it reads. Whoever reads such bytes has compared a digest of them, and knows
that they are of the same code.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable
from typing import Any

from headrace.dtypes import DType, from_number
from headrace.errors import HeadraceError, PlanError
from headrace.graph.variable import Variable
from headrace.ids import TASK_INDEX_BITS, DeviceTypes, KernelName, StreamId, TaskId
from headrace.initializer import Initializer
from headrace.memory_case import MemoryCase
from headrace.op_call import Attrs, AttrValue, OpCall
from headrace.placement import Placement
from headrace.plan.model import (
    ActorDesc,
    ChunkDesc,
    CriticalSection,
    JobDesc,
    JobKind,
    Plan,
    RegisterDesc,
    TaskDesc,
    TaskKind,
    VariableDesc,
)
from headrace.plan.saved import (
    PassRun,
    PluginVersion,
    Port,
    SavedPlan,
    Source,
    Versions,
    Weight,
)
from headrace.sbp import NdSbp
from headrace.tensor_spec import TensorSpec

EQUAL_FOR_EQUAL = 2
"""The version of ``marshal`` that looks at values alone, not at which of them are one object."""

_Fields = tuple[Any, ...]


def encode_kept(saved: SavedPlan) -> bytes:
    """A plan as bytes.

    Raises:
        PlanError: something in it is no plain value.
    """
    writer = _Writer()
    fields = writer.saved(saved)
    try:
        common = list(writer.specs), writer.attrs, list(writer.kernels)
        return marshal.dumps((*common, fields), EQUAL_FOR_EQUAL)
    except ValueError as error:
        raise PlanError(f"plan {saved.plan.name!r} cannot be kept: {error}") from error


def decode_kept(data: bytes) -> SavedPlan:
    """The inverse of ``encode_kept``.

    Raises:
        PlanError: these are no such bytes.
    """
    try:
        specs, attrs, kernels, fields = marshal.loads(data)
        return _Reader(specs, attrs, kernels).saved(*fields)
    except (HeadraceError, EOFError, LookupError, TypeError, ValueError) as error:
        raise PlanError(f"the header is corrupt, or of other code: {error}") from error


class _Writer:
    """Takes records apart.

    Attributes:
        specs, attrs, kernels: what was met of each, in order; records have their positions.
    """

    def __init__(self) -> None:
        self.specs: dict[tuple[tuple[int, ...], int], int] = {}
        self.attrs: list[_Fields] = []
        self.kernels: dict[KernelName | None, int] = {}
        self._places: dict[str, int] = {}

    def saved(self, saved: SavedPlan) -> _Fields:
        """The fields of all of it."""
        versions = saved.versions
        return (
            (versions.core, versions.api, [tuple(plugin) for plugin in versions.plugins]),
            [(port.name, self._spec(port.spec)) for port in saved.inputs],
            [(port.name, self._spec(port.spec)) for port in saved.outputs],
            [self._weight(weight) for weight in saved.fixed],
            [self._weight(weight) for weight in saved.weights],
            [tuple(source) for source in saved.sources],
            [(p.tag, p.name, p.origin, p.changed, p.ops_before, p.ops_after) for p in saved.passes],
            self._plan(saved.plan),
        )

    def _plan(self, plan: Plan) -> _Fields:
        return (
            plan.name,
            dict(plan.device_types.items()),
            [(job.name, job.kind.value, job.serves, job.width) for job in plan.jobs],
            [self._task(task) for task in plan.tasks],
            [(r.name, self._spec(r.spec), *r[2:]) for r in plan.registers],
            [(actor.stream_id.packed(), *actor[1:]) for actor in plan.actors],
            [(_memory(chunk.memory), chunk.nbytes) for chunk in plan.chunks],
            [(self._variable(desc.variable), *desc[1:]) for desc in plan.variables],
            [tuple(section) for section in plan.sections],
        )

    def _task(self, task: TaskDesc) -> _Fields:
        call = None if task.call is None else self._call(task.call)
        sbp = "" if task.sbp is None else str(task.sbp)
        kind = task.kind.value
        kernel = self.kernels.setdefault(task.kernel, len(self.kernels))
        return (task.task_id.packed(), task.name, kind, *task[3:8], call, sbp, *task[10:14], kernel)

    def _call(self, call: OpCall) -> _Fields:
        return (
            call.op,
            call.name,
            tuple([None if spec is None else self._spec(spec) for spec in call.inputs]),
            tuple([self._spec(spec) for spec in call.outputs]),
            self._attributes(call.attrs),
            call.output_count,
            call.location,
        )

    def _variable(self, variable: Variable) -> _Fields:
        place, rule = variable.placement, variable.initializer
        return (
            variable.name,
            self._spec(variable.spec),
            (place.tag, place.devices, place.hierarchy),
            str(variable.sbp),
            (rule.name, self._attributes(rule.attrs)),
            variable.seed,
            variable.trainable,
        )

    def _weight(self, weight: Weight) -> _Fields:
        return (weight.name, self._spec(weight.spec), weight.source, weight.offset)

    def _spec(self, spec: TensorSpec) -> int:
        return self.specs.setdefault((spec.shape, spec.dtype.number), len(self.specs))

    def _attributes(self, attrs: Attrs) -> int:
        place = self._places.setdefault(attrs.form, len(self.attrs))
        if place == len(self.attrs):
            self.attrs.append(tuple((name, _plain(value)) for name, value in attrs.items()))
        return place


class _Reader:
    """Puts records together."""

    def __init__(
        self,
        specs: Iterable[tuple[tuple[int, ...], int]],
        attrs: Iterable[Iterable[tuple[str, Any]]],
        kernels: list[KernelName | None],
    ) -> None:
        self._specs = [TensorSpec(shape, from_number(number)) for shape, number in specs]
        self._attrs = [Attrs({name: _value(value) for name, value in each}) for each in attrs]
        self._kernels = kernels
        self._streams: dict[int, StreamId] = {}
        self._sbps: dict[str, NdSbp | None] = {"": None}

    def saved(
        self,
        versions: _Fields,
        inputs: list[_Fields],
        outputs: list[_Fields],
        fixed: list[_Fields],
        weights: list[_Fields],
        sources: list[_Fields],
        passes: list[_Fields],
        plan: _Fields,
    ) -> SavedPlan:
        """What had these fields."""
        specs = self._specs
        core, api, plugins = versions
        return SavedPlan(
            Versions(core, api, tuple([PluginVersion(*each) for each in plugins])),
            tuple([Port(name, specs[spec]) for name, spec in inputs]),
            tuple([Port(name, specs[spec]) for name, spec in outputs]),
            tuple([Weight(name, specs[spec], *rest) for name, spec, *rest in fixed]),
            tuple([Weight(name, specs[spec], *rest) for name, spec, *rest in weights]),
            tuple([Source(*each) for each in sources]),
            tuple([PassRun(*each) for each in passes]),
            self._plan(*plan),
        )

    def _plan(
        self,
        name: str,
        types: dict[str, int],
        jobs: list[_Fields],
        tasks: list[_Fields],
        registers: list[_Fields],
        actors: list[_Fields],
        chunks: list[_Fields],
        variables: list[_Fields],
        sections: list[_Fields],
    ) -> Plan:
        specs = self._specs
        return Plan(
            name,
            DeviceTypes(types),
            tuple([JobDesc(job, JobKind(kind), *rest) for job, kind, *rest in jobs]),
            tuple([self._task(*each) for each in tasks]),
            tuple([RegisterDesc(called, specs[spec], *rest) for called, spec, *rest in registers]),
            tuple([ActorDesc(self._stream(packed), *rest) for packed, *rest in actors]),
            tuple([ChunkDesc(MemoryCase(*memory), nbytes) for memory, nbytes in chunks]),
            tuple([VariableDesc(self._variable(*each), *rest) for each, *rest in variables]),
            tuple([CriticalSection(*each) for each in sections]),
        )

    def _task(
        self,
        packed: int,
        name: str,
        kind: str,
        job: int,
        actor: Any,
        inputs: Any,
        outputs: Any,
        workspace: Any,
        call: _Fields | None,
        sbp: str,
        foreign_name: str,
        in_place: Any,
        control_inputs: Any,
        control_outputs: Any,
        kernel: int,
    ) -> TaskDesc:
        stream = self._stream(packed >> TASK_INDEX_BITS)
        if sbp not in self._sbps:
            self._sbps[sbp] = NdSbp.parse(sbp)
        return TaskDesc(
            TaskId(stream, packed & (1 << TASK_INDEX_BITS) - 1),
            name,
            TaskKind(kind),
            job,
            actor,
            inputs,
            outputs,
            workspace,
            None if call is None else self._call(*call),
            self._sbps[sbp],
            foreign_name,
            in_place,
            control_inputs,
            control_outputs,
            self._kernels[kernel],
        )

    def _call(
        self,
        op: str,
        name: str,
        inputs: tuple[int | None, ...],
        outputs: tuple[int, ...],
        attrs: int,
        output_count: int,
        location: str,
    ) -> OpCall:
        specs = self._specs
        return OpCall(
            op,
            name,
            tuple([None if spec is None else specs[spec] for spec in inputs]),
            tuple([specs[spec] for spec in outputs]),
            self._attrs[attrs],
            output_count,
            location,
        )

    def _variable(
        self,
        name: str,
        spec: int,
        place: _Fields,
        sbp: str,
        rule: tuple[str, int],
        seed: int,
        trainable: bool,
    ) -> Variable:
        called, attrs = rule
        return Variable(
            name,
            self._specs[spec],
            Placement(*place),
            NdSbp.parse(sbp),
            Initializer(called, self._attrs[attrs]),
            seed,
            trainable,
        )

    def _stream(self, packed: int) -> StreamId:
        if packed not in self._streams:
            self._streams[packed] = StreamId.unpack(packed)
        return self._streams[packed]


def _memory(memory: MemoryCase) -> _Fields:
    return (
        memory.tag,
        memory.device_index,
        memory.kind,
        memory.pinned_for,
        memory.used_by_network,
        memory.machine,
    )


def _plain(value: AttrValue) -> object:
    """A dtype as its number in a byte: no other attribute is bytes."""
    return bytes([value.number]) if isinstance(value, DType) else value


def _value(plain: Any) -> AttrValue:
    value: AttrValue = from_number(plain[0]) if isinstance(plain, bytes) else plain
    return value
