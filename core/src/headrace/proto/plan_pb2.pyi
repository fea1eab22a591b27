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
    JOB_KIND_INIT: _ClassVar[JobKind]
    JOB_KIND_LOAD: _ClassVar[JobKind]
    JOB_KIND_SAVE: _ClassVar[JobKind]

class TaskKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_KIND_UNSPECIFIED: _ClassVar[TaskKind]
    TASK_KIND_COMPUTE: _ClassVar[TaskKind]
    TASK_KIND_COPY_H2D: _ClassVar[TaskKind]
    TASK_KIND_COPY_D2H: _ClassVar[TaskKind]
    TASK_KIND_FOREIGN_INPUT: _ClassVar[TaskKind]
    TASK_KIND_FOREIGN_OUTPUT: _ClassVar[TaskKind]
    TASK_KIND_VIEW: _ClassVar[TaskKind]
    TASK_KIND_COPY_PEER: _ClassVar[TaskKind]
    TASK_KIND_COLLECTIVE: _ClassVar[TaskKind]
    TASK_KIND_COPY_NETWORK: _ClassVar[TaskKind]
    TASK_KIND_COPY_D2D: _ClassVar[TaskKind]
    TASK_KIND_INITIALIZE: _ClassVar[TaskKind]
JOB_KIND_UNSPECIFIED: JobKind
JOB_KIND_USER: JobKind
JOB_KIND_PUSH: JobKind
JOB_KIND_PULL: JobKind
JOB_KIND_INIT: JobKind
JOB_KIND_LOAD: JobKind
JOB_KIND_SAVE: JobKind
TASK_KIND_UNSPECIFIED: TaskKind
TASK_KIND_COMPUTE: TaskKind
TASK_KIND_COPY_H2D: TaskKind
TASK_KIND_COPY_D2H: TaskKind
TASK_KIND_FOREIGN_INPUT: TaskKind
TASK_KIND_FOREIGN_OUTPUT: TaskKind
TASK_KIND_VIEW: TaskKind
TASK_KIND_COPY_PEER: TaskKind
TASK_KIND_COLLECTIVE: TaskKind
TASK_KIND_COPY_NETWORK: TaskKind
TASK_KIND_COPY_D2D: TaskKind
TASK_KIND_INITIALIZE: TaskKind

class Plan(_message.Message):
    __slots__ = ("format_version", "name", "device_types", "jobs", "tasks", "registers", "actors", "chunks", "specs", "attrs", "variables", "sections")
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
    VARIABLES_FIELD_NUMBER: _ClassVar[int]
    SECTIONS_FIELD_NUMBER: _ClassVar[int]
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
    variables: _containers.RepeatedCompositeFieldContainer[Variable]
    sections: _containers.RepeatedCompositeFieldContainer[CriticalSection]
    def __init__(self, format_version: _Optional[int] = ..., name: _Optional[str] = ..., device_types: _Optional[_Iterable[_Union[DeviceType, _Mapping]]] = ..., jobs: _Optional[_Iterable[_Union[Job, _Mapping]]] = ..., tasks: _Optional[_Iterable[_Union[Task, _Mapping]]] = ..., registers: _Optional[_Iterable[_Union[Register, _Mapping]]] = ..., actors: _Optional[_Iterable[_Union[Actor, _Mapping]]] = ..., chunks: _Optional[_Iterable[_Union[Chunk, _Mapping]]] = ..., specs: _Optional[_Iterable[_Union[TensorSpec, _Mapping]]] = ..., attrs: _Optional[_Iterable[_Union[Attrs, _Mapping]]] = ..., variables: _Optional[_Iterable[_Union[Variable, _Mapping]]] = ..., sections: _Optional[_Iterable[_Union[CriticalSection, _Mapping]]] = ...) -> None: ...

