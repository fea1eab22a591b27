"""Plan to bytes and back. The only module that sees a protobuf type.

The bytes are ``MAGIC``, the CRC-32 of the message (4 bytes, little endian), and the message
``headrace.proto.Plan``: a protobuf message alone does not show that its end is missing.

A session hands the runtime a decoded plan even inside one process, so that a field which the codec
forgets fails the first test and not the first remote run. Equal plans give equal bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TypeVar

from google.protobuf.message import DecodeError

from headrace.dtypes import DType, from_number
from headrace.errors import HeadraceError, PlanError
from headrace.ids import ActorId, DeviceTypes, RegisterId, StreamId, TaskId
from headrace.memory_case import MemoryCase
from headrace.op_call import Attrs, AttrValue, OpCall
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
from headrace.tensor_spec import TensorSpec

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
            pb.Chunk(memory=_memory_message(chunk.memory), nbytes=chunk.nbytes)
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
            tuple(ChunkDesc(_memory(c.memory), c.nbytes) for c in message.chunks),
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
                    pb.OptionalTensorSpec(spec=None if spec is None else _spec_message(spec))
                    for spec in call.inputs
                ],
                outputs=[_spec_message(spec) for spec in call.outputs],
                attrs=[_attr_message(name, value) for name, value in call.attrs.items()],
                location=call.location,
                sbp="" if task.sbp is None else str(task.sbp),
            )
        )
    return message


def _task(message: pb.Task) -> TaskDesc:
    call = sbp = None
    if message.HasField("op"):
        op = message.op
        outputs = tuple(_spec(spec) for spec in op.outputs)
        call = OpCall(
            op.op,
            op.name,
            tuple(_spec(i.spec) if i.HasField("spec") else None for i in op.inputs),
            outputs,
            Attrs({attr.name: _attr_value(attr) for attr in op.attrs}),
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
        spec=_spec_message(register.spec),
        slots=register.slots,
        chunk=register.chunk,
        offset=register.offset,
        stride=register.stride,
        constant=register.constant,
    )


def _register(message: pb.Register) -> RegisterDesc:
    return RegisterDesc(
        message.name,
        _spec(message.spec),
        message.slots,
        message.chunk,
        message.offset,
        message.stride,
        message.constant if message.HasField("constant") else None,
    )


def _spec_message(spec: TensorSpec) -> pb.TensorSpec:
    return pb.TensorSpec(shape=spec.shape, dtype=spec.dtype.number)


def _spec(message: pb.TensorSpec) -> TensorSpec:
    return TensorSpec(tuple(message.shape), from_number(message.dtype))


def _memory_message(memory: MemoryCase) -> pb.MemoryCase:
    return pb.MemoryCase(
        tag=memory.tag,
        device_index=memory.device_index,
        kind=memory.kind,
        pinned_for=memory.pinned_for,
        used_by_network=memory.used_by_network,
    )


def _memory(message: pb.MemoryCase) -> MemoryCase:
    return MemoryCase(
        message.tag,
        message.device_index,
        message.kind,
        message.pinned_for,
        message.used_by_network,
    )


def _attr_message(name: str, value: AttrValue) -> pb.Attr:
    match value:
        case bool():
            return pb.Attr(name=name, bool_value=value)
        case int():
            return pb.Attr(name=name, int_value=value)
        case float():
            return pb.Attr(name=name, float_value=value)
        case str():
            return pb.Attr(name=name, str_value=value)
        case DType():
            return pb.Attr(name=name, dtype_value=value.number)
        case tuple():
            return _list_message(name, value)


def _list_message(name: str, items: Sequence[int | float | str]) -> pb.Attr:
    if any(isinstance(item, str) for item in items):
        return pb.Attr(name=name, strs_value=pb.Strs(items=[str(item) for item in items]))
    if any(isinstance(item, float) for item in items):
        return pb.Attr(name=name, floats_value=pb.Floats(items=[float(item) for item in items]))
    return pb.Attr(name=name, ints_value=pb.Ints(items=[int(item) for item in items]))


def _attr_value(message: pb.Attr) -> AttrValue:
    field = message.WhichOneof("value")
    if field is None:
        raise PlanError(f"attribute {message.name!r} has no value")
    value = getattr(message, field)
    if field == "dtype_value":
        return from_number(value)
    if field in ("ints_value", "floats_value", "strs_value"):
        return tuple(value.items)
    return value  # type: ignore[no-any-return]
