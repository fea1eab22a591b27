"""Let maxima of quantized numbers be of the numbers as they are stored."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.graph import GraphEditor, JobGraph, JobOp
from headrace.ops.pool import MaxPool
from headrace.tensor_spec import Array
from headrace_cpu.ops.pack_integers import BYTES
from headrace_cpu.passes.scales import scale_and_zero


class PoolIntegers:
    """The pass, for the ops of device ``tag``.

    Before: ``quantize(max_pool(dequantize(x, s, z)), s, z)`` of bytes x, with constants. After:
    ``max_pool(x)``. A scale that is positive keeps their order.
    """

    def __init__(self, tag: str) -> None:
        self._tag = tag

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these pools."""
        if not graph.of_kind("dequantize"):
            return graph
        editor, constants = GraphEditor(graph, self._tag), graph.constants
        for pool in editor.ops("max_pool"):
            before = editor.maker(pool.inputs[0])
            users = editor.users(pool.outputs[0])
            if before is None or before.call.op != "dequantize":
                continue
            if len(users) != 1 or len(pool.outputs) != 1:
                continue
            after = users[0]
            if after.call.op != "quantize" or not editor.is_private(pool, after):
                continue
            if pool.outputs[0] in graph.hints or before.placement != pool.placement:
                continue
            if _undoes(before, after, constants):
                editor.replace([pool, after], MaxPool, [before.inputs[0]], pool.call.attrs)
        return editor.finish()


def _undoes(before: JobOp, after: JobOp, constants: Mapping[str, Array]) -> bool:
    """Whether ``after`` gives the bytes that ``before`` was given."""
    dtype = before.call.input(0).dtype
    if dtype not in BYTES or after.call.outputs[0].dtype != dtype:
        return False
    given = [scale_and_zero(op, constants) for op in (before, after)]
    return given[0] is not None and given[0] == given[1]
