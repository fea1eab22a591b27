"""A model file in two: a small message, and where the elements of its weights lie in the file.

Protobuf copies every tensor when it parses a file, and again when it hands one out. So the large
ones are cut out before it sees them: initializers, and what nodes ``Constant`` hold. What is left
is parsed by protobuf, which tells what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from headrace.onnx import wire
from headrace.onnx.content import Content, Extent

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
    try:
        return _Splitting(model).run()
    except wire.WireError:
        return SplitModel(model.part(0, len(model)))


class _Splitting:
    def __init__(self, model: Content) -> None:
        self._model = model
        self._split = SplitModel(b"")
        self._initializers = 0  # a message may be in several parts, which go on where one ended
        self._nodes = 0

    def run(self) -> SplitModel:
        model, split = self._model, self._split
        whole = wire.Part(0, 0, 0, len(model))
        replaced = []
        for part in wire.parts(model, 0, len(model)):
            if part.field == wire.GRAPH:
                replaced.append((part, self._graph(part)))
        return SplitModel(self._with(whole, replaced), split.initializers, split.constants)

    def _graph(self, graph: wire.Part) -> bytes:
        replaced = []
        for part in wire.parts(self._model, graph.start, graph.end):
            if part.field == wire.INITIALIZER:
                if part.nbytes >= LEAST_BYTES:
                    small, raw = self._tensor(part)
                    if raw is not None:
                        self._split.initializers[self._initializers] = raw
                        replaced.append((part, small))
                self._initializers += 1
            elif part.field == wire.NODE:
                if part.nbytes >= LEAST_BYTES:
                    small, raw = self._constant(part)
                    if raw is not None:
                        self._split.constants[self._nodes] = raw
                        replaced.append((part, small))
                self._nodes += 1
        return self._with(graph, replaced)

    def _constant(self, node: wire.Part) -> tuple[bytes, Extent | None]:
        """A node, and what was cut out of it: of a ``Constant`` whose one attribute is a tensor."""
        op = attribute = None
        for part in self._parts(node):
            if part.field == wire.OP_TYPE:
                op = self._model.part(part.start, part.end)
            elif part.field == wire.ATTRIBUTE:
                if attribute is not None:
                    return b"", None
                attribute = part
        if op != b"Constant" or attribute is None:
            return b"", None
        tensors = [part for part in self._parts(attribute) if part.field == wire.TENSOR]
        if len(tensors) != 1:
            return b"", None
        small, raw = self._tensor(tensors[0])
        inner = self._with(attribute, [(tensors[0], small)])
        return self._with(node, [(attribute, inner)]), raw

    def _tensor(self, tensor: wire.Part) -> tuple[bytes, Extent | None]:
        """A tensor, and its elements, if they are many; of several fields the last one counts."""
        fields = [part for part in self._parts(tensor) if part.field == wire.RAW_DATA]
        if not fields or fields[-1].nbytes < LEAST_BYTES:
            return b"", None
        last = fields[-1]
        small = self._with(tensor, [(part, b"") for part in fields])
        return small, Extent(self._model, last.start, last.end)

    def _parts(self, part: wire.Part) -> Iterator[wire.Part]:
        return wire.parts(self._model, part.start, part.end)

    def _with(self, message: wire.Part, replaced: list[tuple[wire.Part, bytes]]) -> bytes:
        """The value of a message with other values in some of its fields."""
        pieces: list[bytes] = []
        done = message.start
        for part, value in replaced:
            pieces += self._model.part(done, part.key), wire.field(part.field, value)
            done = part.end
        pieces.append(self._model.part(done, message.end))
        return b"".join(pieces)
