"""``Site``: a node at the place where it is imported."""

from __future__ import annotations

from onnx import NodeProto

from headrace.light_tuple import NamedTuple
from headrace.onnx.file.attributes import Attributes, Resolved, whole
from headrace.onnx.file.graphs import Wired
from headrace.onnx.file.text import quote
from headrace.onnx.importing.scope import Scope
from headrace.onnx.importing.values import Value


class Site(NamedTuple):
    """A node at the place where it is imported.

    Attributes:
        wired: the node.
        inputs: its values; None for an input left out.
        resolved: its attributes, with references to those of a function's call resolved.
        used: how many outputs are used, counted up to the last that is.
        scope: the names that hold here.
        where: file and node, for messages.
    """

    wired: Wired
    inputs: tuple[Value | None, ...]
    resolved: Resolved
    used: int
    scope: Scope
    where: str

    @property
    def attributes(self) -> Attributes:
        """Its attributes by name."""
        return self.resolved.protos

    def written(self) -> NodeProto:
        """The node as it would be written where no function is around it.

        Raises:
            InvalidModelError: a long list cannot be read, or is damaged.
        """
        node = NodeProto()
        node.CopyFrom(self.wired.node)
        del node.attribute[:]
        for name, attribute in self.attributes.items():
            cut = self.resolved.lists.get(name)
            where = f"{self.where}, attribute {quote(name)}"
            node.attribute.append(attribute if cut is None else whole(attribute, cut, where))
            node.attribute[-1].name = name
        return node
