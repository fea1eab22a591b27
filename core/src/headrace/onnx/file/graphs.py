"""The shape of a graph of nodes: names that hold, and an order in which nodes can be imported.

Model files are not trusted to be well formed. Everything here takes time in proportion to the
size of the graph, however it was made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import NamedTuple, NoReturn

from onnx import FunctionProto, GraphProto, NodeProto

from headrace.errors import InvalidModelError
from headrace.onnx.file.attributes import Resolved, resolve
from headrace.onnx.file.keys import FunctionKey, function_key
from headrace.onnx.file.text import place, quote, quote_all

Names = tuple[AbstractSet[str], ...]
"""Names that hold at some place: one set for each graph around it. Never copied into one."""


class Wired(NamedTuple):
    """A node as it stands among others: what protobuf is asked once, since it makes all anew.

    Attributes:
        node: as the file has it.
        key: the op that it is of.
        inputs: what it is given, by position; "" for an input left out.
        outputs: what it makes, by position; "" for an output left out.
        reads: the tensors that it reads, those that its graphs take from around it included.
        attributes: its own; those that refer to attributes of a call are not there.
    """

    node: NodeProto
    key: FunctionKey
    inputs: Sequence[str]
    outputs: Sequence[str]
    reads: AbstractSet[str]
    attributes: Resolved


def wired(nodes: Iterable[NodeProto]) -> list[Wired]:
    """The nodes with what is asked of each."""
    return list(map(_wired, nodes))


def _wired(node: NodeProto) -> Wired:
    inputs, attributes = node.input[:], resolve(node.attribute[:])
    reads = set(inputs)
    reads.discard("")
    for graph in attributes.graphs:
        reads |= captures(graph)
    return Wired(node, function_key(node), inputs, node.output[:], reads, attributes)


def reads(node: NodeProto) -> AbstractSet[str]:
    """The tensors that ``node`` reads, those that its graphs take from around it included."""
    return _wired(node).reads


def captures(graph: GraphProto) -> set[str]:
    """The tensors that a graph inside a node takes from around it."""
    own = {value.name for value in graph.input} | set(initializer_names(graph))
    names = {output.name for output in graph.output}
    for node in graph.node:
        own.update(node.output)
        names |= reads(node)
    return names - own


def initializer_names(graph: GraphProto) -> list[str]:
    """Names of the constants that a graph brings, dense and sparse, in order."""
    dense = [tensor.name for tensor in graph.initializer]
    return dense + [sparse.values.name for sparse in graph.sparse_initializer]


def check_graph(
    graph: GraphProto,
    where: str,
    outer: Names = (),
    *,
    nodes: Sequence[NodeProto] | None = None,
    constants: Sequence[str] | None = None,
) -> list[Wired]:
    """Check the names of a graph and of every graph in it; returns its nodes.

    Args:
        graph: the graph.
        where: file and graph, for messages.
        outer: names of the tensors around it, which it may read and may hide.
        nodes: those of its nodes that are looked at; None: all.
        constants: names of tensors that are there beside its inputs; None: of its initializers.

    Raises:
        InvalidModelError: a name is empty, made twice or never, or nodes form a cycle.
    """
    inputs = [value.name for value in graph.input]
    if constants is None:
        constants = initializer_names(graph)
    _once(inputs, "input", where)
    _once(constants, "initializer", where)
    nodes = graph.node if nodes is None else nodes
    found, known = _check_nodes(nodes, {*inputs, *constants}, outer, where)
    _check_made([value.name for value in graph.output], known, where)
    return found


def check_function(function: FunctionProto, where: str) -> list[Wired]:
    """Check the names of a function's body and of every graph in it; returns its nodes.

    Raises:
        InvalidModelError: as ``check_graph``.
    """
    inputs = list(function.input)
    _once(inputs, "input", where)
    found, known = _check_nodes(function.node, set(inputs), (), where)
    _check_made(function.output, known, where)
    return found


def order(nodes: Sequence[Wired], wanted: Iterable[str], where: str) -> list[Wired]:
    """The nodes that ``wanted`` is computed with, each after those that it reads from.

    Files need not list nodes in order; where they do, the order is kept.

    Raises:
        InvalidModelError: nodes read from each other in a circle.
    """
    wanted = set(wanted)
    wanted.discard("")
    needed = _backwards(nodes, wanted)
    if needed is not None:
        return needed
    maker = {name: index for index, node in enumerate(nodes) for name in node.outputs if name}
    needs: dict[int, list[int]] = {}
    pending = sorted({maker[name] for name in wanted if name in maker})
    while pending:
        index = pending.pop()
        if index not in needs:
            needs[index] = sorted({maker[name] for name in nodes[index].reads if name in maker})
            pending += needs[index]
    return [nodes[index] for index in _sorted(needs, nodes, where)]


def _backwards(nodes: Sequence[Wired], wanted: AbstractSet[str]) -> list[Wired] | None:
    """The nodes that ``wanted`` is computed with, where each stands after those it reads from.

    Else None. Most files are so, and one walk tells.
    """
    wanted, made = set(wanted), set[str]()
    needed: list[Wired] = []
    for node in reversed(nodes):
        made.update(node.outputs)
        if not wanted.isdisjoint(node.outputs):
            if not made.isdisjoint(node.reads):
                return None
            wanted.update(node.reads)
            needed.append(node)
    needed.reverse()
    return needed


def _sorted(needs: dict[int, list[int]], nodes: Sequence[Wired], where: str) -> list[int]:
    """Depth first, in file order, without recursion."""
    done: dict[int, bool] = {}  # False while the nodes that it needs are being placed
    result: list[int] = []
    for root in sorted(needs):
        stack = [root]
        while stack:
            index = stack[-1]
            if index not in done:
                done[index] = False
                waiting = [need for need in needs[index] if not done.get(need, False)]
                circle = [need for need in waiting if need in done]
                if circle:
                    # What is being placed was met in the order of the way down.
                    path = [i for i, finished in done.items() if not finished]
                    _fail_cycle([*path[path.index(circle[0]) :], circle[0]], nodes, where)
                stack += reversed(waiting)
            else:
                stack.pop()
                if not done[index]:
                    done[index] = True
                    result.append(index)
    return result


_MOST_STEPS = 8
"""Nodes of a circle that are named in its error."""


def _fail_cycle(circle: list[int], nodes: Sequence[Wired], where: str) -> NoReturn:
    def made(index: int) -> str:
        return quote(next(name for name in nodes[index].outputs if name))

    def step(index: int, needs: int) -> str:
        node = nodes[index].node
        name = node.name and f" {quote(node.name)}"
        return f"{node.op_type}{name} makes {made(index)} of {made(needs)}"

    steps = [step(index, needs) for index, needs in pairwise(circle)]
    if len(steps) > _MOST_STEPS:
        steps[_MOST_STEPS - 1 : -1] = [f"... ({len(steps) - _MOST_STEPS} more)"]
    raise InvalidModelError(
        f"{where}: tensors are computed from each other in a circle: {', '.join(steps)}"
    )


def _check_nodes(
    nodes: Sequence[NodeProto], given: set[str], outer: Names, where: str
) -> tuple[list[Wired], Names]:
    """Check the nodes of one graph; returns them, and the names that hold in it."""
    made: dict[str, NodeProto] = {}
    known = (*outer, given, made.keys())
    here = set(given)  # and what was made so far
    found = wired(nodes)
    in_order = True  # then nothing that is read is missing, and there is no circle
    for node, key, _, outputs, reads, attributes in found:
        if not key[1]:
            raise InvalidModelError(f"{place(where, node)}: does not say which op it is")
        if attributes.names:
            _once(attributes.names, "attribute", where, node)
        if attributes.graphs:
            in_order = False
        elif in_order and not here.issuperset(reads):
            in_order = all(any(name in names for names in outer) for name in reads - here)
        for name in outputs:
            if not name:
                continue
            if name in here:
                other = place("", made[name])[2:] if name in made else "an input or initializer"
                raise InvalidModelError(
                    f"{place(where, node)}: makes {quote(name)}, which {other} makes already"
                )
            made[name] = node
            here.add(name)
    if not in_order:
        _check_read(found, known, where)
        order(found, made, where)
    return found, known


def _check_read(nodes: Sequence[Wired], known: Names, where: str) -> None:
    """Check that what nodes read is made, and the graphs in them."""
    for node in nodes:
        for name in node.inputs:
            if name and not any(name in names for names in known):
                raise InvalidModelError(
                    f"{place(where, node.node)}: reads {quote(name)}, which nothing makes"
                )
    for node in nodes:
        for graph in node.attributes.graphs:
            inside = f"{place(where, node.node)}, graph {quote(graph.name)}"
            check_graph(graph, inside, known)


def _once(names: Sequence[str], what: str, where: str, node: NodeProto | None = None) -> None:
    """Raise unless every name is one, and there once; of ``node``, if that is given."""
    distinct = set(names)
    if len(distinct) == len(names) and "" not in distinct:
        return
    where = where if node is None else place(where, node)
    if "" in distinct:
        raise InvalidModelError(f"{where}: an {what} has no name")
    twice = [name for name, count in Counter(names).items() if count > 1]
    raise InvalidModelError(f"{where}: two {what}s are called {quote_all(twice)}")


def _check_made(outputs: Sequence[str], known: Names, where: str) -> None:
    """Each output has a name, which need not be its own: it may be given more than once."""
    _once(list(dict.fromkeys(outputs)), "output", where)
    for name in outputs:
        if not any(name in names for names in known):
            raise InvalidModelError(f"{where}: output {quote(name)} is made by nothing")
