"""The weights of a model as arrays: its initializers, and what nodes ``Constant`` hold."""

from __future__ import annotations

from typing import NamedTuple

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from headrace.aligned import Empty, Region, aligned
from headrace.errors import ResourceLimitError
from headrace.graph.constants import SMALL_BYTES, Entry, LazyConstant, MadeConstants
from headrace.onnx import limits, tensors
from headrace.onnx.calls import domain_of
from headrace.onnx.content import Extent
from headrace.onnx.external import ExternalFiles
from headrace.onnx.split import SplitModel
from headrace.onnx.text import place, quote
from headrace.tensor_spec import TensorSpec

CONSTANT = "Constant"


class Taken(NamedTuple):
    """The weights of a model.

    Attributes:
        entries: by name.
        nodes: positions of the nodes that are some of them, and nothing else any more.
    """

    entries: dict[str, Entry]
    nodes: frozenset[int]


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
    Of what was cut out elements are read when they are asked for, if they are to be shared.

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
    empty = Region(split.cut_bytes).empty
    weights = _take_initializers(model.graph, split, name, files, made, empty)
    inputs = {value.name for value in model.graph.input}
    taken: set[int] = set()
    # A model may say for itself what the op is.
    is_own = any(function.name == CONSTANT for function in model.functions)
    for index, node in enumerate(model.graph.node):
        if node.op_type != CONSTANT:
            continue
        raw = split.constants.get(index)
        tensor = None if is_own else _tensor_of(node)
        if tensor is not None:
            where, output = place(name, node), node.output[0]
            if output not in weights and output not in inputs:  # else the check of names tells
                taken.add(index)
            weights[output] = _weight(tensor, where, files, raw, made, empty)
            node.ClearField("attribute")
        elif raw is not None:
            node.attribute[0].t.raw_data = raw.part()
    return Taken(weights, frozenset(taken))


def _take_initializers(
    graph: GraphProto,
    split: SplitModel,
    name: str,
    files: ExternalFiles,
    made: MadeConstants | None,
    empty: Empty,
) -> dict[str, Entry]:
    places = [f"{name}: initializer {quote(t.name)}" for t in graph.initializer]
    total = sum(map(tensors.nbytes_of, graph.initializer, places))
    if total > limits.WEIGHT_BYTES:
        raise ResourceLimitError(
            f"{name}: initializers take {total} bytes; the limit is {limits.WEIGHT_BYTES}"
        )
    weights: dict[str, Entry] = {}
    for index, (tensor, where) in enumerate(zip(graph.initializer, places, strict=True)):
        cut = split.initializers.get(index)
        weights[tensor.name] = _weight(tensor, where, files, cut, made, empty)
    for sparse in graph.sparse_initializer:
        where = f"{name}: initializer {quote(sparse.values.name)}"
        weights[sparse.values.name] = aligned(tensors.sparse_to_array(sparse, where, files.folder))
    graph.ClearField("initializer")
    graph.ClearField("sparse_initializer")
    return weights


def _weight(
    tensor: TensorProto,
    where: str,
    files: ExternalFiles,
    cut: Extent | None,
    made: MadeConstants | None,
    empty: Empty,
) -> Entry:
    """The elements of a tensor, aligned; what is read now, in memory that ``empty`` gives."""
    make = tensors.array_maker(tensor, where, files, cut)
    if made is not None and cut is not None and not cut.content.is_held:
        spec = TensorSpec(tuple(tensor.dims), tensors.dtype_from_onnx(tensor.data_type, where))
        return LazyConstant(spec, cut.key(spec), lambda empty: aligned(make(empty)), made)
    read = make(empty)
    if read.nbytes <= SMALL_BYTES:  # to copy it takes less than to look where it lies
        value = empty(read.shape, read.dtype)
        value[...] = read
        return value
    value = aligned(read)
    if made is None:
        return value
    # It stays in memory, since it can be read nowhere again; what is made of it need not be.
    return LazyConstant(TensorSpec.of(value), where, lambda empty: value, made)


def _tensor_of(node: NodeProto) -> TensorProto | None:
    """What a ``Constant`` of ONNX holds, if that is a tensor with its elements."""
    attributes = node.attribute
    if domain_of(node.domain) or node.input or len(node.output) != 1 or len(attributes) != 1:
        return None
    attribute = attributes[0]
    if attribute.name != "value" or attribute.type != AttributeProto.TENSOR or not node.output[0]:
        return None
    tensor = attribute.t
    return tensor if tensors.is_here(tensor) and not attribute.ref_attr_name else None
