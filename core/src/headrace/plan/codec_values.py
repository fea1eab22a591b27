"""The values inside a plan, tensor specs, memory cases and attributes, as messages and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.dtypes import DType, from_number
from headrace.errors import PlanError
from headrace.graph.variable import Variable
from headrace.initializer import Initializer
from headrace.memory_case import MemoryCase
from headrace.op_call import Attrs, AttrValue
from headrace.placement import Placement
from headrace.proto import plan_pb2 as pb
from headrace.sbp import NdSbp
from headrace.tensor_spec import TensorSpec


class ValueWriter:
    """Collects the specs and attributes of one plan, each value once.

    Attributes:
        specs, attrs: their messages, in the order of first use.
    """

    def __init__(self) -> None:
        self.specs: list[pb.TensorSpec] = []
        self.attrs: list[pb.Attrs] = []
        self._specs: dict[TensorSpec, int] = {}
        self._attrs: dict[bytes, int] = {}

    def spec(self, spec: TensorSpec) -> int:
        """The position of a spec."""
        position = self._specs.get(spec)
        if position is None:
            position = self._specs[spec] = len(self.specs)
            self.specs.append(spec_message(spec))
        return position

    def attributes(self, attrs: Attrs) -> int:
        """The position of attributes.

        They are told apart by their bytes: to Python, True, 1 and 1.0 are one value.
        """
        message, key = None, b""
        if attrs:
            message = pb.Attrs(items=[attr_message(name, value) for name, value in attrs.items()])
            key = message.SerializeToString(deterministic=True)
        position = self._attrs.get(key)
        if position is None:
            position = self._attrs[key] = len(self.attrs)
            self.attrs.append(message or pb.Attrs())
        return position


class ValueReader:
    """The specs and attributes of one plan, by position."""

    def __init__(self, specs: Iterable[pb.TensorSpec], attrs: Iterable[pb.Attrs]) -> None:
        self.specs = [read_spec(message) for message in specs]
        self.attrs = [Attrs({attr.name: read_attr(attr) for attr in m.items}) for m in attrs]


def spec_message(spec: TensorSpec) -> pb.TensorSpec:
    """The message of a spec."""
    return pb.TensorSpec(shape=spec.shape, dtype=spec.dtype.number)


def read_spec(message: pb.TensorSpec) -> TensorSpec:
    """The inverse of ``spec_message``."""
    return TensorSpec(tuple(message.shape), from_number(message.dtype))


def variable_message(variable: Variable, values: ValueWriter) -> pb.Variable:
    """The message of what was asked of a variable."""
    placement, rule = variable.placement, variable.initializer
    return pb.Variable(
        name=variable.name,
        spec=values.spec(variable.spec),
        placement=pb.Placement(
            tag=placement.tag,
            devices=[pb.Device(machine=m, index=i) for m, i in placement.devices],
            hierarchy=placement.hierarchy,
        ),
        sbp=str(variable.sbp),
        initializer=pb.Initializer(name=rule.name, attrs=values.attributes(rule.attrs)),
        seed=variable.seed,
        trainable=variable.trainable,
    )


def read_variable(message: pb.Variable, values: ValueReader) -> Variable:
    """The inverse of ``variable_message``."""
    placement, rule = message.placement, message.initializer
    return Variable(
        message.name,
        values.specs[message.spec],
        Placement(
            placement.tag,
            tuple((device.machine, device.index) for device in placement.devices),
            tuple(placement.hierarchy),
        ),
        NdSbp.parse(message.sbp),
        Initializer(rule.name, values.attrs[rule.attrs]),
        message.seed,
        message.trainable,
    )


def memory_message(memory: MemoryCase) -> pb.MemoryCase:
    """The message of a memory case."""
    return pb.MemoryCase(
        tag=memory.tag,
        device_index=memory.device_index,
        kind=memory.kind,
        pinned_for=memory.pinned_for,
        used_by_network=memory.used_by_network,
        machine=memory.machine,
    )


def read_memory(message: pb.MemoryCase) -> MemoryCase:
    """The inverse of ``memory_message``."""
    return MemoryCase(
        message.tag,
        message.device_index,
        message.kind,
        message.pinned_for,
        message.used_by_network,
        message.machine,
    )


def attr_message(name: str, value: AttrValue) -> pb.Attr:
    """The message of an attribute; says its type too."""
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


def read_attr(message: pb.Attr) -> AttrValue:
    """The value of an attribute; the inverse of ``attr_message``.

    Raises:
        PlanError: it has none.
        DTypeError: it is a dtype that is not known.
    """
    field = message.WhichOneof("value")
    if field is None:
        raise PlanError(f"attribute {message.name!r} has no value")
    value = getattr(message, field)
    if field == "dtype_value":
        return from_number(value)
    if field in ("ints_value", "floats_value", "strs_value"):
        return tuple(value.items)
    return value  # type: ignore[no-any-return]
