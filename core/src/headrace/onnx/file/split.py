"""A model file in two: a small message, and where the elements of its weights lie in the file.

Protobuf copies every tensor when it parses a file, and again when it hands one out. So the large
ones are cut out before it sees them: initializers, and what nodes hold in an attribute. What is
left is parsed by protobuf, which tells what is wrong with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import field

from headrace.light_dataclass import dataclass
from headrace.onnx.file import wire
from headrace.onnx.file.content import Content, Extent

LEAST_BYTES = 1024
"""Smaller tensors stay in the message."""

_WAYS = {
    wire.INITIALIZER: (wire.RAW_DATA,),
    wire.NODE: (wire.ATTRIBUTE, wire.TENSOR, wire.RAW_DATA),
}
"""Which fields lead from a part of a graph to the elements of a tensor."""


@dataclass(frozen=True, slots=True, eq=False)
class SplitModel:
    """A model file in two.

    Attributes:
        message: the model; tensors that were cut out have an empty ``raw_data``.
        initializers: the elements of some, by position in the graph.
        nodes: those of the tensor in the only attribute of some, by position among the nodes.
    """

    message: bytes
    initializers: dict[int, Extent] = field(default_factory=dict)
    nodes: dict[int, Extent] = field(default_factory=dict)

    @property
    def cut_bytes(self) -> int:
        """How much was cut out."""
        return sum(part.nbytes for part in (*self.initializers.values(), *self.nodes.values()))


def split_model(model: Content) -> SplitModel:
    """Cut the large tensors out; nothing of what is not understood, which protobuf may.

    Raises:
        InvalidModelError: it cannot be read.
    """
    model.check()
    try:
        return _Splitting(model).run()
    except wire.WireError:
        return SplitModel(model.part(0, len(model)))


class _Splitting:
    def __init__(self, model: Content) -> None:
        self._model = model
        self._found: dict[int, dict[int, Extent]] = {field: {} for field in _WAYS}
        # How many of each field of the graph: it may be in parts, which go on where one ended.
        self._counts: wire.Counts = defaultdict(int)

    def run(self) -> SplitModel:
        model = self._model
        pieces: list[bytes] = []
        done = 0
        for part in wire.parts(model, 0, len(model)):
            graph = self._cut_graph(part) if part.field == wire.GRAPH else None
            if graph is not None:
                pieces += model.part(done, part.key), wire.header(wire.GRAPH, len(graph)), graph
                done = part.end
        pieces.append(model.part(done, len(model)))
        found = self._found
        return SplitModel(b"".join(pieces), found[wire.INITIALIZER], found[wire.NODE])

    def _cut_graph(self, graph: wire.Part) -> bytes | None:
        """The graph without what was cut out; None if that is nothing."""
        model, counts = self._model, self._counts
        pieces: list[bytes] = []
        done = graph.start
        for part in wire.parts(model, graph.start, graph.end, LEAST_BYTES, counts):
            way = self._way_from(part) if part.field in _WAYS else None
            if way is not None:
                raw = way[-1]
                self._found[part.field][counts[part.field] - 1] = Extent(model, raw.start, raw.end)
                pieces += model.part(done, part.key), self._without_last(way)
                done = raw.end
        if not pieces:
            return None
        pieces.append(model.part(done, graph.end))
        return b"".join(pieces)

    def _way_from(self, part: wire.Part) -> list[wire.Part] | None:
        """The parts that lead to the elements of a tensor, and these; None if they are few.

        Or if another field of the same number is beside one of them: which of them counts is for
        protobuf to say.
        """
        way = [part]
        for wanted in _WAYS[part.field]:
            around = way[-1]
            inside = wire.parts(self._model, around.start, around.end)
            found = [part for part in inside if part.field == wanted]
            if len(found) != 1 or found[0].nbytes < LEAST_BYTES:
                return None
            way += found
        return way

    def _without_last(self, way: Sequence[wire.Part]) -> bytes:
        """What is before the last of some parts, each in the one before it; the last is empty."""
        first, inner = way[0], way[-1]
        before = self._model.part(first.key, inner.start)
        made = wire.header(inner.field, 0)
        less = inner.end - inner.key - len(made)  # than what is around has now
        for part in way[-2::-1]:
            head = wire.header(part.field, part.nbytes - less)
            less += part.start - part.key - len(head)
            made = head + before[part.start - first.key : inner.key - first.key] + made
            inner = part
        return made
