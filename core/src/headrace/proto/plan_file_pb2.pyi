from headrace.proto import plan_pb2 as _plan_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PlanFile(_message.Message):
    __slots__ = ("core_version", "api_major", "api_minor", "plugins", "inputs", "outputs", "fixed", "weights", "sources", "passes", "plan")
    CORE_VERSION_FIELD_NUMBER: _ClassVar[int]
    API_MAJOR_FIELD_NUMBER: _ClassVar[int]
    API_MINOR_FIELD_NUMBER: _ClassVar[int]
    PLUGINS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    FIXED_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    PASSES_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    core_version: str
    api_major: int
    api_minor: int
    plugins: _containers.RepeatedCompositeFieldContainer[Plugin]
    inputs: _containers.RepeatedCompositeFieldContainer[Port]
    outputs: _containers.RepeatedCompositeFieldContainer[Port]
    fixed: _containers.RepeatedCompositeFieldContainer[Weight]
    weights: _containers.RepeatedCompositeFieldContainer[Weight]
    sources: _containers.RepeatedCompositeFieldContainer[Source]
    passes: _containers.RepeatedCompositeFieldContainer[Pass]
    plan: _plan_pb2.Plan
    def __init__(self, core_version: _Optional[str] = ..., api_major: _Optional[int] = ..., api_minor: _Optional[int] = ..., plugins: _Optional[_Iterable[_Union[Plugin, _Mapping]]] = ..., inputs: _Optional[_Iterable[_Union[Port, _Mapping]]] = ..., outputs: _Optional[_Iterable[_Union[Port, _Mapping]]] = ..., fixed: _Optional[_Iterable[_Union[Weight, _Mapping]]] = ..., weights: _Optional[_Iterable[_Union[Weight, _Mapping]]] = ..., sources: _Optional[_Iterable[_Union[Source, _Mapping]]] = ..., passes: _Optional[_Iterable[_Union[Pass, _Mapping]]] = ..., plan: _Optional[_Union[_plan_pb2.Plan, _Mapping]] = ...) -> None: ...

class Plugin(_message.Message):
    __slots__ = ("tag", "distribution", "version")
    TAG_FIELD_NUMBER: _ClassVar[int]
    DISTRIBUTION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    tag: str
    distribution: str
    version: str
    def __init__(self, tag: _Optional[str] = ..., distribution: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class Port(_message.Message):
    __slots__ = ("name", "spec")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    name: str
    spec: _plan_pb2.TensorSpec
    def __init__(self, name: _Optional[str] = ..., spec: _Optional[_Union[_plan_pb2.TensorSpec, _Mapping]] = ...) -> None: ...

class Weight(_message.Message):
    __slots__ = ("name", "spec", "source", "offset")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    name: str
    spec: _plan_pb2.TensorSpec
    source: int
    offset: int
    def __init__(self, name: _Optional[str] = ..., spec: _Optional[_Union[_plan_pb2.TensorSpec, _Mapping]] = ..., source: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class Source(_message.Message):
    __slots__ = ("location", "offset", "nbytes", "digest")
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    NBYTES_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    location: str
    offset: int
    nbytes: int
    digest: bytes
    def __init__(self, location: _Optional[str] = ..., offset: _Optional[int] = ..., nbytes: _Optional[int] = ..., digest: _Optional[bytes] = ...) -> None: ...

class Pass(_message.Message):
    __slots__ = ("tag", "name", "origin", "changed", "ops_before", "ops_after")
    TAG_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    OPS_BEFORE_FIELD_NUMBER: _ClassVar[int]
    OPS_AFTER_FIELD_NUMBER: _ClassVar[int]
    tag: str
    name: str
    origin: str
    changed: bool
    ops_before: int
    ops_after: int
    def __init__(self, tag: _Optional[str] = ..., name: _Optional[str] = ..., origin: _Optional[str] = ..., changed: bool = ..., ops_before: _Optional[int] = ..., ops_after: _Optional[int] = ...) -> None: ...
