"""The drawing of a graph: nothing overlaps, readers are below, wires lead from node to node."""

from __future__ import annotations

import itertools
from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from headrace.page.layers import NODE_HEIGHT, NODE_WIDTH, Drawing, draw

Graph = tuple[int, list[tuple[int, int]]]


@st.composite
def graphs(wanted: st.DrawFn) -> Graph:
    """Any acyclic graph of up to 40 nodes, numbered in topological order."""
    count = wanted(st.integers(1, 40))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    edges = {(min(p), max(p)) for p in wanted(st.lists(pairs, max_size=80)) if p[0] != p[1]}
    return count, sorted(edges)


def connected(drawing: Drawing, count: int) -> set[tuple[int, int]]:
    """Pairs of nodes that wires connect, through bends."""
    after = defaultdict(list)
    for source, target in drawing.wires:
        after[source].append(target)
    found = set()
    for node in range(count):
        ways = [*after[node]]
        while ways:
            point = ways.pop()
            if point < count:
                found.add((node, point))
            else:
                ways += after[point]
    return found


@given(graphs())
def test_no_two_nodes_overlap_and_all_are_inside(graph: Graph) -> None:
    """Boxes of one row have room between them, and the drawing is as large as it says."""
    count, edges = graph
    drawing = draw(count, edges)
    rows = defaultdict(list)
    for x, y in zip(drawing.x[:count], drawing.y[:count], strict=True):
        rows[y].append(x)
        assert NODE_WIDTH / 2 <= x <= drawing.width - NODE_WIDTH / 2
        assert NODE_HEIGHT / 2 <= y <= drawing.height - NODE_HEIGHT / 2
    for row in rows.values():
        row.sort()
        assert all(b - a >= NODE_WIDTH for a, b in itertools.pairwise(row))


@given(graphs())
def test_wires_are_the_edges(graph: Graph) -> None:
    """Through all bends, each node is connected with its readers and with nobody else."""
    count, edges = graph
    assert connected(draw(count, edges), count) == set(edges)


@given(graphs())
def test_equal_graphs_are_drawn_alike(graph: Graph) -> None:
    """To the pixel."""
    assert draw(*graph) == draw(*graph)


def test_readers_are_below() -> None:
    """In one column an edge leads down."""
    drawing = draw(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert drawing.y[0] < drawing.y[1] == drawing.y[2] < drawing.y[3]
    assert drawing.x[0] == drawing.x[3]
    assert drawing.x[1] != drawing.x[2]


def test_a_wire_that_passes_a_row_runs_beside_its_nodes() -> None:
    """The shortcut of a residual block is seen."""
    drawing = draw(3, [(0, 1), (1, 2), (0, 2)])
    (bend,) = range(3, len(drawing.x))
    assert drawing.y[bend] == drawing.y[1]
    assert abs(drawing.x[bend] - drawing.x[1]) > NODE_WIDTH / 2


def test_a_deep_graph_is_folded_to_the_shape_of_a_screen() -> None:
    """A chain of thousands is neither a line nor a bar."""
    count = 3000
    drawing = draw(count, [(i, i + 1) for i in range(count - 1)])
    assert 1.2 < drawing.width / drawing.height < 2.4


def test_bends_stay_linear_in_the_nodes() -> None:
    """Where every node has a reader at the end, wires that reach far run straight."""
    count = 2000
    edges = [(i, i + 1) for i in range(count - 1)] + [(i, count - 1) for i in range(count - 2)]
    drawing = draw(count, edges)
    assert len(drawing.x) < 6 * count + 2000
    assert 0 < drawing.far < count


def test_nothing_is_drawn_of_nothing() -> None:
    """No node, no size."""
    assert draw(0, []) == Drawing([], [], [], 0, 0)