class DeviceType(_message.Message):
    __slots__ = ("tag", "number")
    TAG_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    tag: str
    number: int
    def __init__(self, tag: _Optional[str] = ..., number: _Optional[int] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ("name", "kind", "serves", "width")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SERVES_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: JobKind
    serves: int
    width: int
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[_Union[JobKind, str]] = ..., serves: _Optional[int] = ..., width: _Optional[int] = ...) -> None: ...

class Variable(_message.Message):
    __slots__ = ("name", "spec", "placement", "sbp", "initializer", "seed", "trainable", "parts", "init_job", "load_job", "save_job")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    PLACEMENT_FIELD_NUMBER: _ClassVar[int]
    SBP_FIELD_NUMBER: _ClassVar[int]
    INITIALIZER_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    TRAINABLE_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    INIT_JOB_FIELD_NUMBER: _ClassVar[int]
    LOAD_JOB_FIELD_NUMBER: _ClassVar[int]
    SAVE_JOB_FIELD_NUMBER: _ClassVar[int]
    name: str
    spec: int
    placement: Placement
    sbp: str
    initializer: Initializer
    seed: int
    trainable: bool
    parts: _containers.RepeatedScalarFieldContainer[int]
    init_job: int
    load_job: int
    save_job: int
    def __init__(self, name: _Optional[str] = ..., spec: _Optional[int] = ..., placement: _Optional[_Union[Placement, _Mapping]] = ..., sbp: _Optional[str] = ..., initializer: _Optional[_Union[Initializer, _Mapping]] = ..., seed: _Optional[int] = ..., trainable: bool = ..., parts: _Optional[_Iterable[int]] = ..., init_job: _Optional[int] = ..., load_job: _Optional[int] = ..., save_job: _Optional[int] = ...) -> None: ...

class Placement(_message.Message):
    __slots__ = ("tag", "devices", "hierarchy")
    TAG_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    HIERARCHY_FIELD_NUMBER: _ClassVar[int]
    tag: str
    devices: _containers.RepeatedCompositeFieldContainer[Device]
    hierarchy: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, tag: _Optional[str] = ..., devices: _Optional[_Iterable[_Union[Device, _Mapping]]] = ..., hierarchy: _Optional[_Iterable[int]] = ...) -> None: ...

class Device(_message.Message):
    __slots__ = ("machine", "index")
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    machine: int
    index: int
    def __init__(self, machine: _Optional[int] = ..., index: _Optional[int] = ...) -> None: ...

class Initializer(_message.Message):
    __slots__ = ("name", "attrs")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ATTRS_FIELD_NUMBER: _ClassVar[int]
    name: str
    attrs: int
    def __init__(self, name: _Optional[str] = ..., attrs: _Optional[int] = ...) -> None: ...

class CriticalSection(_message.Message):
    __slots__ = ("job", "reads", "writes", "arena")
    JOB_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    WRITES_FIELD_NUMBER: _ClassVar[int]
    ARENA_FIELD_NUMBER: _ClassVar[int]
    job: int
    reads: _containers.RepeatedScalarFieldContainer[int]
    writes: _containers.RepeatedScalarFieldContainer[int]
    arena: int
    def __init__(self, job: _Optional[int] = ..., reads: _Optional[_Iterable[int]] = ..., writes: _Optional[_Iterable[int]] = ..., arena: _Optional[int] = ...) -> None: ...

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
    __slots__ = ("tag", "device_index", "kind", "pinned_for", "used_by_network", "machine")
    TAG_FIELD_NUMBER: _ClassVar[int]
    DEVICE_INDEX_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PINNED_FOR_FIELD_NUMBER: _ClassVar[int]
    USED_BY_NETWORK_FIELD_NUMBER: _ClassVar[int]
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    tag: str
    device_index: int
    kind: str
    pinned_for: str
    used_by_network: bool
    machine: int
    def __init__(self, tag: _Optional[str] = ..., device_index: _Optional[int] = ..., kind: _Optional[str] = ..., pinned_for: _Optional[str] = ..., used_by_network: bool = ..., machine: _Optional[int] = ...) -> None: ...

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
