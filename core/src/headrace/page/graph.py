"""The op graph of a plan: its tasks without the copies, and who reads whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headrace.ids import RegisterId
from headrace.page.layers import draw
from headrace.plan import COPIES, Plan


def op_graph(plan: Plan) -> dict[str, Any]:
    """Nodes (positions of tasks), where they and the bends of their wires are, and the wires.

    A copy that gives a variable its new value is a node; others are seen through. Points are nodes
    first, then bends; a wire is a pair of points. Wires of one node branch.
    """
    variables = plan.persistent()  # what they hold comes from the call before
    nodes = [
        position
        for position, task in enumerate(plan.tasks)
        if task.kind not in COPIES or not variables.keys().isdisjoint(task.outputs)
    ]
    node_of = {position: number for number, position in enumerate(nodes)}
    makers = {
        register: i
        for i, task in enumerate(plan.tasks)
        for register in task.outputs
        if register not in variables
    }
    edges = [
        (node_of[source], node_of[position])
        for position in nodes
        for source in dict.fromkeys(_sources(plan, makers, position))
    ]
    drawing = draw(len(nodes), edges)
    return {
        "nodes": nodes,
        "x": drawing.x,
        "y": drawing.y,
        "wires": [end for wire in drawing.wires for end in wire],
        "far": drawing.far,
        "width": drawing.width,
        "height": drawing.height,
    }


def _sources(plan: Plan, makers: Mapping[RegisterId, int], position: int) -> Iterator[int]:
    """The tasks whose results a task reads, seen through copies; constants have none."""
    for register in plan.tasks[position].inputs:
        maker = None if register is None else makers.get(register)
        while maker is not None and plan.tasks[maker].kind in COPIES:
            source = plan.tasks[maker].inputs[0]
            maker = None if source is None else makers.get(source)
        if maker is not None:
            yield maker
