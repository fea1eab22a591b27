"""Tensors of a model file as numpy arrays, sized up before anything is allocated.

A ``TensorProto`` says its shape and dtype, and holds its elements in one of several fields, packed
or not, or names a file that holds them. Nothing is believed: the number of bytes or elements that
are there must be the number that the shape asks for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from onnx import SparseTensorProto, TensorProto

from headrace import dtypes
from headrace.aligned import Empty, aligned_empty
from headrace.dtypes import DType, dtype_of
from headrace.errors import InvalidModelError, ResourceLimitError, UnsupportedModelError
from headrace.onnx.file import external, limits
from headrace.onnx.file.content import Extent
from headrace.onnx.file.hosted_error import HostedValuesError
from headrace.onnx.file.text import Where
from headrace.tensor_spec import MAX_RANK, Array

_DTYPES: Mapping[int, DType] = {
    TensorProto.FLOAT: dtypes.float32,
    TensorProto.UINT8: dtypes.uint8,
    TensorProto.INT8: dtypes.int8,
    TensorProto.UINT16: dtypes.uint16,
    TensorProto.INT16: dtypes.int16,
    TensorProto.INT32: dtypes.int32,
    TensorProto.INT64: dtypes.int64,
    TensorProto.BOOL: dtypes.bool_,
    TensorProto.FLOAT16: dtypes.float16,
    TensorProto.DOUBLE: dtypes.float64,
    TensorProto.UINT32: dtypes.uint32,
    TensorProto.UINT64: dtypes.uint64,
    TensorProto.BFLOAT16: dtypes.bfloat16,
    TensorProto.FLOAT8E4M3FN: dtype_of("float8_e4m3fn"),
    TensorProto.FLOAT8E4M3FNUZ: dtype_of("float8_e4m3fnuz"),
    TensorProto.FLOAT8E5M2: dtype_of("float8_e5m2"),
    TensorProto.FLOAT8E5M2FNUZ: dtype_of("float8_e5m2fnuz"),
    TensorProto.UINT4: dtype_of("uint4"),
    TensorProto.INT4: dtype_of("int4"),
}
_ONNX_TYPES = {dtype: number for number, dtype in _DTYPES.items()}

_FIELDS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data")
# The typed field of a dtype; every other dtype keeps its values or its bit patterns in int32_data.
_FIELD_OF = {
    dtypes.float32: "float_data",
    dtypes.float64: "double_data",
    dtypes.int64: "int64_data",
    dtypes.uint32: "uint64_data",
    dtypes.uint64: "uint64_data",
}
_typed = attrgetter(*_FIELDS)
_PACKED = {dtype_of("uint4"), dtype_of("int4")}
# Bytes of a bool may be any; ml_dtypes has no little-endian twin of the machine's own bfloat16.
_CODED = {*_PACKED, dtypes.bool_, dtypes.bfloat16}


def dtype_from_onnx(number: int, where: Where) -> DType:
    """The dtype that ONNX numbers ``number``.

    Raises:
        InvalidModelError: ONNX has no such number.
        UnsupportedModelError: it has, and headrace has no such tensors.
    """
    dtype = _DTYPES.get(number)
    if dtype is not None:
        return dtype
    try:
        name = TensorProto.DataType.Name(number).lower()
    except ValueError:
        raise InvalidModelError(f"{where}: ONNX has no data type {number}") from None
    if number == TensorProto.UNDEFINED:
        raise InvalidModelError(f"{where}: the data type is not given")
    kind = HostedValuesError if number == TensorProto.STRING else UnsupportedModelError
    raise kind(f"{where}: headrace has no {name} tensors")


def dtype_to_onnx(dtype: DType) -> int:
    """ONNX's number of a dtype; every dtype of headrace has one."""
    return _ONNX_TYPES[dtype]


class Header(NamedTuple):
    """What a tensor says of itself before its elements.

    Attributes:
        shape, dtype: of the array that it becomes.
        elements: how many it has.
        nbytes: of the array.
        stored_bytes: of the elements in a file, where two of 4 bits share a byte.
        stored: what numpy calls them there; None if they are to be decoded.
    """

    shape: tuple[int, ...]
    dtype: DType
    elements: int
    nbytes: int
    stored_bytes: int
    stored: np.dtype[Any] | None


