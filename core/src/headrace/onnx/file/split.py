"""A model file in two: a small message, and where the elements of its weights lie in the file.

Protobuf copies every tensor when it parses a file, and again when it hands one out. So the large
ones are cut out before it sees them: initializers, and what nodes hold in an attribute. What is
left is parsed by protobuf, which tells what is wrong with it.
"""

from __future__ import annotations

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
        self._counts = wire.Counts(int)

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
                done = part.end
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
            around, counts = way[-1], wire.Counts(int)
            large = wire.parts(self._model, around.start, around.end, LEAST_BYTES, counts)
            found = [part for part in large if part.field == wanted]
            if not found or counts[wanted] > 1:
                return None
            way += found
        return way

    def _without_last(self, way: Sequence[wire.Part]) -> bytes:
        """The first of some parts, each of which is in the one before it; the last one is empty."""
        first, last = way[0], way[-1]
        before = self._model.part(first.key, last.start)
        behind = self._model.part(last.end, first.end) if last.end < first.end else b""
        made, inner = wire.header(last.field, 0), last
        for part in way[-2::-1]:
            made = before[part.start - first.key : inner.key - first.key] + made
            made += behind[inner.end - last.end : part.end - last.end]
            made, inner = wire.header(part.field, len(made)) + made, part
        return made
