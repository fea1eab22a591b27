"""The weights of a model as arrays: its initializers, and what nodes ``Constant`` hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from headrace.aligned import Empty, Region, aligned, together
from headrace.errors import ResourceLimitError
from headrace.graph.constants import SMALL_BYTES, Entry, LazyConstant, MadeConstants
from headrace.onnx.file import limits, tensors
from headrace.onnx.file.content import Extent
from headrace.onnx.file.external import ExternalFiles
from headrace.onnx.file.keys import domain_of
from headrace.onnx.file.split import LEAST_BYTES, SplitModel
from headrace.onnx.file.tensors import Header
from headrace.onnx.file.text import Said, place, quote
from headrace.tensor_spec import Array, TensorSpec

CONSTANT = "Constant"


class Taken(NamedTuple):
    """The weights of a model.

    Attributes:
        entries: by name.
        nodes: those that are some of them, and nothing else any more: their positions, and names.
        later_bytes: of those that are read when they are asked for.
    """

    entries: dict[str, Entry]
    nodes: Mapping[int, str]
    later_bytes: int


def take_weights(
    model: ModelProto,
    split: SplitModel,
    name: str,
    files: ExternalFiles,
    made: MadeConstants | None = None,
) -> Taken:
    """Turn the weights of the main graph into arrays; it keeps none, so that they are there once.

    They are aligned, so that a device may read them where they lie. A node ``Constant`` that holds
    a tensor stays without it; others, and those whose tensor is in another file, stay as they are.
    Of what lies in a file elements are read when they are asked for, if they are to be shared.

    Args:
        model: changed in place.
        split: what was cut out of it before it was parsed.
        name: of the file, for messages.
        files: where external data is.
        made: what jobs of the model share; None: all is read now.

    Raises:
        InvalidModelError: a tensor contradicts itself, or its external data cannot be read.
        UnsupportedModelError: headrace has no such dtype.
        ResourceLimitError: they are larger than a stated limit.
    """
    taking = _Taking(name, files, made, Region(split.cut_bytes).empty)
    taking.initializers(model.graph, split.initializers)
    inputs = {value.name for value in model.graph.input}
    taken: dict[int, str] = {}
    # A model may say for itself what the op is.
    is_own = any(function.name == CONSTANT for function in model.functions)
    for index, node in enumerate(model.graph.node):
        raw = split.nodes.get(index)
        tensor = _tensor_of(node) if node.op_type == CONSTANT and not is_own else None
        if tensor is not None:
            output = node.output[0]
            if output not in taking.weights and output not in inputs:  # else the names' check tells
                taken[index] = output
            where = Said(place, name, node)
            taking.weight(output, tensor, tensors.header_of(tensor, where), where, raw)
            node.ClearField("attribute")
        elif raw is not None:
            node.attribute[0].t.raw_data = raw.part()
    taking.settle()
    return Taken(taking.weights, taken, taking.later_bytes)


class _Taking:
    """What was taken of a model so far.

    Attributes:
        weights: by name.
        later_bytes: of those that are read when they are asked for.
    """

    def __init__(
        self, name: str, files: ExternalFiles, made: MadeConstants | None, empty: Empty
    ) -> None:
        self.weights: dict[str, Entry] = {}
        self.later_bytes = 0
        self._name, self._files, self._made, self._empty = name, files, made, empty
        self._small: dict[str, Array] = {}  # in the memory of messages

    def initializers(self, graph: GraphProto, cut: Mapping[int, Extent]) -> None:
        """Take all initializers; raises as ``take_weights``."""
        places = [Said(_initializer, self._name, tensor.name) for tensor in graph.initializer]
        headers = list(map(tensors.header_of, graph.initializer, places))
        total = sum(header.nbytes for header in headers)
        if total > limits.WEIGHT_BYTES:
            raise ResourceLimitError(
                f"{self._name}: initializers take {total} bytes; the limit is {limits.WEIGHT_BYTES}"
            )
        every = zip(graph.initializer, headers, places, strict=True)
        for index, (tensor, header, where) in enumerate(every):
            self.weight(tensor.name, tensor, header, where, cut.get(index))
        for sparse in graph.sparse_initializer:
            name = sparse.values.name
            dense = tensors.sparse_to_array(
                sparse, _initializer(self._name, name), self._files.folder
            )
            self.weights[name] = aligned(dense)
        graph.ClearField("initializer")
        graph.ClearField("sparse_initializer")

    def weight(
        self, name: str, tensor: TensorProto, header: Header, where: Said, cut: Extent | None
    ) -> None:
        """Take a tensor: its elements, aligned, or how they are read later."""
        made = self._made
        make, place = tensors.array_maker(tensor, header, where, self._files, cut)
        if made is not None and place is not None and _is_read_later(place):
            spec = TensorSpec(header.shape, header.dtype)
            lazy = LazyConstant(spec, place.key(spec), lambda empty: aligned(make(empty)), made)
            self.weights[name] = lazy
            self.later_bytes += header.nbytes
            return
        read = make(self._empty)
        if header.nbytes <= SMALL_BYTES:
            self.weights[name] = read
            if place is None:
                self._small[name] = read
            return
        value = self.weights[name] = aligned(read)
        if made is not None:
            # It stays in memory, since it can be read nowhere again; what is made of it need not.
            spec = TensorSpec.of(value)
            self.weights[name] = LazyConstant(spec, name, lambda empty: value, made)

    def settle(self) -> None:
        """Let what is small lie aligned, in memory of its own."""
        small = self._small
        self.weights.update(zip(small, together(list(small.values())), strict=True))


def _is_read_later(place: Extent) -> bool:
    """Whether elements that lie there are worth being read only when they are asked for."""
    return place.nbytes >= LEAST_BYTES and not place.content.is_held


def _initializer(model: str, name: str) -> str:
    return f"{model}: initializer {quote(name)}"


def _tensor_of(node: NodeProto) -> TensorProto | None:
    """What a ``Constant`` of ONNX holds, if that is a tensor with its elements."""
    attributes, outputs = node.attribute[:], node.output[:]
    if domain_of(node.domain) or node.input or len(outputs) != 1 or len(attributes) != 1:
        return None
    attribute = attributes[0]
    if attribute.name != "value" or attribute.type != AttributeProto.TENSOR or not outputs[0]:
        return None
    tensor = attribute.t
    return tensor if tensors.is_here(tensor) and not attribute.ref_attr_name else None
