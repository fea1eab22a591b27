"""Plan to bytes and back. With ``codec_values.py`` alone in seeing protobuf types.

The bytes are ``MAGIC``, the CRC-32 of the message (4 bytes, little endian), and the message
``headrace.proto.Plan``: a protobuf message alone does not show that its end is missing.

A session hands the runtime a decoded plan even inside one process, so that a field which the codec
forgets fails the first test and not the first remote run. Equal plans give equal bytes.
"""

from __future__ import annotations

import zlib
from typing import TypeVar

from google.protobuf.message import DecodeError

from headrace.errors import HeadraceError, PlanError
from headrace.ids import ActorId, DeviceTypes, RegisterId, StreamId, TaskId
from headrace.op_call import Attrs, OpCall
from headrace.plan.codec_values import (
    attr_message,
    memory_message,
    read_attr,
    read_memory,
    read_spec,
    spec_message,
)
from headrace.plan.model import (
    FORMAT_VERSION,
    ActorDesc,
    ChunkDesc,
    JobDesc,
    JobKind,
    Plan,
    RegisterDesc,
    TaskDesc,
    TaskKind,
)
from headrace.proto import plan_pb2 as pb
from headrace.sbp import NdSbp

_Kind = TypeVar("_Kind", JobKind, TaskKind)


MAGIC = b"HRPL"
_HEADER_BYTES = len(MAGIC) + 4


def seal(message: bytes) -> bytes:
    """Put the header before an encoded ``Plan`` message."""
    return MAGIC + zlib.crc32(message).to_bytes(4, "little") + message


def encode(plan: Plan) -> bytes:
    """The plan as bytes; equal plans give equal bytes."""
    message = pb.Plan(
        format_version=FORMAT_VERSION,
        name=plan.name,
        device_types=[pb.DeviceType(tag=t, number=n) for t, n in plan.device_types.items()],
        jobs=[pb.Job(name=j.name, kind=_job_kind(j.kind)) for j in plan.jobs],
        tasks=[_task_message(task) for task in plan.tasks],
        registers=[_register_message(register) for register in plan.registers],
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
    )
    return seal(message.SerializeToString(deterministic=True))


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
    if message.format_version != FORMAT_VERSION:
        raise PlanError(
            f"the plan has format version {message.format_version} and this headrace reads "
            f"{FORMAT_VERSION}; compile the job again"
        )
    try:
        return Plan(
            message.name,
            DeviceTypes({item.tag: item.number for item in message.device_types}),
            tuple(
                JobDesc(j.name, _read_kind(JobKind, pb.JobKind.Name(j.kind), "JOB_KIND_"))
                for j in message.jobs
            ),
            tuple(_task(task) for task in message.tasks),
            tuple(_register(register) for register in message.registers),
            tuple(
                ActorDesc(
                    StreamId.unpack(actor.stream_id),
                    tuple(actor.tasks),
                    tuple(map(RegisterId, actor.consumed)),
                    tuple(map(RegisterId, actor.produced)),
                )
                for actor in message.actors
            ),
            tuple(ChunkDesc(read_memory(c.memory), c.nbytes) for c in message.chunks),
        )
    except (HeadraceError, ValueError) as error:
        raise PlanError(f"plan {message.name!r} is corrupt: {error}") from error


def _job_kind(kind: JobKind) -> pb.JobKind:
    number: pb.JobKind = getattr(pb, f"JOB_KIND_{kind.name}")
    return number


def _task_kind(kind: TaskKind) -> pb.TaskKind:
    number: pb.TaskKind = getattr(pb, f"TASK_KIND_{kind.name}")
    return number


def _read_kind(kind: type[_Kind], name: str, prefix: str) -> _Kind:
    try:
        return kind[name.removeprefix(prefix)]
    except KeyError:
        raise PlanError(f"{kind.__name__} {name} has no meaning") from None


def _task_message(task: TaskDesc) -> pb.Task:
    message = pb.Task(
        task_id=task.task_id.packed(),
        name=task.name,
        kind=_task_kind(task.kind),
        job=task.job,
        actor=task.actor,
        inputs=[-1 if register is None else register for register in task.inputs],
        outputs=task.outputs,
        foreign_name=task.foreign_name,
    )
    if task.workspace is not None:
        message.workspace = task.workspace
    if task.call is not None:
        call = task.call
        message.op.CopyFrom(
            pb.Op(
                op=call.op,
                name=call.name,
                inputs=[
                    pb.OptionalTensorSpec(spec=None if spec is None else spec_message(spec))
                    for spec in call.inputs
                ],
                outputs=[spec_message(spec) for spec in call.outputs],
                attrs=[attr_message(name, value) for name, value in call.attrs.items()],
                location=call.location,
                sbp="" if task.sbp is None else str(task.sbp),
            )
        )
    return message


def _task(message: pb.Task) -> TaskDesc:
    call = sbp = None
    if message.HasField("op"):
        op = message.op
        outputs = tuple(read_spec(spec) for spec in op.outputs)
        call = OpCall(
            op.op,
            op.name,
            tuple(read_spec(i.spec) if i.HasField("spec") else None for i in op.inputs),
            outputs,
            Attrs({attr.name: read_attr(attr) for attr in op.attrs}),
            len(outputs),
            op.location,
        )
        sbp = NdSbp.parse(op.sbp) if op.sbp else None
    return TaskDesc(
        TaskId.unpack(message.task_id),
        message.name,
        _read_kind(TaskKind, pb.TaskKind.Name(message.kind), "TASK_KIND_"),
        message.job,
        ActorId(message.actor),
        tuple(None if register < 0 else RegisterId(register) for register in message.inputs),
        tuple(map(RegisterId, message.outputs)),
        RegisterId(message.workspace) if message.HasField("workspace") else None,
        call,
        sbp,
        message.foreign_name,
    )


def _register_message(register: RegisterDesc) -> pb.Register:
    return pb.Register(
        name=register.name,
        spec=spec_message(register.spec),
        slots=register.slots,
        chunk=register.chunk,
        offset=register.offset,
        stride=register.stride,
        constant=register.constant,
    )


def _register(message: pb.Register) -> RegisterDesc:
    return RegisterDesc(
        message.name,
        read_spec(message.spec),
        message.slots,
        message.chunk,
        message.offset,
        message.stride,
        message.constant if message.HasField("constant") else None,
    )
