"""Plan to bytes and back. With the other codecs of this package alone in seeing protobuf types.

The bytes are ``MAGIC``, the CRC-32 of the message (4 bytes, little endian), and the message
``headrace.proto.Plan``: a protobuf message alone does not show that its end is missing. Equal plans
give equal bytes.

Reading a plan is part of every start from a file, so it is kept short: what tasks have in common is
decoded once and shared.
"""

from __future__ import annotations

import zlib
from typing import Any

from google.protobuf.message import DecodeError

from headrace.errors import HeadraceError, PlanError
from headrace.ids import TASK_INDEX_BITS, DeviceTypes, StreamId, TaskId
from headrace.op_call import OpCall
from headrace.plan.codec_values import (
    ValueReader,
    ValueWriter,
    memory_message,
    read_memory,
    read_variable,
    variable_message,
)
from headrace.plan.model import (
    FORMAT_VERSION,
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
from headrace.proto import plan_pb2 as pb
from headrace.sbp import NdSbp

MAGIC = b"HRPL"
_HEADER_BYTES = len(MAGIC) + 4
_JOB_KINDS = {kind: getattr(pb, f"JOB_KIND_{kind.name}") for kind in JobKind}
_TASK_KINDS = {kind: getattr(pb, f"TASK_KIND_{kind.name}") for kind in TaskKind}
_JOB_KIND_OF = {number: kind for kind, number in _JOB_KINDS.items()}
_TASK_KIND_OF = {number: kind for kind, number in _TASK_KINDS.items()}
_Number = Any  # of an actor or a register: protobuf knows plain ones, and `cast` is a call for each
_Numbers = Any  # several


def seal(message: bytes) -> bytes:
    """Put the header before an encoded ``Plan`` message."""
    return MAGIC + zlib.crc32(message).to_bytes(4, "little") + message


def encode(plan: Plan) -> bytes:
    """The plan as bytes; equal plans give equal bytes."""
    return seal(plan_message(plan).SerializeToString(deterministic=True))


def decode(data: bytes) -> Plan:
    """The plan that ``encode`` made ``data`` from.

    Raises:
        PlanError: the bytes are no plan, damaged, or a plan of another format version.
    """
    if data[: len(MAGIC)] != MAGIC:
        raise PlanError(f"these {len(data)} bytes are not a plan: they begin {data[:8]!r}")
    body = data[_HEADER_BYTES:]
    if seal(body) != data:
        raise PlanError(f"the plan of {len(data)} bytes is damaged or cut short; compile it again")
    message = pb.Plan()
    try:
        message.ParseFromString(body)
    except DecodeError as error:
        raise PlanError(f"these {len(data)} bytes are not a plan: {error}") from None
    return read_plan(message)


def plan_message(plan: Plan) -> pb.Plan:
    """The message of a plan."""
    values = ValueWriter()
    message = pb.Plan(
        format_version=FORMAT_VERSION,
        name=plan.name,
        device_types=[pb.DeviceType(tag=t, number=n) for t, n in plan.device_types.items()],
        jobs=[
            pb.Job(name=j.name, kind=_JOB_KINDS[j.kind], serves=j.serves, width=j.width)
            for j in plan.jobs
        ],
        tasks=[_task_message(task, values) for task in plan.tasks],
        registers=[_register_message(register, values) for register in plan.registers],
        actors=[
            pb.Actor(
                stream_id=actor.stream_id.packed(),
                tasks=actor.tasks,
                consumed=actor.consumed,
                produced=actor.produced,
            )
            for actor in plan.actors
        ],
        chunks=[
            pb.Chunk(memory=memory_message(chunk.memory), nbytes=chunk.nbytes)
            for chunk in plan.chunks
        ],
        variables=[_variable_message(desc, values) for desc in plan.variables],
        sections=[
            pb.CriticalSection(job=s.job, reads=s.reads, writes=s.writes, arena=s.arena)
            for s in plan.sections
        ],
    )
    message.specs.extend(values.specs)
    message.attrs.extend(values.attrs)
    return message


def read_plan(message: pb.Plan) -> Plan:
    """The inverse of ``plan_message``.

    Raises:
        PlanError: it is of another format version, or contradicts itself.
    """
    if message.format_version != FORMAT_VERSION:
        raise PlanError(
            f"the plan has format version {message.format_version} and this headrace reads "
            f"{FORMAT_VERSION}; compile the job again"
        )
    try:
        reader = _TaskReader(ValueReader(message.specs, message.attrs))
        specs = reader.values.specs
        return Plan(
            message.name,
            DeviceTypes({item.tag: item.number for item in message.device_types}),
            tuple(JobDesc(j.name, _JOB_KIND_OF[j.kind], j.serves, j.width) for j in message.jobs),
            tuple(map(reader.read, message.tasks)),
            tuple(
                RegisterDesc(
                    register.name,
                    specs[register.spec],
                    register.slots,
                    register.chunk,
                    register.offset,
                    register.stride,
                    register.constant if register.HasField("constant") else None,
                )
                for register in message.registers
            ),
            tuple(map(_read_actor, message.actors)),
            tuple(ChunkDesc(read_memory(c.memory), c.nbytes) for c in message.chunks),
            tuple(_variable(variable, reader.values) for variable in message.variables),
            tuple(
                CriticalSection(s.job, tuple(s.reads), tuple(s.writes), s.arena)
                for s in message.sections
            ),
        )
    except KeyError as error:
        raise PlanError(f"plan {message.name!r} is corrupt: kind {error} has no meaning") from None
    except IndexError:
        raise PlanError(f"plan {message.name!r} is corrupt: it names values it lacks") from None
    except (HeadraceError, ValueError) as error:
        raise PlanError(f"plan {message.name!r} is corrupt: {error}") from error


def _read_actor(message: pb.Actor) -> ActorDesc:
    consumed: _Numbers = tuple(message.consumed)
    produced: _Numbers = tuple(message.produced)
    return ActorDesc(StreamId.unpack(message.stream_id), tuple(message.tasks), consumed, produced)


def _task_message(task: TaskDesc, values: ValueWriter) -> pb.Task:
    message = pb.Task(
        task_id=task.task_id.packed(),
        name=task.name,
        kind=_TASK_KINDS[task.kind],
        job=task.job,
        actor=task.actor,
        inputs=[-1 if register is None else register for register in task.inputs],
        outputs=task.outputs,
        foreign_name=task.foreign_name,
        in_place=[pb.InPlace(input=i, output=o) for i, o in task.in_place],
        control_inputs=task.control_inputs,
        control_outputs=task.control_outputs,
    )
    if task.workspace is not None:
        message.workspace = task.workspace
    if task.call is not None:
        call, op = task.call, message.op
        op.op = call.op
        op.name = call.name
        op.inputs.extend([0 if spec is None else 1 + values.spec(spec) for spec in call.inputs])
        op.outputs.extend([values.spec(spec) for spec in call.outputs])
        op.attrs = values.attributes(call.attrs)
        op.location = call.location
        if task.sbp is not None:
            op.sbp = str(task.sbp)
    return message


class _TaskReader:
    """Reads tasks; streams and layouts, of which there are few, once each."""

    def __init__(self, values: ValueReader) -> None:
        self.values = values
        self._streams: dict[int, StreamId] = {}
        self._sbps: dict[str, NdSbp | None] = {"": None}

    def read(self, message: pb.Task) -> TaskDesc:
        call = sbp = None
        if message.HasField("op"):
            op = message.op
            call = self._call(op)
            text = op.sbp
            if text not in self._sbps:
                self._sbps[text] = NdSbp.parse(text)
            sbp = self._sbps[text]
        inputs: _Numbers = tuple(message.inputs)
        if -1 in inputs:
            inputs = tuple(None if register == -1 else register for register in inputs)
        outputs: _Numbers = tuple(message.outputs)
        waits: _Numbers = tuple(message.control_inputs)
        signals: _Numbers = tuple(message.control_outputs)
        actor: _Number = message.actor
        workspace: _Number = message.workspace if message.HasField("workspace") else None
        return TaskDesc(
            self._task_id(message.task_id),
            message.name,
            _TASK_KIND_OF[message.kind],
            message.job,
            actor,
            inputs,
            outputs,
            workspace,
            call,
            sbp,
            message.foreign_name,
            tuple([(pair.input, pair.output) for pair in message.in_place]),
            waits,
            signals,
        )

    def _call(self, op: pb.Op) -> OpCall:
        specs = self.values.specs
        outputs = tuple([specs[i] for i in op.outputs])
        return OpCall(
            op.op,
            op.name,
            tuple([specs[i - 1] if i else None for i in op.inputs]),
            outputs,
            self.values.attrs[op.attrs],
            len(outputs),
            op.location,
        )

    def _task_id(self, packed: int) -> TaskId:
        stream = packed >> TASK_INDEX_BITS
        if stream not in self._streams:
            self._streams[stream] = StreamId.unpack(stream)
        return TaskId(self._streams[stream], packed & (1 << TASK_INDEX_BITS) - 1)


def _register_message(register: RegisterDesc, values: ValueWriter) -> pb.Register:
    return pb.Register(
        name=register.name,
        spec=values.spec(register.spec),
        slots=register.slots,
        chunk=register.chunk,
        offset=register.offset,
        stride=register.stride,
        constant=register.constant,
    )


def _variable_message(desc: VariableDesc, values: ValueWriter) -> pb.Variable:
    message = variable_message(desc.variable, values)
    message.parts.extend(desc.parts)
    message.init_job = desc.init_job
    message.load_job = desc.load_job
    message.save_job = desc.save_job
    return message


def _variable(message: pb.Variable, values: ValueReader) -> VariableDesc:
    parts: _Numbers = tuple(message.parts)
    return VariableDesc(
        read_variable(message, values),
        parts,
        message.init_job,
        message.load_job,
        message.save_job,
    )
