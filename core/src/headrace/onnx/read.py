"""Reading a model: from a path, bytes or a ``ModelProto`` to a ``ModelFile`` that can be trusted.

Whatever comes out of here has a known format version and known operator sets, names that hold,
nodes that can be put in order, functions that end, and initializers that are arrays. Errors name
the file, the place in it and the reason.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.message import DecodeError, EncodeError
from onnx import GraphProto, ModelProto

from headrace.errors import InvalidModelError, ResourceLimitError, UnsupportedModelError
from headrace.onnx import limits, tensors
from headrace.onnx.calls import Functions, check_domains, collect_functions, opsets_of
from headrace.onnx.graphs import check_graph
from headrace.onnx.text import quote
from headrace.onnx.utf8 import check_text
from headrace.tensor_spec import Array

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | ModelProto
"""What a model can be loaded from."""

# How files begin that are often found where a model should be.
_LOOKS = (
    (b"version https://git-lfs", "a Git LFS pointer; fetch the file itself with `git lfs pull`"),
    (b"<", "an HTML or XML page; the download may have failed"),
    (b"PK\x03\x04", "a zip archive; unpack it first"),
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
    (b"{", "JSON text"),
    (b"\x89HDF", "an HDF5 file; export it as ONNX first"),
)


@dataclass(frozen=True, slots=True, eq=False)
class ModelFile:
    """A checked model; never changed.

    Attributes:
        name: of the file, for messages.
        folder: where external data may be; None for a model that was given as bytes.
        graph: the main graph, its initializers taken out.
        opsets: version of the operator set of each domain; the default domain is "".
        functions: the functions that the model brings.
        weights: its initializers.
    """

    name: str
    folder: Path | None
    graph: GraphProto
    opsets: Mapping[str, int]
    functions: Functions
    weights: Mapping[str, Array]


def read_model(source: Source, plugins: Collection[str] = ()) -> ModelFile:
    """Read and check a model.

    Args:
        source: path, bytes, or a ``ModelProto``, which is copied. External data is looked for in
            the folder of the path only.
        plugins: tags of installed backends, which are the domains of their own ops.

    Raises:
        InvalidModelError: it is not a model, is truncated, or contradicts itself.
        UnsupportedModelError: its versions, domains or dtypes are not known here.
        ResourceLimitError: it is larger than a stated limit; nothing of it was kept.
    """
    name, folder, data = _bytes_of(source)
    model = _parse(data, name)
    del data
    check_text(model, name)
    _check_versions(model, name)
    opsets = opsets_of(model.opset_import, name)
    if not model.HasField("graph"):
        raise InvalidModelError(f"{name}: the model has no graph")
    if not model.graph.output:
        raise InvalidModelError(f"{name}: the model has no outputs")
    check_graph(model.graph, name)
    weights = _take_weights(model.graph, name, folder)
    # A message frees the memory of its fields only as a whole.
    model = ModelProto.FromString(model.SerializeToString())
    functions = collect_functions(model.functions, name, plugins)
    check_domains(model.graph.node, opsets, functions, name, plugins)
    return ModelFile(name, folder, model.graph, opsets, functions, weights)


def _bytes_of(source: Source) -> tuple[str, Path | None, bytes]:
    if isinstance(source, ModelProto):
        try:
            return "model", None, source.SerializeToString()
        except (EncodeError, ValueError) as error:
            raise InvalidModelError(f"model: cannot be copied: {error}") from error
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        _check_size(len(data), "model")
        return "model", None, data
    if not isinstance(source, (str, os.PathLike)):
        raise InvalidModelError(
            f"a model is given by path, bytes or ModelProto, not as {type(source).__name__}"
        )
    path = Path(source)
    try:
        # Looked at before it is opened: opening a pipe would wait for its other end.
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InvalidModelError(f"{path}: is no plain file")
        _check_size(status.st_size, path.name)
        with path.open("rb") as file:
            # Room is made for as many bytes as are asked for, not for as many as there are.
            data = file.read(status.st_size + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidModelError(f"{path}: cannot be read: {reason}") from error
    _check_size(len(data), path.name)
    # A file name may hold bytes that are no text; the model's name goes into plans and messages.
    name = path.name.encode("utf-8", "backslashreplace").decode("utf-8")
    return name, path.parent, data


def _check_size(size: int, name: str) -> None:
    if size > limits.FILE_BYTES:
        raise ResourceLimitError(
            f"{name}: has {size} bytes; a model file may have {limits.FILE_BYTES}. Larger models "
            "keep their weights in external data"
        )


def _parse(data: bytes, name: str) -> ModelProto:
    if not data:
        raise InvalidModelError(f"{name}: is empty")
    begin = data[:64].lstrip()
    look = next((look for start, look in _LOOKS if begin.startswith(start)), "")
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        hint = f"looks like {look}" if look else "is damaged, truncated, or something else"
        raise InvalidModelError(f"{name}: is not an ONNX model; it {hint}") from error
    # Unrelated bytes can be a well-formed message by chance, of which no field is a model's.
    if not model.ir_version and not model.HasField("graph"):
        hint = f"looks like {look}" if look else "has neither a version nor a graph"
        raise InvalidModelError(f"{name}: is not an ONNX model; it {hint}")
    return model


def _check_versions(model: ModelProto, name: str) -> None:
    first, last = limits.IR_VERSIONS
    if not first <= model.ir_version <= last:
        raise UnsupportedModelError(
            f"{name}: has format version (ir_version) {model.ir_version}; headrace knows {first} "
            f"to {last}"
        )
    if not model.opset_import:
        raise InvalidModelError(f"{name}: does not say which operator set it is written for")


def _take_weights(graph: GraphProto, name: str, folder: Path | None) -> dict[str, Array]:
    """Turn the initializers into arrays; the graph keeps none, so that memory holds them once."""
    places = {t.name: f"{name}: initializer {quote(t.name)}" for t in graph.initializer}
    total = sum(tensors.nbytes_of(t, places[t.name]) for t in graph.initializer)
    if total > limits.WEIGHT_BYTES:
        raise ResourceLimitError(
            f"{name}: initializers take {total} bytes; the limit is {limits.WEIGHT_BYTES}"
        )
    weights = {t.name: tensors.to_array(t, places[t.name], folder) for t in graph.initializer}
    for sparse in graph.sparse_initializer:
        where = f"{name}: initializer {quote(sparse.values.name)}"
        weights[sparse.values.name] = tensors.sparse_to_array(sparse, where, folder)
    graph.ClearField("initializer")
    graph.ClearField("sparse_initializer")
    return weights
