"""Let rows be looked up in quantized tables as they are stored."""

from __future__ import annotations

from headrace.dtypes import float32
from headrace.graph import GraphRewriter, JobGraph, JobOp, replace_ops
from headrace.ops import Tensor
from headrace.ops.axes import per_tensor
from headrace_cpu.ops.pack_integers import BYTES


class GatherIntegers:
    """The pass, for the ops of device ``tag``.

    Before: ``gather(dequantize(table), indices)`` of a constant table of bytes, with one scale and
    in float32, which only such ops read, each at most half of it. After:
    ``dequantize(gather(table, indices))``. A table of embeddings stays as small as it is in a
    model, and each number is the one that it was; of halves, what reads them would miss their
    rounding.
    """

    def __init__(self, tag: str) -> None:
        self._tag = tag

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these tables."""
        if not graph.of_kind("dequantize"):
            return graph
        tables = [op for op in graph.of_kind("dequantize") if self._is_of(op, graph)]
        table_of = {
            reader.call.name: table
            for table in tables
            for reader in graph.index.readers[table.outputs[0]]
        }

        def make(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
            table = table_of[op.call.name]
            numbers, *worth = new.read_by(table)
            indices = op.inputs[1]
            assert indices is not None
            location = op.call.location
            read = [numbers, new.tensor(indices)]
            taken = new.op("gather", read, attrs=op.call.attrs, location=location)
            dtype = table.call.outputs[0].dtype
            return new.op("dequantize", [*taken, *worth], dtype=dtype, location=location)

        return replace_ops(graph, table_of, make, gone=[op.call.name for op in tables])

    def _is_of(self, table: JobOp, graph: JobGraph) -> bool:
        made, kept = table.outputs[0], {tensor.name for _, tensor in graph.results}
        readers = graph.index.readers.get(made, ())
        return (
            table.inputs[0] in graph.constants
            and table.call.input(0).dtype in BYTES
            and table.call.outputs[0].dtype is float32
            and per_tensor(table.call)
            and made not in kept
            and made not in graph.hints
            and bool(readers)
            and all(self._takes_few(reader, table) for reader in readers)
        )

    def _takes_few(self, op: JobOp, table: JobOp) -> bool:
        return (
            op.call.op == "gather"
            and op.placement == table.placement
            and op.placement.tag == self._tag
            and op.placement.parallel_num == 1
            and op.inputs[1] != table.outputs[0]
            and 2 * op.call.outputs[0].elements <= table.call.outputs[0].elements
        )
