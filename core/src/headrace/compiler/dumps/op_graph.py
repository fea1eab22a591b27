"""The op graph as text: one line an op, with how each of its tensors lies over the placement."""

from __future__ import annotations

from headrace.compiler.op_graph import OpGraph, OpNode


def dump_op_graph(graph: OpGraph) -> str:
    """The whole graph; ends with a newline."""
    lines = [f"op graph {graph.job.name!r}"]
    lines += [f"  {_line(node)}" for node in graph.nodes]
    return "\n".join(lines) + "\n"


def _line(node: OpNode) -> str:
    op = node.op
    read = ", ".join(
        "-" if name is None else f"{name} as {sbp}"
        for name, sbp in zip(op.inputs, node.input_sbp, strict=True)
    )
    made = ", ".join(
        f"{name} as {sbp}" for name, sbp in zip(op.outputs, node.output_sbp, strict=True)
    )
    return f"{op.call.name} on {op.placement}: {op.call.op}({read}) -> {made}"
