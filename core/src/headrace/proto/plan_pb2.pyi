from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JobKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_KIND_UNSPECIFIED: _ClassVar[JobKind]
    JOB_KIND_USER: _ClassVar[JobKind]
    JOB_KIND_PUSH: _ClassVar[JobKind]
    JOB_KIND_PULL: _ClassVar[JobKind]

class TaskKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_KIND_UNSPECIFIED: _ClassVar[TaskKind]
    TASK_KIND_COMPUTE: _ClassVar[TaskKind]
    TASK_KIND_COPY_H2D: _ClassVar[TaskKind]
    TASK_KIND_COPY_D2H: _ClassVar[TaskKind]
    TASK_KIND_FOREIGN_INPUT: _ClassVar[TaskKind]
    TASK_KIND_FOREIGN_OUTPUT: _ClassVar[TaskKind]
    TASK_KIND_VIEW: _ClassVar[TaskKind]
JOB_KIND_UNSPECIFIED: JobKind
JOB_KIND_USER: JobKind
JOB_KIND_PUSH: JobKind
JOB_KIND_PULL: JobKind
TASK_KIND_UNSPECIFIED: TaskKind
TASK_KIND_COMPUTE: TaskKind
TASK_KIND_COPY_H2D: TaskKind
TASK_KIND_COPY_D2H: TaskKind
TASK_KIND_FOREIGN_INPUT: TaskKind
TASK_KIND_FOREIGN_OUTPUT: TaskKind
TASK_KIND_VIEW: TaskKind

class Plan(_message.Message):
    __slots__ = ("format_version", "name", "device_types", "jobs", "tasks", "registers", "actors", "chunks", "specs", "attrs")
    FORMAT_VERSION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DEVICE_TYPES_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    REGISTERS_FIELD_NUMBER: _ClassVar[int]
    ACTORS_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    SPECS_FIELD_NUMBER: _ClassVar[int]
    ATTRS_FIELD_NUMBER: _ClassVar[int]
    format_version: int
    name: str
    device_types: _containers.RepeatedCompositeFieldContainer[DeviceType]
    jobs: _containers.RepeatedCompositeFieldContainer[Job]
    tasks: _containers.RepeatedCompositeFieldContainer[Task]
    registers: _containers.RepeatedCompositeFieldContainer[Register]
    actors: _containers.RepeatedCompositeFieldContainer[Actor]
    chunks: _containers.RepeatedCompositeFieldContainer[Chunk]
    specs: _containers.RepeatedCompositeFieldContainer[TensorSpec]
    attrs: _containers.RepeatedCompositeFieldContainer[Attrs]
    def __init__(self, format_version: _Optional[int] = ..., name: _Optional[str] = ..., device_types: _Optional[_Iterable[_Union[DeviceType, _Mapping]]] = ..., jobs: _Optional[_Iterable[_Union[Job, _Mapping]]] = ..., tasks: _Optional[_Iterable[_Union[Task, _Mapping]]] = ..., registers: _Optional[_Iterable[_Union[Register, _Mapping]]] = ..., actors: _Optional[_Iterable[_Union[Actor, _Mapping]]] = ..., chunks: _Optional[_Iterable[_Union[Chunk, _Mapping]]] = ..., specs: _Optional[_Iterable[_Union[TensorSpec, _Mapping]]] = ..., attrs: _Optional[_Iterable[_Union[Attrs, _Mapping]]] = ...) -> None: ...

class DeviceType(_message.Message):
    __slots__ = ("tag", "number")
    TAG_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    tag: str
    number: int
    def __init__(self, tag: _Optional[str] = ..., number: _Optional[int] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ("name", "kind")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: JobKind
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[_Union[JobKind, str]] = ...) -> None: ...

class Task(_message.Message):
    __slots__ = ("task_id", "name", "kind", "job", "actor", "inputs", "outputs", "workspace", "op", "foreign_name", "in_place", "control_inputs", "control_outputs")
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    OP_FIELD_NUMBER: _ClassVar[int]
    FOREIGN_NAME_FIELD_NUMBER: _ClassVar[int]
    IN_PLACE_FIELD_NUMBER: _ClassVar[int]
    CONTROL_INPUTS_FIELD_NUMBER: _ClassVar[int]
    CONTROL_OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    task_id: int
    name: str
    kind: TaskKind
    job: int
    actor: int
    inputs: _containers.RepeatedScalarFieldContainer[int]
    outputs: _containers.RepeatedScalarFieldContainer[int]
    workspace: int
    op: Op
    foreign_name: str
    in_place: _containers.RepeatedCompositeFieldContainer[InPlace]
    control_inputs: _containers.RepeatedScalarFieldContainer[int]
    control_outputs: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, task_id: _Optional[int] = ..., name: _Optional[str] = ..., kind: _Optional[_Union[TaskKind, str]] = ..., job: _Optional[int] = ..., actor: _Optional[int] = ..., inputs: _Optional[_Iterable[int]] = ..., outputs: _Optional[_Iterable[int]] = ..., workspace: _Optional[int] = ..., op: _Optional[_Union[Op, _Mapping]] = ..., foreign_name: _Optional[str] = ..., in_place: _Optional[_Iterable[_Union[InPlace, _Mapping]]] = ..., control_inputs: _Optional[_Iterable[int]] = ..., control_outputs: _Optional[_Iterable[int]] = ...) -> None: ...

