"""A layered drawing of a graph: readers below what they read, few crossings, wires that bend.

After Sugiyama: every node has a layer; wires that pass layers bend in each of them; the order in a
layer follows the neighbours' (barycentres, a few sweeps); then nodes move as near to their
neighbours as the distance to the next one allows. Deep graphs are folded into columns, as text is,
where few wires are cut. All steps are linear in nodes and bends but for sorting; bends are limited
by running only wires of short reach through the layers when there are too many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import accumulate
from math import log

from headrace.light_dataclass import dataclass

NODE_WIDTH, NODE_HEIGHT = 168, 40
GAP_X, GAP_Y = 28, 30
BEND_WIDTH = 22
GUTTER = 90
"""Between columns; wires that go on in the next column run here."""

ASPECT = 1.7
"""Width to height that columns aim at: that of a screen."""

SHORTEST = 6
"""Rows that a column has at least."""

SWEEPS = 8
LARGE = 4000
"""From so many points on, half the sweeps must do."""


@dataclass(slots=True)
class Drawing:
    """Where points are, in pixels at scale 1; ``wires`` are pairs of points.

    The first points are the nodes, by their middle; what follows are bends. The last ``far`` wires
    lead straight from node to node, past everything between.
    """

    x: list[int]
    y: list[int]
    wires: list[tuple[int, int]]
    width: int
    height: int
    far: int = 0


def draw(count: int, edges: Sequence[tuple[int, int]]) -> Drawing:
    """Draw ``count`` nodes with edges from lower numbers to higher ones. Deterministic."""
    if not count:
        return Drawing([], [], [], 0, 0)
    graph = _with_bends(_layers(count, edges), edges)
    _order(graph)
    return _fold(graph, _spread(graph))


@dataclass(slots=True)
class _Graph:
    """Points by layer, each wire from one layer to the next but for those of ``far``."""

    layer: list[int]
    nodes: int
    down: list[list[int]] = field(default_factory=list)
    up: list[list[int]] = field(default_factory=list)
    far: list[tuple[int, int]] = field(default_factory=list)
    rows: list[list[int]] = field(default_factory=list)

    def point(self, layer: int) -> int:
        """Add a bend."""
        self.layer.append(layer)
        self.down.append([])
        self.up.append([])
        return len(self.layer) - 1

    def wire(self, source: int, target: int) -> None:
        """Connect two points of neighbouring layers."""
        self.down[source].append(target)
        self.up[target].append(source)

    def gap(self, point: int) -> float:
        """Half of what a point takes of its row."""
        return (NODE_WIDTH + GAP_X) / 2 if point < self.nodes else BEND_WIDTH / 2


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The longest path from a source; sources themselves stand just above their first reader."""
    layer = [0] * count
    readers: list[int | None] = [None] * count
    read = [False] * count
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        layer[target] = max(layer[target], layer[source] + 1)
        read[target] = True
    for source, target in edges:
        nearest = readers[source]
        readers[source] = layer[target] if nearest is None else min(nearest, layer[target])
    for node, nearest in enumerate(readers):
        if not read[node] and nearest is not None:
            layer[node] = nearest - 1
    return layer


def _with_bends(layer: list[int], edges: Sequence[tuple[int, int]]) -> _Graph:
    """Wires of one node share their bends: they run together as far as they go."""
    count = len(layer)
    graph = _Graph([*layer], count, [[] for _ in layer], [[] for _ in layer])
    reach = [0] * count
    spans = sorted(layer[t] - layer[s] for s, t in edges)
    limit, budget = 0, 4 * count + 2000
    for span, total in zip(spans, accumulate(max(0, span - 1) for span in spans), strict=True):
        if total <= budget:
            limit = span
    for source, target in edges:
        if layer[target] - layer[source] <= limit:
            reach[source] = max(reach[source], layer[target])
    bends: dict[int, list[int]] = {}
    for source, last in enumerate(reach):
        path = [source]
        for row in range(layer[source] + 1, last):
            path.append(graph.point(row))
            graph.wire(path[-2], path[-1])
        bends[source] = path
    for source, target in edges:
        steps = layer[target] - layer[source]
        if steps <= limit:
            graph.wire(bends[source][steps - 1], target)
        else:
            graph.far.append((source, target))
    graph.rows = [[] for _ in range(max(graph.layer) + 1)]
    for point, row in enumerate(graph.layer):
        graph.rows[row].append(point)
    return graph


