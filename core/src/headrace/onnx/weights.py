"""The weights of a model as arrays: its initializers, and what nodes ``Constant`` hold."""

from __future__ import annotations

from pathlib import Path

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto

from headrace.aligned import Region, aligned
from headrace.errors import ResourceLimitError
from headrace.onnx import limits, tensors
from headrace.onnx.calls import domain_of
from headrace.onnx.split import SplitModel
from headrace.onnx.text import place, quote
from headrace.tensor_spec import Array

CONSTANT = "Constant"


def take_weights(
    model: ModelProto, split: SplitModel, name: str, folder: Path | None
) -> dict[str, Array]:
    """Turn the weights of the main graph into arrays; it keeps none, so that they are there once.

    They are aligned, so that a device may read them where they lie. A node ``Constant`` that holds
    a tensor stays without it; others, and those whose tensor is in another file, stay as they are.

    Args:
        model: changed in place.
        split: what was cut out of it before it was parsed.
        name: of the file, for messages.
        folder: where external data may be; None when there is none.

    Raises:
        InvalidModelError: a tensor contradicts itself, or its external data cannot be read.
        UnsupportedModelError: headrace has no such dtype.
        ResourceLimitError: they are larger than a stated limit.
    """
    memory = Region(split.cut_bytes)
    weights = _take_initializers(model.graph, split, name, folder, memory)
    # A model may say for itself what the op is.
    is_own = any(function.name == CONSTANT for function in model.functions)
    for index, node in enumerate(model.graph.node):
        if node.op_type != CONSTANT:
            continue
        raw = split.constants.get(index)
        if not is_own and _is_weight(node):
            tensor, where = node.attribute[0].t, place(name, node)
            value = tensors.to_array(tensor, where, folder, raw, memory.empty)
            weights[node.output[0]] = aligned(value)
            node.ClearField("attribute")
        elif raw is not None:
            node.attribute[0].t.raw_data = raw.part()
    return weights


def _take_initializers(
    graph: GraphProto, split: SplitModel, name: str, folder: Path | None, memory: Region
) -> dict[str, Array]:
    places = [f"{name}: initializer {quote(t.name)}" for t in graph.initializer]
    total = sum(map(tensors.nbytes_of, graph.initializer, places))
    if total > limits.WEIGHT_BYTES:
        raise ResourceLimitError(
            f"{name}: initializers take {total} bytes; the limit is {limits.WEIGHT_BYTES}"
        )
    weights: dict[str, Array] = {}
    for index, (tensor, where) in enumerate(zip(graph.initializer, places, strict=True)):
        cut = split.initializers.get(index)
        value = tensors.to_array(tensor, where, folder, cut, memory.empty)
        weights[tensor.name] = aligned(value)
    for sparse in graph.sparse_initializer:
        where = f"{name}: initializer {quote(sparse.values.name)}"
        weights[sparse.values.name] = aligned(tensors.sparse_to_array(sparse, where, folder))
    graph.ClearField("initializer")
    graph.ClearField("sparse_initializer")
    return weights


def _is_weight(node: NodeProto) -> bool:
    """True for a ``Constant`` of ONNX that holds a tensor with its elements."""
    if domain_of(node.domain) or node.input or len(node.output) != 1 or len(node.attribute) != 1:
        return False
    (attribute,) = node.attribute
    if attribute.name != "value" or attribute.type != AttributeProto.TENSOR or not node.output[0]:
        return False
    return tensors.is_here(attribute.t) and not attribute.ref_attr_name