def header_of(tensor: TensorProto, where: Where) -> Header:
    """The header of ``tensor``.

    Raises:
        InvalidModelError: a dimension is negative or the data type does not exist.
        UnsupportedModelError: headrace has no such dtype, or it has too many dimensions.
    """
    shape = tuple(tensor.dims[:])
    dtype = dtype_from_onnx(tensor.data_type, where)
    count = _count(shape, where)
    nbytes = count * dtype.itemsize
    stored_bytes = (count + 1) // 2 if dtype in _PACKED else nbytes
    stored = None if dtype in _CODED else dtype.numpy.newbyteorder("<")
    return Header(shape, dtype, count, nbytes, stored_bytes, stored)


def external_range(tensor: TensorProto, where: Where) -> external.ExternalRange:
    """Where the elements of ``tensor`` are, which is in another file.

    Raises:
        InvalidModelError, UnsupportedModelError: as ``to_array``.
    """
    return external.range_of(tensor, header_of(tensor, where).stored_bytes, where)


def is_here(tensor: TensorProto) -> bool:
    """True for a tensor of a dtype of headrace whose elements are in the model itself."""
    return tensor.data_location != TensorProto.EXTERNAL and tensor.data_type in _DTYPES


def to_array(tensor: TensorProto, where: Where, folder: Path | None) -> Array:
    """The array that ``tensor`` holds; read-only when it shares the tensor's bytes.

    Args:
        tensor: from a model file.
        where: file and tensor, for messages.
        folder: the model's own folder, where external data may be; None when there is none.

    Raises:
        InvalidModelError: it contradicts itself, or its elements cannot be read.
        UnsupportedModelError: headrace has no such dtype, or it has too many dimensions.
    """
    header = header_of(tensor, where)
    found = elements_of(tensor, header, where, external.ExternalFiles(folder))
    return read(found, header) if isinstance(found, Extent) else found


def elements_of(
    tensor: TensorProto,
    header: Header,
    where: Where,
    files: external.ExternalFiles,
    cut: Extent | None = None,
) -> Extent | Array:
    """``to_array``, where elements that lie in a file are not read yet, but found.

    Args:
        tensor, where: as for ``to_array``.
        header: that of the tensor.
        files: the files of external data.
        cut: where its ``raw_data`` is, if that was taken out.

    Returns:
        Where they lie, in the model's file or another; or, if they are in memory by now, the array.

    Raises:
        InvalidModelError, UnsupportedModelError: as ``to_array``, but for what cannot be read.
    """
    if tensor.HasField("segment"):
        raise UnsupportedModelError(f"{where}: tensors in segments are not read")
    filled = [name for name in _FIELDS if getattr(tensor, name)] if any(_typed(tensor)) else []
    if tensor.data_location == TensorProto.EXTERNAL:
        if filled or cut is not None or tensor.raw_data:
            raise InvalidModelError(f"{where}: has both external data and data of its own")
        return files.find(external.range_of(tensor, header.stored_bytes, where), where)
    if not tensor.HasField("raw_data"):
        return _from_field(tensor, header, filled, where).reshape(header.shape)
    if filled:
        raise InvalidModelError(f"{where}: has both raw_data and {filled[0]}")
    raw = tensor.raw_data
    nbytes = len(raw) if cut is None else cut.nbytes
    if nbytes != header.stored_bytes:
        raise InvalidModelError(
            f"{where}: {header.dtype}[{_text(header.shape)}] takes {header.stored_bytes} bytes and "
            f"raw_data has {nbytes}"
        )
    return _from_bytes(raw, header) if cut is None else cut


def read(elements: Extent, header: Header, empty: Empty = aligned_empty) -> Array:
    """The array of a tensor whose elements lie in a file; read anew, into memory that is given.

    Raises:
        InvalidModelError: they cannot be read.
    """
    return _from_bytes(elements.array(empty), header)


