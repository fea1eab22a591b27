"""What a model declares that it takes and gives."""

from __future__ import annotations

from onnx import TypeProto, ValueInfoProto

from headrace.errors import InvalidModelError, UnsupportedModelError
from headrace.onnx.file.hosted_error import HostedValuesError
from headrace.onnx.file.read import ModelFile
from headrace.onnx.file.tensors import dtype_from_onnx
from headrace.onnx.file.text import quote
from headrace.onnx.hosted.kinds import is_number_list, is_number_tensor
from headrace.onnx.signature import Shape, TensorInfo


def inputs_of(file: ModelFile, *, lists: bool = False) -> tuple[TensorInfo, ...]:
    """What the model takes: its required inputs, then those that it has a value for.

    Old files list all their weights as inputs; these are optional.

    Args:
        file: the model.
        lists: whether it may take sequences of tensors, and optional values.

    Raises:
        InvalidModelError: the type of an input is not given.
        UnsupportedModelError: an input is no tensor, or of a dtype that headrace lacks.
    """
    infos = [
        _info(value, f"{file.name}: input {quote(value.name)}", value.name in file.weights, lists)
        for value in file.graph.input
    ]
    for info in infos:
        if info.dtype is None and info.kind == "tensor":
            raise InvalidModelError(f"{file.name}: input {quote(info.name)} has no data type")
    return tuple(sorted(infos, key=lambda info: info.optional))


def outputs_of(file: ModelFile, *, lists: bool = False) -> tuple[TensorInfo, ...]:
    """What the model gives, in its order.

    Args:
        file: the model.
        lists: as for ``inputs_of``.

    Raises:
        UnsupportedModelError: an output is no tensor, or of a dtype that headrace lacks.
    """
    return tuple(
        _info(value, f"{file.name}: output {quote(value.name)}", False, lists)
        for value in file.graph.output
    )


def _info(value: ValueInfoProto, where: str, optional: bool, lists: bool = False) -> TensorInfo:
    if lists and is_number_list(value.type):
        return info_of(value, where, optional)
    kind = value.type.WhichOneof("value")
    if kind is None:
        return TensorInfo(value.name, None, None, optional)
    if kind != "tensor_type":
        raise HostedValuesError(
            f"{where}: is a {kind.removesuffix('_type')}; a device has tensors only"
        )
    tensor = value.type.tensor_type
    dtype = dtype_from_onnx(tensor.elem_type, where) if tensor.elem_type else None
    shape = _shape(tensor, where) if tensor.HasField("shape") else None
    return TensorInfo(value.name, dtype, shape, optional)


def info_of(value: ValueInfoProto, where: str, optional: bool) -> TensorInfo:
    """What the model takes or gives, of whatever kind.

    Raises:
        InvalidModelError, UnsupportedModelError: as ``inputs_of``.
    """
    if is_number_tensor(value.type):
        return _info(value, where, optional)
    if value.type.HasField("tensor_type"):
        tensor = value.type.tensor_type
        shape = _shape(tensor, where) if tensor.HasField("shape") else None
        return TensorInfo(value.name, None, shape, optional, kind="text")
    kind = str(value.type.WhichOneof("value")).removesuffix("_type")
    if kind == "map":
        of = value.type.map_type.value_type
        if not of.HasField("tensor_type") or not is_number_tensor(of):
            raise UnsupportedModelError(f"{where}: is a map of what is no number")
        dtype = dtype_from_onnx(of.tensor_type.elem_type, where)
        return TensorInfo(value.name, dtype, None, optional, kind=kind)
    if kind == "sequence":
        of_maps = value.type.sequence_type.elem_type.HasField("map_type")
        kind = "sequence of maps" if of_maps else "sequence of tensors"
    return TensorInfo(value.name, None, None, optional, kind=kind)


def _shape(tensor: TypeProto.Tensor, where: str) -> Shape:
    dims: list[int | str | None] = []
    for dim in tensor.shape.dim:
        if not dim.HasField("dim_value"):
            dims.append(dim.dim_param or None)
        elif dim.dim_value < -1:
            raise InvalidModelError(f"{where}: dimension {dim.dim_value} is negative")
        else:  # some exporters write -1 for a dimension that may be any
            dims.append(None if dim.dim_value == -1 else dim.dim_value)
    return tuple(dims)
