"""How two tensors of different shapes meet: as numpy's do, since operator set 7."""

from __future__ import annotations

from headrace.onnx.importing.axes import normal_axis
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def joined(node: Node) -> tuple[Tensor, Tensor]:
    """Inputs 0 and 1 with shapes that broadcast as numpy's do.

    Before operator set 7 only the second input was repeated, only where the node says so, and its
    axes could be those in the middle of the first.

    Raises:
        InvalidModelError: the shapes do not fit.
    """
    a, b = node.input(0), node.input(1)
    if node.opset >= 7 or a.spec.shape == b.spec.shape:
        return a, b
    if not node.attr("broadcast", 0):
        node.invalid(f"the shapes of {a.spec} and {b.spec} differ, and broadcast is 0")
    if node.has_attr("axis") and b.spec.elements != 1:
        behind = a.spec.rank - normal_axis(node, node.attr("axis"), a.spec.rank) - b.spec.rank
        if behind < 0:
            node.invalid(f"{b.spec} has more axes than {a.spec} from axis {node.attr('axis')} on")
        b = node.one("reshape", [b], shape=(*b.spec.shape, *(1,) * behind))
    ends = zip(reversed(a.spec.shape), reversed(b.spec.shape), strict=False)
    if b.spec.rank > a.spec.rank or any(theirs not in (1, ours) for ours, theirs in ends):
        node.invalid(f"{node.input(1).spec} does not broadcast to the shape of {a.spec}")
    return a, b


def joining(op: str) -> Converter:
    """The node that is one headrace op of two tensors, which broadcast."""

    def convert(node: Node) -> Tensor:
        return node.one(op, joined(node))

    return convert
