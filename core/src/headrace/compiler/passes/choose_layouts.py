"""Let every op over images run in the format that its device prefers."""

from __future__ import annotations

from headrace.compiler.layouts.choice import can_move, choose_format
from headrace.compiler.layouts.forms import Forms
from headrace.compiler.layouts.near import ops_near
from headrace.compiler.layouts.orders import between, laid, plain
from headrace.compiler.layouts.wanted import orders_wanted
from headrace.compiler.layouts.ways import Kind, Way, Ways
from headrace.compiler.passes.lower_ops import runs_on
from headrace.compiler.passes.remove_dead_ops import remove_dead_ops
from headrace.data_format import Order, format_of, moves_nothing, order_between
from headrace.graph.constants import entries_of
from headrace.graph.job_graph import JobGraph, JobOp
from headrace.graph.rewriter import GraphRewriter
from headrace.op_call import OpCall
from headrace.registry.registry import BackendRegistry
from headrace.registry.tables import Backend

MOST_ORDERS = 4
"""So many orders are tried for an op at most: two meet in models, any number in tests."""


def choose_layouts(graph: JobGraph, registry: BackendRegistry) -> JobGraph:
    """Put ops over images into the format for which their device has the better kernel.

    Before: ops over images are channels first or last, as they were written; ops are on one device
    each, but for collectives. After: each is in the format that ``choose_format`` says. Ops of
    these devices that do not mind (elementwise ones; with an axis, which is renamed) are taken
    along where that moves fewer bytes, and so are transposes of the job. New transposes stand where
    a tensor meets somebody who reads its axes in order: results, reshapes, other devices. Constants
    are transposed here. A job whose devices want no change stays as it is.

    One way from the results to the inputs finds in which orders tensors will be read; one way back
    rewrites, and decides at each op by what must be moved there. The best of all assignments (a
    minimum cut) was turned down: it is not linear.

    Raises:
        DeviceError: the device of an op over images cannot be used.
        PluginError: an op of a plugin is not computed in another order as it says.
    """
    ways = Ways(registry)
    turned = _turned(graph, registry, ways)
    if not turned:
        return graph
    return remove_dead_ops(_Rewriting(graph, registry, ways, turned).run())


def _turned(graph: JobGraph, registry: BackendRegistry, ways: Ways) -> dict[str, Way]:
    """By name, the ops that change their format, and how they run then."""
    turned = {}
    found: dict[tuple[str, Kind], Way | None] = {}
    for ops in graph.index.kinds.values():
        if format_of(ops[0].call) is None:  # nor has another of these ops one
            continue
        for op in ops:
            kind = ways.of(op.call)
            key = (op.placement.tag, kind)
            if key not in found:
                backend = registry.backend(op.placement.tag)
                choice = choose_format(op.call, backend, ways)
                here = op.call.str_attr("data_format")
                there = here if choice is None else choice.data_format
                order = order_between(here, there, op.call.input(0).rank)
                found[key] = None if there == here else kind.in_order(order)
            way = found[key]
            if way is not None:
                turned[op.call.name] = way
    return turned


