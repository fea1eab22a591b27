"""The weights of a model as arrays: its initializers, and what nodes ``Constant`` hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from onnx import AttributeProto, GraphProto, ModelProto, TensorProto

from headrace.aligned import Empty, Region, aligned, together
from headrace.errors import ResourceLimitError
from headrace.graph.constants import SMALL_BYTES, Entry, LazyConstant, MadeConstants
from headrace.onnx.file import limits
from headrace.onnx.file.attributes import form_of
from headrace.onnx.file.content import Extent
from headrace.onnx.file.external import ExternalFiles
from headrace.onnx.file.keys import domain_of
from headrace.onnx.file.split import LEAST_BYTES, SplitModel
from headrace.onnx.file.tensors import (
    Header,
    elements_of,
    header_of,
    is_here,
    read,
    sparse_to_array,
)
from headrace.onnx.file.text import Said, place, quote
from headrace.tensor_spec import Array, TensorSpec

CONSTANT = "Constant"


class Taken(NamedTuple):
    """The weights of a model.

    Attributes:
        entries: by name.
        alike: names of some that are as another, which has no name of these, and its name.
        nodes: those that are some of them, and nothing else any more: their positions, and names.
        later_bytes: of those that are read when they are asked for.
    """

    entries: dict[str, Entry]
    alike: Mapping[str, str]
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
    cuts = dict(split.nodes)
    # A model may say for itself what the op is.
    is_own = any(function.name == CONSTANT for function in model.functions)
    taken = {} if is_own else taking.constants(model.graph, cuts)
    for index, left in cuts.items():
        model.graph.node[index].attribute[0].t.raw_data = left.part()
    taking.settle()
    return Taken(taking.weights, taking.alike, taken, taking.later_bytes)


class _Taking:
    """What was taken of a model so far.

    Attributes:
        weights: by name.
        alike: by name, which other one a weight is as. Models say 0 and 1 again and again.
        later_bytes: of those that are read when they are asked for.
    """

    def __init__(
        self, name: str, files: ExternalFiles, made: MadeConstants | None, empty: Empty
    ) -> None:
        self.weights: dict[str, Entry] = {}
        self.alike: dict[str, str] = {}
        self.later_bytes = 0
        self._name, self._files, self._made, self._empty = name, files, made, empty
        self._small: dict[str, Array] = {}  # in the memory of messages
        self._first: dict[bytes, str] = {}  # the first weight of each message
        self._headers: dict[tuple[int, ...], Header] = {}  # those of most tensors are not new

    def initializers(self, graph: GraphProto, cut: Mapping[int, Extent]) -> None:
        """Take all initializers; raises as ``take_weights``."""
        protos = graph.initializer[:]
        places = [Said(_initializer, self._name, proto.name) for proto in protos]
        headers = list(map(self.header, protos, places))
        total = sum(header.nbytes for header in headers)
        if total > limits.WEIGHT_BYTES:
            raise ResourceLimitError(
                f"{self._name}: initializers take {total} bytes; the limit is {limits.WEIGHT_BYTES}"
            )
        for index, proto in enumerate(protos):
            self.weight(proto.name, proto, headers[index], places[index], cut.get(index))
        for sparse in graph.sparse_initializer:
            name = sparse.values.name
            dense = sparse_to_array(sparse, _initializer(self._name, name), self._files.folder)
            self.weights[name] = aligned(dense)
        graph.ClearField("initializer")
        graph.ClearField("sparse_initializer")

    def constants(self, graph: GraphProto, cut: dict[int, Extent]) -> dict[int, str]:
        """Take the tensors that nodes ``Constant`` of ONNX hold with their elements.

        Args:
            graph: the main graph.
            cut: what was cut out of nodes, by position; what is taken of it is gone from there.

        Returns:
            The positions of the nodes, and the names of the weights.
        """
        taken: dict[int, str] = {}
        inputs = {value.name for value in graph.input}
        for index, node in enumerate(graph.node):
            if node.op_type != CONSTANT or domain_of(node.domain) or node.input:
                continue
            attributes, outputs = node.attribute[:], node.output[:]
            if len(attributes) != 1 or len(outputs) != 1 or not outputs[0]:
                continue
            attribute, name = attributes[0], outputs[0]
            if form_of(attribute) != _VALUE:
                continue
            tensor = attribute.t
            if not is_here(tensor):
                continue
            if name not in self.weights and name not in inputs:  # else the names' check tells
                taken[index] = name
            extent = cut.pop(index, None)
            if extent is not None or not self._is_as_before(name, tensor):
                where = Said(place, self._name, node)
                self.weight(name, tensor, self.header(tensor, where), where, extent)
            node.ClearField("attribute")
        return taken

    def header(self, tensor: TensorProto, where: Said) -> Header:
        """``header_of`` a tensor."""
        key = (tensor.data_type, *tensor.dims[:])
        known = self._headers.get(key)
        if known is None:
            known = self._headers[key] = header_of(tensor, where)
        return known

    def weight(
        self, name: str, tensor: TensorProto, header: Header, where: Said, cut: Extent | None
    ) -> None:
        """Take a tensor: its elements, aligned, or how they are read later."""
        made = self._made
        elements = elements_of(tensor, header, where, self._files, cut)
        if not isinstance(elements, Extent):
            array = elements
        elif made is None or not _is_read_later(elements):
            array = read(elements, header, self._empty)
        else:
            spec = TensorSpec(header.shape, header.dtype)
            self.weights[name] = LazyConstant(
                spec, elements.key(spec), lambda empty: aligned(read(elements, header, empty)), made
            )
            self.later_bytes += header.nbytes
            return
        if header.nbytes <= SMALL_BYTES:
            self.weights[name] = self._small[name] = array
            return
        value = self.weights[name] = aligned(array)
        if made is not None:
            # It stays in memory, since it can be read nowhere again; what is made of it need not.
            spec = TensorSpec.of(value)
            self.weights[name] = LazyConstant(spec, name, lambda empty: value, made)

    def _is_as_before(self, name: str, tensor: TensorProto) -> bool:
        """Whether a tensor whose elements are in its message is as one before it, and that is it.

        Remembered of a small one, if none is.
        """
        tensor.ClearField("name")
        message = tensor.SerializeToString()
        if len(message) >= LEAST_BYTES:
            return False
        first = self._first.setdefault(message, name)
        if first == name:
            return False
        self.alike[name] = first
        self.weights[name] = self.weights[first]  # until both are settled
        return True

    def settle(self) -> None:
        """Let what is small lie aligned, in memory of its own."""
        small = self._small
        self.weights.update(zip(small, together(list(small.values())), strict=True))
        for name, first in self.alike.items():
            self.weights[name] = self.weights[first]


def _is_read_later(elements: Extent) -> bool:
    """Whether they are worth being read only when they are asked for."""
    return elements.nbytes >= LEAST_BYTES and not elements.content.is_held


def _initializer(model: str, name: str) -> str:
    return f"{model}: initializer {quote(name)}"


_VALUE = ("value", AttributeProto.TENSOR, "")