class InPlace(_message.Message):
    __slots__ = ("input", "output")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    input: int
    output: int
    def __init__(self, input: _Optional[int] = ..., output: _Optional[int] = ...) -> None: ...

class Op(_message.Message):
    __slots__ = ("op", "name", "inputs", "outputs", "attrs", "location", "sbp")
    OP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    ATTRS_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    SBP_FIELD_NUMBER: _ClassVar[int]
    op: str
    name: str
    inputs: _containers.RepeatedScalarFieldContainer[int]
    outputs: _containers.RepeatedScalarFieldContainer[int]
    attrs: int
    location: str
    sbp: str
    def __init__(self, op: _Optional[str] = ..., name: _Optional[str] = ..., inputs: _Optional[_Iterable[int]] = ..., outputs: _Optional[_Iterable[int]] = ..., attrs: _Optional[int] = ..., location: _Optional[str] = ..., sbp: _Optional[str] = ...) -> None: ...

class TensorSpec(_message.Message):
    __slots__ = ("shape", "dtype")
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    shape: _containers.RepeatedScalarFieldContainer[int]
    dtype: int
    def __init__(self, shape: _Optional[_Iterable[int]] = ..., dtype: _Optional[int] = ...) -> None: ...

class Attrs(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Attr]
    def __init__(self, items: _Optional[_Iterable[_Union[Attr, _Mapping]]] = ...) -> None: ...

class Attr(_message.Message):
    __slots__ = ("name", "bool_value", "int_value", "float_value", "str_value", "dtype_value", "ints_value", "floats_value", "strs_value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BOOL_VALUE_FIELD_NUMBER: _ClassVar[int]
    INT_VALUE_FIELD_NUMBER: _ClassVar[int]
    FLOAT_VALUE_FIELD_NUMBER: _ClassVar[int]
    STR_VALUE_FIELD_NUMBER: _ClassVar[int]
    DTYPE_VALUE_FIELD_NUMBER: _ClassVar[int]
    INTS_VALUE_FIELD_NUMBER: _ClassVar[int]
    FLOATS_VALUE_FIELD_NUMBER: _ClassVar[int]
    STRS_VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    bool_value: bool
    int_value: int
    float_value: float
    str_value: str
    dtype_value: int
    ints_value: Ints
    floats_value: Floats
    strs_value: Strs
    def __init__(self, name: _Optional[str] = ..., bool_value: bool = ..., int_value: _Optional[int] = ..., float_value: _Optional[float] = ..., str_value: _Optional[str] = ..., dtype_value: _Optional[int] = ..., ints_value: _Optional[_Union[Ints, _Mapping]] = ..., floats_value: _Optional[_Union[Floats, _Mapping]] = ..., strs_value: _Optional[_Union[Strs, _Mapping]] = ...) -> None: ...

class Ints(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, items: _Optional[_Iterable[int]] = ...) -> None: ...

class Floats(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, items: _Optional[_Iterable[float]] = ...) -> None: ...

class Strs(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, items: _Optional[_Iterable[str]] = ...) -> None: ...

class MemoryCase(_message.Message):
    __slots__ = ("tag", "device_index", "kind", "pinned_for", "used_by_network")
    TAG_FIELD_NUMBER: _ClassVar[int]
    DEVICE_INDEX_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PINNED_FOR_FIELD_NUMBER: _ClassVar[int]
    USED_BY_NETWORK_FIELD_NUMBER: _ClassVar[int]
    tag: str
    device_index: int
    kind: str
    pinned_for: str
    used_by_network: bool
    def __init__(self, tag: _Optional[str] = ..., device_index: _Optional[int] = ..., kind: _Optional[str] = ..., pinned_for: _Optional[str] = ..., used_by_network: bool = ...) -> None: ...

class Register(_message.Message):
    __slots__ = ("name", "spec", "slots", "chunk", "offset", "stride", "constant")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    STRIDE_FIELD_NUMBER: _ClassVar[int]
    CONSTANT_FIELD_NUMBER: _ClassVar[int]
    name: str
    spec: int
    slots: int
    chunk: int
    offset: int
    stride: int
    constant: str
    def __init__(self, name: _Optional[str] = ..., spec: _Optional[int] = ..., slots: _Optional[int] = ..., chunk: _Optional[int] = ..., offset: _Optional[int] = ..., stride: _Optional[int] = ..., constant: _Optional[str] = ...) -> None: ...

class Actor(_message.Message):
    __slots__ = ("stream_id", "tasks", "consumed", "produced")
    STREAM_ID_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    CONSUMED_FIELD_NUMBER: _ClassVar[int]
    PRODUCED_FIELD_NUMBER: _ClassVar[int]
    stream_id: int
    tasks: _containers.RepeatedScalarFieldContainer[int]
    consumed: _containers.RepeatedScalarFieldContainer[int]
    produced: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, stream_id: _Optional[int] = ..., tasks: _Optional[_Iterable[int]] = ..., consumed: _Optional[_Iterable[int]] = ..., produced: _Optional[_Iterable[int]] = ...) -> None: ...

class Chunk(_message.Message):
    __slots__ = ("memory", "nbytes")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    NBYTES_FIELD_NUMBER: _ClassVar[int]
    memory: MemoryCase
    nbytes: int
    def __init__(self, memory: _Optional[_Union[MemoryCase, _Mapping]] = ..., nbytes: _Optional[int] = ...) -> None: ...
