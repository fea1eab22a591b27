"""``GraphRewriter`` and ``replace_ops``: a job graph that is another one but for some of its ops.

What stays is shared: ops, specs and constants of the graph that a pass was given are the very
objects of the one that it returns, so a pass costs a look at each op, and work for those that it
says anew.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import attrgetter

from headrace.aligned import Empty, aligned_empty
from headrace.errors import GraphError
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.constants import entries_of, specs_of
from headrace.graph.job_graph import JobGraph, JobOp
from headrace.graph.op_index import OpIndex
from headrace.graph.op_source import CORE_OPS, OpSource
from headrace.op_call import Attrs, OpCall
from headrace.ops import Tensor
from headrace.tensor_spec import TensorSpec

_inputs = attrgetter("inputs")


class GraphRewriter(JobGraphBuilder):
    """Builds a graph like another one; used by one thread.

    Ops are added in an order in which they can run: kept, or new ones in the place of those of the
    other graph. Tensors are asked for by the names that they have there.
    """

    def __init__(
        self,
        graph: JobGraph,
        *,
        without: Collection[str] = (),
        fold_late: bool = False,
        empty: Empty = aligned_empty,
        ops: OpSource = CORE_OPS,
    ) -> None:
        """Begin with the inputs, variables and constants of ``graph``.

        Args:
            graph: the job; stays as it is.
            without: names of its ops that are not kept: what is added may have their names and
                those of what they made.
            fold_late, empty: as ``JobGraphBuilder`` has them.
            ops: where the ops that are added are known.
        """
        super().__init__(graph.name, graph.placement, fold_late=fold_late, empty=empty, ops=ops)
        # Not the graph, whose constants may be let go of one by one.
        self._likes = graph.hints, graph.outputs, graph.updates
        self._stand_ins: dict[str, Tensor] = {}
        self._kept = 0  # ops
        self._is_sound = True  # as far as each step can tell that was taken
        self._inputs += graph.inputs
        self._tensors.update((tensor.name, tensor.spec) for tensor in graph.inputs)
        self._variables.update((part.tensor.name, part) for part in graph.variables)
        self._tensors.update((part.tensor.name, part.tensor.spec) for part in graph.variables)
        self._constants.update(entries_of(graph.constants))
        self._tensors.update(specs_of(graph.constants))
        index = graph.index
        self._op_names.update(index.by_name.keys() - without if without else index.by_name)
        self._tensors.update(index.specs)
        for name in without:
            for tensor in index.by_name[name].outputs:
                del self._tensors[tensor]

    def tensor(self, name: str) -> Tensor:
        """What stands for a tensor of the other graph: itself, unless ``let`` said another.

        Raises:
            GraphError: nothing does.
        """
        found = self._stand_ins.get(name)
        if found is not None:
            return found
        spec = self._tensors.get(name)
        if spec is None:
            raise GraphError(f"job {self.name!r}: nothing stands for tensor {name!r}")
        return Tensor(name, spec)

    def read_by(self, op: JobOp) -> list[Tensor | None]:
        """What stands for each tensor that an op of the other graph reads; raises as ``tensor``."""
        return [None if name is None else self.tensor(name) for name in op.inputs]

    def let(self, name: str, tensor: Tensor) -> None:
        """Let ``tensor`` stand for what the other graph calls ``name``, from here on."""
        if tensor.name != name:
            self._stand_ins[name] = tensor
        self._is_sound = False

    def adopt(self, op: JobOp, inputs: Sequence[str | None]) -> tuple[Tensor, ...]:
        """As ``JobGraphBuilder`` has it: nothing about the op is checked."""
        self._is_sound = False
        return super().adopt(op, inputs)

    def keep(self, op: JobOp) -> None:
        """Add an op of the other graph, or one that makes what such a one made.

        It reads what stands for what it read; where that is the same, the op is the same object.
        """
        inputs, new = op.inputs, self._stand_ins
        if new and not new.keys().isdisjoint(inputs):
            inputs = tuple([new[name].name if name in new else name for name in inputs])
            op = JobOp(op.call, inputs, op.outputs, op.placement)
        self._read.update(inputs)
        self._kept += 1
        if op.outputs[0] not in self._tensors:  # else all of it is known from the beginning
            self._op_names.add(op.call.name)
            self._tensors.update(zip(op.outputs, op.call.outputs, strict=True))
        self._ops.append(op)

    def fold(self, op: JobOp) -> bool:
        """Compute an op of the other graph, if all that it reads is known here and it is worth it.

        Constants then stand for what it made. Returns whether it was computed: else nothing was
        added. The call was checked when it was first added, and is not checked again.
        """
        call, new = op.call, self._stand_ins
        names = [new[name].name if name in new else name for name in op.inputs]
        if not self.folds(call, names):
            return False
        values = self._fold(call, names)
        suffixes = [f"/{output.name}" for output in self._ops_known.op(call.op).op.outputs]
        node = self._fresh(call.op, tuple(suffixes))
        self._op_names.add(node)
        made = [node + suffix for suffix in suffixes[: len(values)]]
        self._constants.update(zip(made, values, strict=True))
        self.put(op, list(map(self._define, made, call.outputs)))
        return True

    def move(
        self, op: str, tensor: Tensor, made: TensorSpec, attrs: Attrs, location: str
    ) -> Tensor:
        """As ``op``, of one that makes ``made`` of ``tensor`` for sure: nothing is checked."""
        _, suffixes = self._schemas.get(op) or self._schema(op)
        node = self._fresh(op, suffixes)
        self._op_names.add(node)
        call = OpCall(op, node, (tensor.spec,), (made,), attrs, 1, location)
        return self._enter(call, (tensor.name,), suffixes)[0]

    def put(self, op: JobOp, made: Sequence[Tensor]) -> None:
        """Let ``made`` stand for the outputs of an op of the other graph."""
        for name, spec, tensor in zip(op.outputs, op.call.outputs, made, strict=True):
            if tensor.name != name:
                self._stand_ins[name] = tensor
            if tensor.spec != spec or tensor.name not in self._tensors:
                self._is_sound = False

    def replaced(
        self, graph: JobGraph, chosen: Collection[str], left: Collection[str], make: Make
    ) -> JobGraph:
        """``replace_ops``, for a rewriter that has just begun with ``graph``, without ``left``."""
        ops, index = graph.ops, graph.index
        lost = {made for name in left if name not in chosen for made in index.by_name[name].outputs}
        begin = 0
        for place in sorted([index.places[name] for name in left]):
            self._keep_all(ops[begin:place], lost)
            begin = place + 1
            if ops[place].call.name in chosen:
                self._replace(ops[place], make, index)
        self._keep_all(ops[begin:], lost)
        finished = self.finish()
        # One that ``make`` kept is counted too.
        is_sound = self._is_sound and self._kept == len(ops) - len(left)
        return finished.made_soundly_of(graph) if is_sound else finished

    def _keep_all(self, ops: Sequence[JobOp], lost: set[str]) -> None:
        """Keep ops that follow each other; those that make what is lost are gone."""
        read = set[str | None]().union(*map(_inputs, ops))
        self._is_sound = self._is_sound and lost.isdisjoint(read)
        if self._stand_ins.keys().isdisjoint(read):
            self._read |= read
            self._kept += len(ops)
            self._ops += ops
        else:
            for op in ops:
                self.keep(op)

    def _replace(self, op: JobOp, make: Make, index: OpIndex) -> None:
        before = len(self._ops)
        self._placement = op.placement
        made = make(op, self)
        self.put(op, made)
        names = {tensor.name for tensor in made}.union(*map(_inputs, self._ops[before:]))
        self._is_sound = self._is_sound and _are_before(op, names, index)

    def finish(self) -> JobGraph:
        """The graph, with the results, updates and hints of the other one.

        A tensor that nothing stands for loses its hint.

        Raises:
            GraphError: nothing stands for a result.
        """
        hints, outputs, updates = self._likes
        for name, hint in hints.items():
            if name in self._stand_ins or name in self._tensors:
                self.hint(self.tensor(name), hint)
        for result, tensor in outputs:
            self.output(result, self.tensor(tensor.name))
        for variable, tensor in updates:
            self.update(self.tensor(variable), self.tensor(tensor.name))
        return super().finish()


def _are_before(op: JobOp, names: set[str | None], index: OpIndex) -> bool:
    """Whether what new ops in the place of ``op`` read and hand on was made until then.

    Of the tensors of the old graph it is asked; new ones are there when they are made.
    """
    makers, places = index.makers, index.places
    place = places[op.call.name]
    others = names.difference(op.inputs, op.outputs) & makers.keys()
    return all(places[makers[name].call.name] <= place for name in others)


Make = Callable[[JobOp, GraphRewriter], Sequence[Tensor]]
"""Adds what stands for an op, and returns what stands for its outputs."""


def replace_ops(
    graph: JobGraph,
    chosen: Collection[str],
    make: Make,
    *,
    gone: Collection[str] = (),
    ops: OpSource = CORE_OPS,
) -> JobGraph:
    """The graph with what ``make`` adds in the place of ops, on the devices where those were.

    Args:
        graph: the job.
        chosen: names of the ops that are replaced; with none, ``graph`` itself is returned. What
            is added may have their names.
        make: called for each of these, in the order of the graph.
        gone: names of ops that are left out: nobody reads them any more.
        ops: where the ops that are added are known.

    Raises:
        GraphError: somebody reads an op that is gone.

    Example:
        ``replace_ops(graph, {"sum"}, lambda op, new: new.op("add", new.read_by(op)))``
    """
    if not chosen:
        return graph
    left = {*chosen, *gone}
    rewriter = GraphRewriter(graph, without=left, ops=ops)
    return rewriter.replaced(graph, chosen, left, make)