class _Rewriting:
    """Makes the new graph, op by op."""

    def __init__(
        self, graph: JobGraph, registry: BackendRegistry, ways: Ways, turned: dict[str, Way]
    ) -> None:
        self._graph = graph
        self._registry = registry
        self._turned = turned
        # Devices that prefer nothing keep their ops as they are, between those that do, too.
        tags = {graph.index.by_name[name].placement.tag for name in turned}
        self._free = frozenset(
            op.call.name
            for op in graph.ops
            if op.placement.tag in tags and op.placement.parallel_num == 1
        )
        self._near = ops_near(graph, turned, self._free, registry)
        self._kinds = {
            op.call.name: ways.of(op.call) for op in graph.ops if op.call.name in self._near
        }
        self._wanted = orders_wanted(graph, self._kinds, turned, self._free)
        self._constants = entries_of(graph.constants)
        self._rewriter = GraphRewriter(graph, without=self._near, ops=registry)
        self._rewriter.reserve(self._near)  # these names stay as well
        self._forms = Forms(self._rewriter, registry)
        # Nets repeat themselves, and asking is slow.
        self._answers: dict[tuple[str, Way], bool] = {}

    def run(self) -> JobGraph:
        graph, forms = self._graph, self._forms
        for op in graph.ops:
            name = op.call.name
            if name not in self._near:  # what it reads lies plain, and is called the same
                self._rewriter.keep(op)
                continue
            kind = self._kinds[name]
            if name in self._turned:
                self._add(op, kind, self._turned[name])
            elif name not in self._free:
                self._add(op, kind, kind.own)
            elif op.call.op == "transpose":
                forms.add_transpose(op)
            else:
                self._add(op, kind, self._cheapest(op, kind))
        for _, tensor in graph.results:
            form = forms.get(tensor.name, plain(tensor.spec.rank), None)
            self._rewriter.let(tensor.name, form)
        return self._rewriter.finish()

    def _add(self, op: JobOp, kind: Kind, way: Way) -> None:
        """The op, under its own name."""
        forms, inputs = self._forms, self._forms.read_by(op, way, kind.own)
        call = kind.call_of(op.call, way)
        new = op if call is op.call else JobOp(call, inputs, op.outputs, op.placement)
        made = self._rewriter.adopt(new, inputs)
        maker = op if op.call.name in self._free else None
        for name, order, form in zip(op.outputs, way.outputs, made, strict=True):
            forms.add(name, order, form, maker)

    def _cheapest(self, op: JobOp, kind: Kind) -> Way:
        """The way that moves the fewest bytes, of those in which the device runs it as well."""
        own, others = kind.own, []
        for order in self._orders(op, kind):
            way = kind.in_order(order)
            if way is not None:
                others.append(way)
        if not others:
            return own
        # Most often there is one that moves nothing and stays: better than as it is, in any case.
        if len(others) == 1 and self._is_there(op, others[0]):
            return others[0] if self._may_run(op, kind, others[0]) else own
        ways = sorted((own, *others), key=lambda way: self._badness(op, way))
        return next(way for way in ways if way is own or self._may_run(op, kind, way))

    def _orders(self, op: JobOp, kind: Kind) -> list[Order]:
        """The other orders that an op may run in, each once: those that are there, or wanted."""
        met: dict[Order, object] = {**self._wanted.get(op.outputs[0], {})}
        for name in op.inputs:
            met |= self._forms.moved(name)
        rank = kind.rank
        met.pop(plain(rank), None)
        return [order for order in met if len(order) == rank][:MOST_ORDERS]

    def _is_there(self, op: JobOp, way: Way) -> bool:
        """Whether all is there as ``way`` reads it, and nothing it makes must be moved."""
        for name, order in zip(op.inputs, way.inputs, strict=True):
            if name is None or name in self._constants:
                continue
            if order not in self._forms.of(name):
                return False
        return self._moved_after(op, way) == 0

    def _badness(self, op: JobOp, way: Way) -> tuple[int, bool, bool, int]:
        """Bytes to be moved around the op, knowing no more than who is next, and what breaks a tie.

        That is whether it leaves what it reads: an op stays with the op over images before it,
        since a pass of the device may make one of both. Then whether it makes something else than
        is wanted, and what is not there as it reads.
        """
        cost, absent = self._moved_after(op, way), 0
        wanted, forms, constants = self._wanted, self._forms, self._constants
        for name, order in zip(op.inputs, way.inputs, strict=True):
            if name is None:
                continue
            wishes = wanted.get(name)
            if not (wishes and wishes.get(order)):  # else it is made anyway
                cost += forms.cost(name, order)
            absent += not (name in constants or order in forms.of(name))
        unwanted = way.outputs[0] not in self._wanted.get(op.outputs[0], ())
        stays = way.attrs is not None and not absent
        return cost, not stays, unwanted, absent

    def _moved_after(self, op: JobOp, way: Way) -> int:
        """Bytes to be moved of what the op makes, for who is next."""
        cost = 0
        for name, spec, order in zip(op.outputs, op.call.outputs, way.outputs, strict=True):
            for wish in self._wanted.get(name, ()):
                if wish != order and not moves_nothing(
                    laid(spec.shape, order), between(order, wish)
                ):
                    cost += spec.nbytes
        return cost

    def _may_run(self, op: JobOp, kind: Kind, way: Way) -> bool:
        """Whether the device runs the op this way as well as plain, and can move its tensors."""
        key = (op.placement.tag, way)
        answer = self._answers.get(key)
        if answer is None:
            backend = self._registry.backend(op.placement.tag)
            answer = self._answers[key] = self._asked(op.call, kind, way, backend)
        return answer

    def _asked(self, call: OpCall, kind: Kind, way: Way, backend: Backend) -> bool:
        if not can_move(call, way, backend):
            return False
        there = kind.call_of(call, way)
        own, other = backend.kernels.select(call), backend.kernels.select(there)
        if own is not None:
            return other is not None and other.priority >= own.priority
        # A formula over images is written channels first.
        return format_of(call) is None and runs_on(there, backend, self._registry)