def _order(graph: _Graph) -> None:
    """Sort each row by where the neighbours of its points stand in the row before, down and up."""
    place = [0.0] * len(graph.layer)

    def number(row: list[int]) -> None:
        for index, point in enumerate(row):
            place[point] = index

    for row in graph.rows:
        number(row)
    for sweep in range(SWEEPS if len(graph.layer) < LARGE else SWEEPS // 2):
        near = graph.down if sweep % 2 else graph.up
        for row in reversed(graph.rows) if sweep % 2 else graph.rows:
            centre = {
                point: sum(place[n] for n in near[point]) / len(near[point])
                if near[point]
                else place[point]
                for point in row
            }
            row.sort(key=centre.__getitem__)
            number(row)


def _spread(graph: _Graph) -> list[float]:
    """An x for each point: as near to its neighbours as the order and the gaps allow."""
    x = [0.0] * len(graph.layer)
    for row in graph.rows:
        _place(graph, row, [0.0] * len(row), x)
    for near in (graph.up, graph.down, graph.up, graph.down, graph.up):
        for row in graph.rows if near is graph.up else reversed(graph.rows):
            wanted = [
                sum(x[n] for n in near[point]) / len(near[point]) if near[point] else x[point]
                for point in row
            ]
            _place(graph, row, wanted, x)
    return x


def _place(graph: _Graph, row: list[int], wanted: list[float], x: list[float]) -> None:
    """Least squares under the gaps: points that want to be too near form blocks that settle."""
    blocks: list[tuple[float, int]] = []  # (mean wish, how many), wishes less the gaps before
    before, shifts = 0.0, []
    for index, point in enumerate(row):
        if index:
            before += graph.gap(row[index - 1]) + graph.gap(point)
        shifts.append(before)
        mean, size = wanted[index] - before, 1
        while blocks and blocks[-1][0] >= mean:
            other, many = blocks.pop()
            mean = (mean * size + other * many) / (size + many)
            size += many
        blocks.append((mean, size))
    index = 0
    for mean, size in blocks:
        for _ in range(size):
            x[row[index]] = mean + shifts[index]
            index += 1


def _fold(graph: _Graph, x: list[float]) -> Drawing:
    """Put the rows into columns, and lead wires from the foot of one to the head of the next."""
    step = NODE_HEIGHT + GAP_Y
    columns = _columns(graph, x, step)
    column_of = [number for number, rows in enumerate(columns) for _ in rows]
    xs, ys = [0] * len(x), [0] * len(x)
    left, heads = 0.0, []
    height = max(len(rows) for rows in columns) * step
    for rows in columns:
        points = [point for row in rows for point in graph.rows[row]]
        low = min(x[p] - graph.gap(p) for p in points)
        high = max(x[p] + graph.gap(p) for p in points)
        for row in rows:
            for point in graph.rows[row]:
                xs[point] = round(left + x[point] - low)
                ys[point] = (row - rows[0]) * step + step // 2
        heads.append(round(left + high - low))
        left += high - low + GUTTER
    drawing = Drawing(xs, ys, [], round(left - GUTTER), height)
    lanes: dict[int, int] = {}
    for source, targets in enumerate(graph.down):
        gone: dict[int, int] = {}  # column -> the bend at its head that the wires share
        for target in targets:
            here, there = (column_of[graph.layer[point]] for point in (source, target))
            if here == there:
                drawing.wires.append((source, target))
                continue
            if there not in gone:
                lane = lanes.get(here, 0)
                lanes[here] = lane + 1
                foot = ys[source] + step // 2 + 4
                aside = heads[here] + 12 + (lane * 7) % (GUTTER - 24)
                path = [(xs[source], foot), (aside, foot), (aside, -8)]
                gone[there] = _lead(drawing, source, path)
            drawing.wires.append((_bend(drawing, gone[there], xs[target], -8), target))
    drawing.wires += graph.far
    drawing.far = len(graph.far)
    return drawing


def _lead(drawing: Drawing, source: int, path: list[tuple[int, int]]) -> int:
    point = source
    for x, y in path:
        point = _bend(drawing, point, x, y)
    return point


def _bend(drawing: Drawing, source: int, x: int, y: int) -> int:
    drawing.x.append(x)
    drawing.y.append(y)
    drawing.wires.append((source, len(drawing.x) - 1))
    return len(drawing.x) - 1


def _columns(graph: _Graph, x: list[float], step: int) -> list[range]:
    """Rows of each column: as many columns as come nearest to the shape of a screen."""
    extents = [
        (min(x[p] - graph.gap(p) for p in row), max(x[p] + graph.gap(p) for p in row))
        for row in graph.rows
    ]

    def misfit(columns: list[range]) -> float:
        width = sum(
            max(extents[row][1] for row in rows) - min(extents[row][0] for row in rows) + GUTTER
            for rows in columns
        )
        return abs(log(width / (ASPECT * step * max(map(len, columns)))))

    wires = [sum(len(graph.down[point]) for point in row) for row in graph.rows]
    most = max(1, len(graph.rows) // SHORTEST)
    counts = sorted({min(most, round(1.15**power)) for power in range(60)})
    return min((_cut(wires, count) for count in counts), key=misfit)


def _cut(wires: Sequence[int], count: int) -> list[range]:
    """Rows in ``count`` columns: cut near even shares, where the fewest wires go on.

    Args:
        wires: how many leave each row downwards.
        count: how many columns.
    """
    rows = len(wires)
    cuts = [0]
    share = rows / count
    for number in range(1, count):
        ideal, slack = number * share, max(1, int(share * 0.15))
        near = range(
            max(cuts[-1] + 1, round(ideal) - slack), min(rows - 1, round(ideal) + slack) + 1
        )
        cuts.append(min(near, key=lambda cut: (wires[cut - 1], abs(cut - ideal))))
    return [range(a, b) for a, b in zip(cuts, [*cuts[1:], rows], strict=True)]
