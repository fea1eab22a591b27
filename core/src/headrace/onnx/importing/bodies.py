"""ONNX's own function bodies, which express an op without a converter in simpler ops."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import onnx.defs
from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto

from headrace.errors import UnsupportedModelError
from headrace.onnx.file.tensors import dtype_to_onnx
from headrace.onnx.importing.declarations import Declaration
from headrace.onnx.importing.values import Given, TensorSequence, Value
from headrace.ops import Tensor
from headrace.sizes import as_size


def body_of(
    declared: Declaration, node: NodeProto, opset: int, inputs: Given, where: str
) -> FunctionProto | None:
    """The body of an op as ONNX writes it for this node; None when the op has none.

    Args:
        declared: the op's declaration.
        node: the call, its attributes resolved.
        opset: version of the operator set that the node is written for.
        inputs: what the node is given; bodies may differ with dtypes and ranks.
        where: of the node, for messages.

    Raises:
        UnsupportedModelError: the installed ``onnx`` is older than the op.
    """
    if not declared.has_body:  # ONNX makes the objects of all ops when it is asked for one
        return None
    schema = _schema(declared)
    if schema is None:
        raise UnsupportedModelError(
            f"{where}: {declared.name}-{declared.since} is run by its body, which is in a later "
            f"onnx than {onnx.__version__}, which is installed: pip install --upgrade onnx"
        )
    if schema.has_function:
        version = _fitting(schema.function_opset_versions, opset)
        return _plain_body(declared, version)
    if schema.has_context_dependent_function:
        version = _fitting(schema.context_dependent_function_opset_versions, opset)
        types = [_type(value).SerializeToString() for value in inputs]
        data = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), types
        )
        body = FunctionProto.FromString(data)
        return body if body.node else None
    return None


def defaults_of(declared: Declaration) -> Mapping[str, AttributeProto]:
    """The values of an op's attributes where a call does not give them."""
    return {
        name: attribute.default_value
        for name, attribute in _schema(declared).attributes.items()
        if attribute.default_value.name
    }


def _fitting(versions: Sequence[int], opset: int) -> int:
    """The newest body not newer than the node; an op's meaning is one, whichever body says it."""
    return max((version for version in versions if version <= opset), default=min(versions))


@functools.cache
def _plain_body(declared: Declaration, version: int) -> FunctionProto:
    return FunctionProto.FromString(_schema(declared).get_function_with_opset_version(version))


def _schema(declared: Declaration) -> Any:
    """ONNX's own object, an ``OpSchema``, whose type stubs leave half of it out.

    None where the installed ``onnx`` is older than this version of the op.
    """
    try:
        found = onnx.defs.get_schema(declared.name, declared.since, declared.domain)
    except onnx.defs.SchemaError:
        return None
    return found if found.since_version == declared.since else None


def _type(value: Value | None) -> TypeProto:
    proto = TypeProto()
    if isinstance(value, Tensor):
        proto.tensor_type.elem_type = dtype_to_onnx(value.spec.dtype)
        for dim in value.spec.shape:
            written = proto.tensor_type.shape.dim.add()
            if as_size(dim) is None:  # of symbolic sizes, only that they are there
                written.dim_value = dim
    elif isinstance(value, TensorSequence):
        proto.sequence_type.elem_type.tensor_type.elem_type = dtype_to_onnx(value.dtype)
    return proto
