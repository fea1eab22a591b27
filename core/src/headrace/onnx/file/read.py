"""Reading a model: from a path, bytes or a ``ModelProto`` to a ``ModelFile`` that can be trusted.

Whatever comes out of here has a known format version and known operator sets, names that hold,
nodes that can be put in order, functions that end, and initializers that are arrays. Errors name
the file, the place in it and the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, TensorProto

from headrace.errors import InvalidModelError, UnsupportedModelError
from headrace.graph.constants import Entry, MadeConstants
from headrace.light_dataclass import dataclass
from headrace.onnx.file import limits, tensors
from headrace.onnx.file.calls import Functions, check_domains, collect_functions, opsets_of
from headrace.onnx.file.external import ExternalFiles, ExternalRange
from headrace.onnx.file.graphs import Wired, check_graph, initializer_names, order
from headrace.onnx.file.source import GivenModel, open_model
from headrace.onnx.file.split import Lists, lists_of, split_model
from headrace.onnx.file.text import quote
from headrace.onnx.file.utf8 import check_text
from headrace.onnx.file.weights import take_weights

if TYPE_CHECKING:
    from headrace.onnx.file.source import Source

# How files begin that are often found where a model should be.
_LOOKS = (
    (b"version https://git-lfs", "a Git LFS pointer; fetch the file itself with `git lfs pull`"),
    (b"<", "an HTML or XML page; the download may have failed"),
    (b"PK\x03\x04", "a zip archive; unpack it first"),
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
    (b"{", "JSON text"),
    (b"\x8bHRPLN", "a compiled plan, which `headrace run` takes; give the model that it is of"),
    (b"\x89HDF", "an HDF5 file; export it as ONNX first"),
)


_EXTERNAL = b"\x0a\x08location"
"""How the description of external data has the name of its file in it."""

_LEAST_BYTES = 1 << 20
"""What a smaller message holds of weights that were taken is not worth to make it anew."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelFile:
    """A checked model; never changed.

    Attributes:
        name: of the file, for messages.
        folder: where external data may be; None for a model that was given as bytes.
        graph: the main graph, its weights taken out.
        nodes: those of its nodes that its outputs are computed with, each after those that it
            reads from; not those that are weights.
        opsets: version of the operator set of each domain; the default domain is "".
        functions: the functions that the model brings.
        weights: its initializers and its constants, by name; aligned. Nobody writes to them, and
            nobody asks one that is lazy for its value: what is asked is the same of another job.
        alike: by the names of some weights, that of another one that they are as.
        held_bytes: of all that it holds of the file, about.
        externals: what weights lie in files beside the model; None when a node reads a part of
            these as well.
    """

    name: str
    folder: Path | None
    graph: GraphProto
    nodes: Sequence[Wired]
    opsets: Mapping[str, int]
    functions: Functions
    weights: Mapping[str, Entry]
    alike: Mapping[str, str] = field(default_factory=dict)
    externals: tuple[ExternalRange, ...] | None = ()
    held_bytes: int = 0

    @property
    def is_whole(self) -> bool:
        """True when no part of it is in another file."""
        return self.externals == ()


def read_model(source: Source) -> ModelFile:
    """``parse_model`` of ``open_model``.

    Raises:
        InvalidModelError, UnsupportedModelError, ResourceLimitError: as these.
    """
    return parse_model(open_model(source))


def parse_model(
    given: GivenModel, plugins: Collection[str] = (), made: MadeConstants | None = None
) -> ModelFile:
    """Check a model.

    Args:
        given: where it is. External data is looked for in the folder of its path only.
        plugins: tags of installed backends, which are the domains of their own ops.
        made: what jobs of the model share; None: its weights are read now.

    Raises:
        InvalidModelError: it is not a model, is truncated, or contradicts itself.
        UnsupportedModelError: its versions, domains or dtypes are not known here.
        ResourceLimitError: it is larger than a stated limit; nothing of it was kept.
    """
    name, folder = given.name, given.folder
    split = split_model(given.content)
    model = _parse(split.message, name)
    lists = lists_of(model, split, name)
    if model.HasField("graph"):  # of what lies between: often most messages, and for nobody
        model.graph.ClearField("value_info")
    check_text(model, split.message, name)
    _check_versions(model, name)
    opsets = opsets_of(model.opset_import, name)
    if not model.HasField("graph"):
        raise InvalidModelError(f"{name}: the model has no graph")
    if not model.graph.output:
        raise InvalidModelError(f"{name}: the model has no outputs")
    externals = _external_ranges(model.graph, name)
    initializers = initializer_names(model.graph)
    weights, alike, taken, later_bytes = take_weights(
        model, split, name, ExternalFiles(folder), made
    )
    rest_bytes = len(split.message)
    if rest_bytes > _LEAST_BYTES or _EXTERNAL in split.message:
        # A message frees the memory of its fields only as a whole.
        rest = model.SerializeToString()
        model = ModelProto.FromString(rest)
        rest_bytes = len(rest)
        if _EXTERNAL in rest:
            externals = None
    graph = model.graph
    left = {index: node for index, node in enumerate(graph.node) if index not in taken}
    constants = [*initializers, *taken.values()]
    whole = check_graph(graph, name, nodes=list(left.values()), constants=constants)
    if lists:
        whole = [_with_lists(node, lists.get(i)) for i, node in zip(left, whole, strict=True)]
    functions = collect_functions(model.functions, name, plugins)
    check_domains(whole, opsets, functions, name, plugins)
    nodes = order(whole, [output.name for output in graph.output], name)
    whole_bytes = sum(weight.nbytes for weight in weights.values())
    held_bytes = rest_bytes + whole_bytes - later_bytes
    return ModelFile(
        name, folder, graph, nodes, opsets, functions, weights, alike, externals, held_bytes
    )


def _with_lists(node: Wired, lists: Lists | None) -> Wired:
    return (
        node if lists is None else node._replace(attributes=node.attributes._replace(lists=lists))
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


def _external_ranges(graph: GraphProto, name: str) -> tuple[ExternalRange, ...] | None:
    """The parts of other files that initializers are in; None when a sparse one may be in some."""
    ranges = [
        tensors.external_range(tensor, f"{name}: initializer {quote(tensor.name)}")
        for tensor in graph.initializer
        if tensor.data_location == TensorProto.EXTERNAL
    ]
    if any(_EXTERNAL in sparse.SerializeToString() for sparse in graph.sparse_initializer):
        return None
    return tuple(ranges)
