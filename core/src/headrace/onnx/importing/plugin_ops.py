"""Nodes of a plugin's domain: the domain is the device tag, the op type the op's name after it.

The version of such an operator set says nothing here: what an op is, is said by the plugin that is
installed, and its distribution has a version.
"""

from __future__ import annotations

from typing import Any

from onnx import AttributeProto

from headrace.errors import InvalidModelError, UnknownOpError, UnsupportedModelError
from headrace.graph import OpSource
from headrace.onnx.file import attributes, tensors
from headrace.onnx.file.attributes import Attributes
from headrace.onnx.file.text import Where, quote
from headrace.ops import Op

# A dtype is written as in ONNX's own ops: the number of a ``TensorProto.DataType``.
_KINDS = {
    "bool": AttributeProto.INT,
    "int": AttributeProto.INT,
    "dtype": AttributeProto.INT,
    "float": AttributeProto.FLOAT,
    "str": AttributeProto.STRING,
    "ints": AttributeProto.INTS,
    "floats": AttributeProto.FLOATS,
    "strs": AttributeProto.STRINGS,
}


def find(domain: str, op_type: str, where: Where, ops: OpSource) -> type[Op]:
    """The op that a node of a plugin's domain is of; loads the plugin.

    Raises:
        UnsupportedModelError: the plugin has no such op; names those that look alike.
        DeviceUnavailableError: the plugin is installed and cannot be used.
    """
    if "." in op_type:  # would be looked for in another plugin
        raise UnsupportedModelError(
            f"{where}: domain {quote(domain)} cannot have an op {quote(op_type)}; the op's name is "
            "what follows the tag and has no dot"
        )
    try:
        return ops.op(f"{domain}.{op_type}").op
    except UnknownOpError as error:
        raise UnsupportedModelError(f"{where}: {error}") from error


def attrs(op: type[Op], given: Attributes, where: str) -> dict[str, Any]:
    """The attributes of a node as the op takes them.

    Raises:
        InvalidModelError: the op has no such attribute, or it is of another type.
        UnsupportedModelError: a dtype is none of headrace.
    """
    types = {attr.name: attr.type for attr in op.attrs}
    values: dict[str, Any] = {}
    for name, attribute in given.items():
        if name not in types:
            names = ", ".join(types) or "none"
            raise InvalidModelError(
                f"{where}: {op.name} has no attribute {quote(name)}; it has {names}"
            )
        place = f"{where}: attribute {quote(name)} of {op.name}"
        if attribute.type != _KINDS[types[name]]:
            raise InvalidModelError(
                f"{place} is {types[name]}, written as {_name(_KINDS[types[name]])}; "
                f"the node has {_name(attribute.type)}"
            )
        value = attributes.value(attribute, place, None)
        is_dtype = types[name] == "dtype"
        values[name] = tensors.dtype_from_onnx(value, place) if is_dtype else value
    return values


def output_count(op: type[Op], used: int, declared: int, where: str) -> int:
    """How many outputs to make: those that are used, and those that the op always makes.

    Raises:
        InvalidModelError: the node names more than the op has.
    """
    if declared > len(op.outputs):
        raise InvalidModelError(
            f"{where}: {op.name} has {len(op.outputs)} outputs; the node has {declared}"
        )
    return max(used, sum(not output.optional for output in op.outputs))


def _name(kind: int) -> str:
    return f"attribute type {_TYPE_NAMES.get(kind, str(kind))}"


_TYPE_NAMES = {number: name for name, number in AttributeProto.AttributeType.items()}
