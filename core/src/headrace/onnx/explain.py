"""Explanations of models: the ops of a job, put back to the nodes that they came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from headrace.frontend.explain import ExplainedOp, Explanation
from headrace.light_dataclass import dataclass
from headrace.onnx.file.read import ModelFile
from headrace.onnx.file.text import place

FOLDED = "folded"
"""How a node runs that became no op of its own: its value is known, or another op does its work."""

UNUSED = "unused"
"""How a node runs that no output needs."""


@dataclass(frozen=True, slots=True)
class ExplainedNode:
    """One node of a model.

    Attributes:
        node: where it is, as messages name it.
        op_type: its ONNX op.
        how: the least favourable of its ops: ``kernel``, ``decomposed``, ``fallback``,
            ``unsupported``; or ``folded`` or ``unused`` for a node that became no op.
        ops: what it became.
    """

    node: str
    op_type: str
    how: str
    ops: tuple[ExplainedOp, ...]


@dataclass(frozen=True, slots=True)
class ExplainedModel:
    """A model on a device.

    Attributes:
        device: where it was asked to run.
        nodes: of its main graph, in order.
        job: the job that it became.
    """

    device: str
    nodes: tuple[ExplainedNode, ...]
    job: Explanation

    def counts(self) -> dict[str, int]:
        """How many nodes run in which way."""
        return dict(Counter(node.how for node in self.nodes))


_RANK = ("kernel", "decomposed", "fallback", "unsupported")


def explain_nodes(file: ModelFile, device: str, job: Explanation) -> ExplainedModel:
    """Group the ops of ``job`` by the nodes of ``file``.

    A node that calls a function of the model, or takes a branch, has the ops of what is inside.
    """
    by_place: dict[str, list[ExplainedOp]] = {}
    for op in job.ops:
        for where in _around(op.location):
            by_place.setdefault(where, []).append(op)
    # A message read twice is one object as long as somebody holds it.
    live = {id(node.node) for node in file.nodes}
    read = {name for node in file.nodes for name in node.reads}
    read.update(output.name for output in file.graph.output)
    weights = file.weights.keys() & read
    nodes = []
    for node in file.graph.node:
        where = place(file.name, node)
        ops = tuple(by_place.get(where, ()))
        is_used = id(node) in live or not weights.isdisjoint(node.output)
        nothing = FOLDED if is_used else UNUSED
        how = max((op.how for op in ops), key=_RANK.index, default=nothing)
        nodes.append(ExplainedNode(where, node.op_type, how, ops))
    return ExplainedModel(device, tuple(nodes), job)


def _around(location: str) -> Iterator[str]:
    """The place itself, and those that it is nested in: what is before each ``": "``."""
    end = len(location)
    while end > 0:
        yield location[:end]
        end = location.rfind(": ", 0, end)
