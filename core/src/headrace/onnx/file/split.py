"""A model file in two: a small message, and where the elements of its weights lie in the file.

Protobuf copies every tensor when it parses a file, and again when it hands one out. So the large
ones are cut out before it sees them: initializers, and what nodes ``Constant`` hold. What is left
is parsed by protobuf, which tells what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from headrace.light_dataclass import dataclass
from headrace.onnx.file import wire
from headrace.onnx.file.content import Content, Extent

LEAST_BYTES = 1024
"""Smaller tensors stay in the message."""


@dataclass(frozen=True, slots=True, eq=False)
class SplitModel:
    """A model file in two.

    Attributes:
        message: the model; tensors that were cut out have an empty ``raw_data``.
        initializers: the elements of some, by position in the graph.
        constants: what nodes ``Constant`` hold, of some, by position among the nodes.
    """

    message: bytes
    initializers: dict[int, Extent] = field(default_factory=dict)
    constants: dict[int, Extent] = field(default_factory=dict)

    @property
    def cut_bytes(self) -> int:
        """How much was cut out."""
        return sum(part.nbytes for part in (*self.initializers.values(), *self.constants.values()))


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
        self._initializers: dict[int, Extent] = {}
        self._constants: dict[int, Extent] = {}
        # How many of each field of the graph: it may be in parts, which go on where one ended.
        self._counts: dict[int, int] = {}

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
        return SplitModel(b"".join(pieces), self._initializers, self._constants)

    def _cut_graph(self, graph: wire.Part) -> bytes | None:
        """The graph without what was cut out; None if that is nothing."""
        model, counts = self._model, self._counts
        pieces: list[bytes] = []
        done = graph.start
        for part in wire.parts(model, graph.start, graph.end, LEAST_BYTES, counts):
            if part.field == wire.INITIALIZER:
                around, cut = [part], self._initializers
            elif part.field == wire.NODE:
                around, cut = self._tensor_of(part), self._constants
            else:
                continue
            raw = self._raw_of(around[0]) if around else None
            if raw is not None:
                cut[counts[part.field] - 1] = Extent(model, raw.start, raw.end)
                pieces += model.part(done, part.key), *self._without(raw, around)
                done = part.end
        if not pieces:
            return None
        pieces.append(model.part(done, graph.end))
        return b"".join(pieces)

    def _tensor_of(self, node: wire.Part) -> list[wire.Part]:
        """The tensor that a ``Constant`` is of, its one attribute, and the node; or nothing."""
        op, attributes = None, []
        for part in self._parts(node):
            if part.field == wire.OP_TYPE:
                op = self._model.part(part.start, part.end)
            elif part.field == wire.ATTRIBUTE:
                attributes.append(part)
        if op != b"Constant" or len(attributes) != 1:
            return []
        tensors = [part for part in self._parts(attributes[0]) if part.field == wire.TENSOR]
        return [*tensors, *attributes, node] if len(tensors) == 1 else []

    def _raw_of(self, tensor: wire.Part) -> wire.Part | None:
        """The elements of a tensor, if they are many, and written once."""
        counts: dict[int, int] = {}
        large = wire.parts(self._model, tensor.start, tensor.end, LEAST_BYTES, counts)
        found = [part for part in large if part.field == wire.RAW_DATA]
        return found[0] if found and counts[wire.RAW_DATA] == 1 else None

    def _without(self, raw: wire.Part, around: Sequence[wire.Part]) -> list[bytes]:
        """The pieces of a message without ``raw``.

        Args:
            raw: a part.
            around: the messages that it is in, from the inner ones on, up to this one.
        """
        part = self._model.part
        nothing = wire.header(wire.RAW_DATA, 0)
        pieces = [part(raw.end, around[-1].end), nothing]
        saved, end = raw.end - raw.key - len(nothing), raw.key
        for message in around:
            header = wire.header(message.field, message.nbytes - saved)
            saved += message.start - message.key - len(header)
            pieces += part(message.start, end), header
            end = message.key
        pieces.reverse()
        return pieces

    def _parts(self, part: wire.Part) -> Iterator[wire.Part]:
        return wire.parts(self._model, part.start, part.end)
