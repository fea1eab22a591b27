"""Compute in float32 what is float16 or bfloat16."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.dtypes import DType, float32
from headrace.graph import GraphRewriter, JobGraph, JobOp, OpEntry
from headrace.op_call import OpCall
from headrace.ops import OPS, Tensor
from headrace_cpu.halves import HALVES, is_half
from headrace_cpu.ops.block_matmul import BlockMatmul
from headrace_cpu.passes.halves import in_float32, wide_attrs
from headrace_cpu.passes.own_ops import KnownOps

MOVES = frozenset(
    {"identity", "reshape", "transpose", "expand", "slice", "concat", "pad", "tile",
     "gather", "gather_elements", "gather_nd", "cache_write"}
)  # fmt: skip
"""Ops whose results are elements of their inputs: they need not compute, so halves stay halves."""

FAR_APART = frozenset({"sign", "floor", "ceil", "round", "mod", "thresholded_relu"})
"""Ops that make far numbers of near ones."""


class WidenHalves:
    """The pass, for the ops of device ``tag``.

    Before: any ops. After: ops of float16 and bfloat16 are ops of float32, between casts; those
    that only move halves as they were fed, or as they are in a model, move them as they are.
    Constants are cast here, and their halves are gone if nobody else reads them; but weights of
    products stay behind a ``cpu.widen``, for ``PackProducts`` to see as they are stored.

    From one of these ops to the next a number stays float32. It is rounded to its half, once, where
    that can be told: where it is a result or a new value of a variable, where another device or a
    ``cast`` reads it, where an op makes anything but halves of it (a comparison, an index; but
    rounding makes no NaN), and where near numbers make far ones (``floor``).
    """

    def __init__(self, tag: str, own: Mapping[str, OpEntry]) -> None:
        self._tag = tag
        self._ops = KnownOps(own)

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph in float32."""
        if graph.index.dtypes.isdisjoint(map(str, HALVES)):
            return graph
        if not any(op.placement.tag == self._tag and _has_halves(op.call) for op in graph.ops):
            return graph
        return _Rewriting(graph, self._tag, self._ops).run()


def _has_halves(call: OpCall) -> bool:
    """Whether it can be said in float32 and is not: what casts is said as it is."""
    known = (call.op in OPS and call.op != "cast") or call.op == BlockMatmul.name
    return known and any(map(is_half, call.inputs))


def _weights(graph: JobGraph) -> frozenset[str]:
    """Constants that are the right side of products; who else reads them reads halves."""
    found: set[str | None] = set()
    others: set[str | None] = set()
    for op in graph.ops:
        is_product = op.call.op == "conv" or (op.call.op == "matmul" and op.call.input(1).rank == 2)
        for place, name in enumerate(op.inputs):
            if is_product and place == 1:
                found.add(name)
            elif op.call.op not in MOVES:  # embeddings are looked up in what gives the logits
                others.add(name)
    return frozenset(name for name in graph.constants if name in found and name not in others)


class _Rewriting:
    """Makes the new graph, op by op."""

    def __init__(self, graph: JobGraph, tag: str, ops: KnownOps) -> None:
        self._graph = graph
        self._tag = tag
        widened = {op.call.name for op in graph.ops if self._widens(op)}
        self._rewriter = GraphRewriter(graph, without=widened, ops=ops)
        self._computed: dict[str, tuple[Tensor, DType, JobOp]] = {}  # in float32
        self._rounded: set[str] = set()  # of these
        self._weights = _weights(graph)
        self._exact: dict[tuple[str, object], Tensor] = {}  # halves in float32

    def run(self) -> JobGraph:
        for op in self._graph.ops:
            if self._widens(op) and not self._only_moves(op):
                self._widen(op)
            else:
                for name in op.inputs:
                    self._as_it_is(name)
                self._rewriter.keep(op)
        for _, tensor in self._graph.results:
            self._as_it_is(tensor.name)
        return self._rewriter.finish()

    def _widens(self, op: JobOp) -> bool:
        here = op.placement.tag == self._tag and op.placement.parallel_num == 1
        return here and _has_halves(op.call)

    def _only_moves(self, op: JobOp) -> bool:
        return op.call.op in MOVES and all(
            name not in self._computed or name in self._rounded for name in op.inputs
        )

    def _widen(self, op: JobOp) -> None:
        call = op.call
        exact = call.op in FAR_APART or not (call.op == "is_nan" or all(map(is_half, call.outputs)))
        read = [None if name is None else self._wide(name, op, exact) for name in op.inputs]
        with self._rewriter.placed(op.placement):
            made = self._rewriter.op(
                call.op,
                read,
                outputs=call.output_count,
                name=call.name,
                location=call.location,
                attrs=wide_attrs(call.attrs),
            )
        for name, spec, tensor in zip(op.outputs, call.outputs, made, strict=True):
            if tensor.spec == spec:
                self._rewriter.let(name, tensor)
            else:
                self._computed[name] = tensor, spec.dtype, op

    def _as_it_is(self, name: str | None) -> None:
        """See that a tensor of the graph is there, rounded if it was computed in float32."""
        if name in self._computed and name not in self._rounded:
            self._rounded.add(name)
            self._rewriter.let(name, self._cast(*self._computed[name]))

    def _wide(self, name: str, reader: JobOp, exact: bool) -> Tensor:
        """A tensor of the graph in float32, if it is of halves."""
        if name in self._computed and not exact:
            return self._computed[name][0]
        self._as_it_is(name)
        tensor = self._rewriter.tensor(name)
        if tensor.spec.dtype not in HALVES:
            return tensor
        key = name, reader.placement
        if key not in self._exact:
            self._exact[key] = self._exactly(tensor, reader)
        return self._exact[key]

    def _exactly(self, tensor: Tensor, reader: JobOp) -> Tensor:
        """Halves in float32; of constants of any size at once, not in each call."""
        value = self._rewriter.value(tensor)
        if value is None:
            return self._cast(tensor, float32, reader)
        if tensor.name not in self._weights:
            return self._rewriter.constant(in_float32(value))
        with self._rewriter.placed(reader.placement):
            location = reader.call.location
            return self._rewriter.op("cpu.widen", [tensor], location=location)[0]

    def _cast(self, tensor: Tensor, dtype: DType, of: JobOp) -> Tensor:
        """A cast that belongs to an op: it is where that is."""
        with self._rewriter.placed(of.placement):
            made = self._rewriter.op("cast", [tensor], location=of.call.location, dtype=dtype)
        return made[0]
