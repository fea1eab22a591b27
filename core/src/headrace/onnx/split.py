"""A model file in two: a small message, and where the elements of its weights lie in the file.

Protobuf copies every tensor when it parses a file, and again when it hands one out. So the large
ones are cut out before it sees them: initializers, and what nodes ``Constant`` hold. What is left
is parsed by protobuf, which tells what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

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
    model.check()
    try:
        return _Splitting(model).run()
    except wire.WireError:
        return SplitModel(model.part(0, len(model)))


class _Edit(NamedTuple):
    """Other bytes in the place of some."""

    start: int
    end: int
    value: bytes

    @property
    def saved(self) -> int:
        """How many bytes fewer that are."""
        return self.end - self.start - len(self.value)


class _Splitting:
    def __init__(self, model: Content) -> None:
        self._model = model
        self._edits: list[_Edit] = []  # in order: of a message before those of what is in it
        self._initializers: dict[int, Extent] = {}
        self._constants: dict[int, Extent] = {}
        self._initializer = self._node = 0  # a message may be in parts, which go on where one ended

    def run(self) -> SplitModel:
        model = self._model
        for part in wire.parts(model, 0, len(model)):
            if part.field == wire.GRAPH:
                self._cut_graph(part)
        return SplitModel(self._edited(), self._initializers, self._constants)

    def _edited(self) -> bytes:
        pieces: list[bytes] = []
        done = 0
        for start, end, value in self._edits:
            pieces += self._model.part(done, start), value
            done = end
        pieces.append(self._model.part(done, len(self._model)))
        return b"".join(pieces)

    def _cut_graph(self, graph: wire.Part) -> None:
        place, saved = len(self._edits), 0
        for part in self._parts(graph):
            if part.field == wire.INITIALIZER:
                if part.nbytes >= LEAST_BYTES:
                    saved += self._cut(part, self._initializers, self._initializer)
                self._initializer += 1
            elif part.field == wire.NODE:
                if part.nbytes >= LEAST_BYTES:
                    saved += self._cut_constant(part)
                self._node += 1
        if saved:
            self._shorten(graph, saved, place)

    def _cut_constant(self, node: wire.Part) -> int:
        """Cut the tensor out of a ``Constant`` whose one attribute it is; returns what it saved."""
        op = attribute = None
        for part in self._parts(node):
            if part.field == wire.OP_TYPE:
                op = self._model.part(part.start, part.end)
            elif part.field == wire.ATTRIBUTE:
                if attribute is not None:
                    return 0
                attribute = part
        if op != b"Constant" or attribute is None:
            return 0
        tensors = [part for part in self._parts(attribute) if part.field == wire.TENSOR]
        if len(tensors) != 1:
            return 0
        place = len(self._edits)
        saved = self._cut(tensors[0], self._constants, self._node)
        for around in (attribute, node) if saved else ():
            saved = self._shorten(around, saved, place)
        return saved

    def _cut(self, tensor: wire.Part, cut: dict[int, Extent], number: int) -> int:
        """Cut the elements of a tensor out, if they are many; returns what it saved.

        Of several fields the last one counts.
        """
        fields = [part for part in self._parts(tensor) if part.field == wire.RAW_DATA]
        if not fields or fields[-1].nbytes < LEAST_BYTES:
            return 0
        cut[number] = Extent(self._model, fields[-1].start, fields[-1].end)
        place, nothing = len(self._edits), wire.header(wire.RAW_DATA, 0)
        self._edits += [_Edit(part.key, part.end, nothing) for part in fields]
        return self._shorten(tensor, sum(edit.saved for edit in self._edits[place:]), place)

    def _shorten(self, message: wire.Part, saved: int, place: int) -> int:
        """Let a message say its length when so much was saved in it; returns what is saved then.

        Args:
            message: what became shorter.
            saved: by how much.
            place: that of the first edit in it.
        """
        header = wire.header(message.field, message.nbytes - saved)
        edit = _Edit(message.key, message.start, header)
        self._edits.insert(place, edit)
        return saved + edit.saved

    def _parts(self, part: wire.Part) -> Iterator[wire.Part]:
        return wire.parts(self._model, part.start, part.end)
