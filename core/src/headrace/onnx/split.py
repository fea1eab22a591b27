"""A model file in two: a small message, and where the elements of its weights lie in the file.

Protobuf copies every tensor when it parses a file, and again when it hands one out. So the large
ones are cut out before it sees them: initializers, and what nodes ``Constant`` hold. What is left
is parsed by protobuf, which tells what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
        whole = wire.Part(0, 0, 0, len(self._model))
        message = self._without(whole, self._parts(whole), self._cut_graph)
        return SplitModel(message or _of(self._model, whole), self._initializers, self._constants)

    def _cut_graph(self, part: wire.Part) -> bytes | None:
        if part.field != wire.GRAPH:
            return None
        large = wire.parts(self._model, part.start, part.end, LEAST_BYTES, self._counts)
        return self._without(part, large, self._cut_in_graph)

    def _cut_in_graph(self, part: wire.Part) -> bytes | None:
        number = self._counts[part.field] - 1
        if part.field == wire.INITIALIZER:
            return self._cut_tensor(part, self._initializers, number)
        return self._cut_constant(part, number) if part.field == wire.NODE else None

    def _cut_constant(self, node: wire.Part, number: int) -> bytes | None:
        """A ``Constant`` whose one attribute is a tensor, without its elements."""
        op, attributes = None, []
        for part in self._parts(node):
            if part.field == wire.OP_TYPE:
                op = _of(self._model, part)
            elif part.field == wire.ATTRIBUTE:
                attributes.append(part)
        if op != b"Constant" or len(attributes) != 1:
            return None
        tensors = [part for part in self._parts(attributes[0]) if part.field == wire.TENSOR]
        if len(tensors) != 1:
            return None

        def cut(part: wire.Part) -> bytes | None:
            return self._cut_tensor(part, self._constants, number)

        return self._without(
            node, attributes, lambda attribute: self._without(attribute, tensors, cut)
        )

    def _cut_tensor(self, tensor: wire.Part, cut: dict[int, Extent], number: int) -> bytes | None:
        """A tensor without its elements, if these are many; of several fields the last counts."""
        fields = [part for part in self._parts(tensor) if part.field == wire.RAW_DATA]
        if not fields or fields[-1].nbytes < LEAST_BYTES:
            return None
        cut[number] = Extent(self._model, fields[-1].start, fields[-1].end)
        return self._without(tensor, fields, lambda field: b"")

    def _without(
        self,
        message: wire.Part,
        parts: Iterable[wire.Part],
        cut: Callable[[wire.Part], bytes | None],
    ) -> bytes | None:
        """A message with others in the place of some of its parts; None if all stay as they are.

        Args:
            message: where it lies.
            parts: in order.
            cut: what is in the place of a part, if it does not stay.
        """
        pieces: list[bytes] = []
        done = message.start
        for part in parts:
            left = cut(part)
            if left is not None:
                pieces += self._model.part(done, part.key), wire.header(part.field, len(left)), left
                done = part.end
        if not pieces:
            return None
        pieces.append(self._model.part(done, message.end))
        return b"".join(pieces)

    def _parts(self, part: wire.Part) -> Iterator[wire.Part]:
        return wire.parts(self._model, part.start, part.end)


def _of(model: Content, part: wire.Part) -> bytes:
    return model.part(part.start, part.end)
