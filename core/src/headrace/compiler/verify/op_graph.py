"""What the op graph promises: every tensor of the job lies in one stated way where it is read."""

from __future__ import annotations

from headrace.compiler.op_graph import OpGraph, OpNode
from headrace.errors import GraphError
from headrace.sbp import NdSbp, Split
from headrace.tensor_spec import TensorSpec


def verify_op_graph(graph: OpGraph) -> None:
    """The nodes are the job's ops, and each tensor has an SBP that it and its placement allow.

    - one node for each op of the job, in the same order;
    - one ``NdSbp`` for each input and output, with one part for each axis of the op's hierarchy;
    - a tensor is split only along an axis that it has;
    - a tensor is read as it was made where maker and reader have one placement: whatever lies
      otherwise was boxed before.

    Raises:
        GraphError: names the op and the tensor.
    """
    job = graph.job.name
    if [node.op for node in graph.nodes] != list(graph.job.ops):
        raise GraphError(
            f"job {job!r}: the op graph has {len(graph.nodes)} nodes that are not the "
            f"{len(graph.job.ops)} ops of the job in their order"
        )
    made: dict[str, tuple[OpNode, NdSbp]] = {}
    for node in graph.nodes:
        op = node.op
        inputs = zip(op.inputs, op.call.inputs, node.input_sbp, strict=False)
        outputs = zip(op.outputs, op.call.outputs, node.output_sbp, strict=False)
        if (len(node.input_sbp), len(node.output_sbp)) != (len(op.inputs), len(op.outputs)):
            raise GraphError(
                f"job {job!r}: {op.call} has {len(node.input_sbp)} and {len(node.output_sbp)} SBPs "
                f"for its {len(op.inputs)} inputs and {len(op.outputs)} outputs"
            )
        for name, spec, sbp in (*inputs, *outputs):
            if name is None:
                continue
            problem = _misfit(spec, sbp, op.placement.hierarchy)
            if problem:
                raise GraphError(f"job {job!r}: {op.call}: tensor {name!r} {problem}")
        for name, sbp in zip(op.inputs, node.input_sbp, strict=True):
            maker, lies = made.get(name or "", (node, sbp))
            if maker.op.placement == op.placement and lies != sbp:
                raise GraphError(
                    f"job {job!r}: {op.call} reads {name!r} as {sbp}; {maker.op.call} makes it as "
                    f"{lies}, and nothing boxes it between"
                )
        made.update(
            (name, (node, sbp)) for name, sbp in zip(op.outputs, node.output_sbp, strict=True)
        )


def _misfit(spec: TensorSpec | None, sbp: NdSbp, hierarchy: tuple[int, ...]) -> str:
    if len(sbp.axes) != len(hierarchy):
        return f"lies as {sbp} over a hierarchy of {len(hierarchy)} axes"
    for part in sbp.axes:
        if isinstance(part, Split) and (spec is None or part.axis >= spec.rank):
            return f"is {spec}, which has no axis {part.axis} to be split along"
    return ""