def sparse_to_array(sparse: SparseTensorProto, where: Where, folder: Path | None) -> Array:
    """The dense array that a sparse tensor stands for.

    Raises:
        InvalidModelError, UnsupportedModelError: as ``to_array``; an index is out of range.
        ResourceLimitError: the dense array is larger than one tensor may be.
    """
    dims = tuple(sparse.dims)
    size = _count(dims, where)
    values = to_array(sparse.values, f"{where}, values", folder)
    indices = to_array(sparse.indices, f"{where}, indices", folder)
    if indices.dtype != np.int64 or values.ndim != 1 or indices.ndim not in (1, 2):
        raise InvalidModelError(f"{where}: values must be [n] and indices int64 [n] or [n, rank]")
    if len(indices) != len(values) or (indices.ndim == 2 and indices.shape[1] != len(dims)):
        raise InvalidModelError(
            f"{where}: indices {list(indices.shape)} do not fit {len(values)} values of rank "
            f"{len(dims)}"
        )
    if size * values.dtype.itemsize > limits.TENSOR_BYTES:
        raise ResourceLimitError(
            f"{where}: {values.dtype}{list(dims)} is over {limits.TENSOR_BYTES} bytes"
        )
    bounds = np.array(dims if indices.ndim == 2 else [size], np.int64)
    if indices.size and ((indices < 0).any() or (indices.reshape(len(values), -1) >= bounds).any()):
        raise InvalidModelError(f"{where}: an index is outside {list(dims)}")
    dense = np.zeros(dims, values.dtype)
    if indices.ndim == 2:
        dense[tuple(indices.T)] = values
    else:
        dense.reshape(-1)[indices] = values
    return dense


def _count(dims: Sequence[int], where: Where) -> int:
    if dims and min(dims) < 0:
        raise InvalidModelError(f"{where}: shape [{_text(dims)}] has a negative dimension")
    if len(dims) > MAX_RANK:
        raise UnsupportedModelError(f"{where}: has rank {len(dims)}; the limit is {MAX_RANK}")
    return math.prod(dims)


def _text(dims: Iterable[int]) -> str:
    return ", ".join(map(str, dims))


def _from_bytes(raw: bytes | Array, header: Header) -> Array:
    """The array whose bytes a file has, which are little-endian on every machine."""
    if header.stored is None:
        return _decoded(np.frombuffer(raw, np.uint8), header).reshape(header.shape)
    stored: Array = np.ndarray(header.shape, header.stored, raw)
    return stored if header.stored.isnative else stored.astype(header.dtype.numpy)


def _decoded(raw: Array, header: Header) -> Array:
    """The elements of a dtype whose bytes in a file are not those in memory."""
    if header.dtype == dtypes.bool_:
        return _truth(raw)
    if header.dtype == dtypes.bfloat16:
        return raw.view("<u2").astype(np.uint16, copy=False).view(header.dtype.numpy)
    return _unpack(raw, header)


def _truth(raw: Array) -> Array:
    """A file may have any byte for true; a bool in memory must be 0 or 1."""
    return np.not_equal(raw, 0)


def _unpack(raw: Array, header: Header) -> Array:
    """4-bit elements, the first of each pair in the low half of the byte."""
    pairs = np.stack([raw & 0xF, raw >> 4], axis=-1).reshape(-1)[: header.elements]
    values = (pairs ^ 8).astype(np.int8) - 8 if header.dtype.kind == "i" else pairs
    return values.astype(header.dtype.numpy)


def _from_field(tensor: TensorProto, header: Header, filled: list[str], where: Where) -> Array:
    dtype = header.dtype
    name = _FIELD_OF.get(dtype, "int32_data")
    if filled and filled != [name]:
        raise InvalidModelError(f"{where}: {dtype} elements are in {name}, not in {filled}")
    field = getattr(tensor, name)
    expected = header.stored_bytes if dtype in _PACKED else header.elements
    if len(field) != expected:
        raise InvalidModelError(
            f"{where}: {dtype}[{_text(header.shape)}] takes {expected} elements and {name} has "
            f"{len(field)}"
        )
    if dtype in _FIELD_OF and dtype != dtypes.uint32:
        return np.array(field, dtype.numpy)
    values = np.array(field, np.uint64 if name == "uint64_data" else np.int64)
    # Small floats and 4-bit pairs are stored as their bits, everything else as its value.
    bits = dtype.is_float or dtype in _PACKED
    stored = np.dtype(f"u{dtype.itemsize}") if bits or dtype == dtypes.bool_ else dtype.numpy
    bounds = np.iinfo(stored)
    if values.size and (values.min() < bounds.min or values.max() > bounds.max):
        raise InvalidModelError(f"{where}: {name} has elements that are no {dtype}")
    narrow = values.astype(stored)
    if dtype in _PACKED:
        return _unpack(narrow, header)
    if dtype == dtypes.bool_:
        return _truth(narrow)
    return narrow.view(dtype.numpy) if bits else narrow
