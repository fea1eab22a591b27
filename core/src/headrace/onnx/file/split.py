"""A model file in two: a small message, and where the elements of its weights lie in the file.

Protobuf copies every tensor when it parses a file, and again when it hands one out. So the large
ones are cut out before it sees them: initializers, and what nodes hold in an attribute; and the
lists that trees and support vectors are. What is left is parsed by protobuf, which tells what is
wrong with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field

from onnx import ModelProto

from headrace.graph.constants import SMALL_BYTES
from headrace.light_dataclass import dataclass
from headrace.onnx.file import wire
from headrace.onnx.file.attributes import whole
from headrace.onnx.file.content import Content, Extent
from headrace.onnx.file.keys import ML_DOMAIN
from headrace.onnx.file.lists import LEAST_BYTES as LIST_BYTES
from headrace.onnx.file.lists import TAIL_BYTES, find_list
from headrace.onnx.file.text import place, quote

LEAST_BYTES = SMALL_BYTES + 1
"""Smaller tensors stay in the message: they are read at once, and told apart by their bytes."""

_WAYS = {
    wire.INITIALIZER: (wire.RAW_DATA,),
    wire.NODE: (wire.ATTRIBUTE, wire.TENSOR, wire.RAW_DATA),
}
"""Which fields lead from a part of a graph to the elements of a tensor."""

_LEARNED = (
    "TreeEnsemble",
    "TreeEnsembleClassifier",
    "TreeEnsembleRegressor",
    "SVMClassifier",
    "SVMRegressor",
)
"""Ops of ``ai.onnx.ml`` whose attributes are all that was learned, and tell no types."""
_KEYS = [[ML_DOMAIN.encode(), op.encode()] for op in _LEARNED]
_LABELS = "classlabels"
"""How the names of attributes begin that do."""

Lists = Mapping[str, Extent]
"""Where the elements of some attributes of a node lie, by their names."""


@dataclass(frozen=True, slots=True, eq=False)
class SplitModel:
    """A model file in two.

    Attributes:
        message: the model; tensors that were cut out have an empty ``raw_data``.
        initializers: the elements of some, by position in the graph.
        nodes: those of the tensor in the only attribute of some, by position among the nodes.
        lists: of others the attributes that are long lists, which are empty in the message.
    """

    message: bytes
    initializers: dict[int, Extent] = field(default_factory=dict)
    nodes: dict[int, Extent] = field(default_factory=dict)
    lists: dict[int, Lists] = field(default_factory=dict)

    @property
    def cut_bytes(self) -> int:
        """How much was cut out of tensors."""
        return sum(part.nbytes for part in (*self.initializers.values(), *self.nodes.values()))


def split_model(model: Content, *, tensors: bool = True) -> SplitModel:
    """Cut the long lists out, and large ``tensors``; nothing of what is not understood here.

    Raises:
        InvalidModelError: it cannot be read.
    """
    model.check()
    try:
        return _Splitting(model, tensors).run()
    except wire.WireError:
        return SplitModel(model.part(0, len(model)))


def lists_of(model: ModelProto, split: SplitModel, name: str) -> Mapping[int, Lists]:
    """``split.lists``; none where the model may say for itself what an op is that they are of.

    They are in ``model`` then, which was parsed of the message.

    Raises:
        InvalidModelError: they cannot be read, or are damaged; names the file, ``name``.
    """
    if all(function.name not in _LEARNED for function in model.functions):
        return split.lists
    for index, cut in split.lists.items():
        node = model.graph.node[index]
        for attribute in node.attribute:
            if attribute.name in cut:
                where = f"{place(name, node)}, attribute {quote(attribute.name)}"
                attribute.CopyFrom(whole(attribute, cut[attribute.name], where))
    return {}


def joined(model: ModelProto, lists: Mapping[int, Lists]) -> bytes:
    """A file of ``model``, of which nothing is left then, with the lists that nodes have.

    Raises:
        InvalidModelError: they cannot be read.
    """
    pieces: list[bytes] = []
    for index, node in enumerate(model.graph.node):
        cut, made = lists.get(index, {}), list[bytes]()
        for attribute in [a for a in node.attribute if a.name in cut]:
            light = attribute.SerializeToString()
            node.attribute.remove(attribute)
            # Its name is first and its type is last, as they were found.
            inside = [light[:-TAIL_BYTES], cut[attribute.name].part(), light[-TAIL_BYTES:]]
            made += _field(wire.ATTRIBUTE, inside)
        pieces += _field(wire.NODE, [node.SerializeToString(), *made])
    model.graph.ClearField("node")
    pieces.append(model.graph.SerializeToString())
    model.ClearField("graph")
    return b"".join([model.SerializeToString(), *_field(wire.GRAPH, pieces)])


def _field(number: int, value: Sequence[bytes]) -> list[bytes]:
    return [wire.header(number, sum(map(len, value))), *value]


class _Splitting:
    def __init__(self, model: Content, tensors: bool) -> None:
        self._model, self._tensors = model, tensors
        self._lists: dict[int, Lists] = {}
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
        return SplitModel(b"".join(pieces), found[wire.INITIALIZER], found[wire.NODE], self._lists)

    def _cut_graph(self, graph: wire.Part) -> bytes | None:
        """The graph without what was cut out; None if that is nothing."""
        model, counts = self._model, self._counts
        pieces: list[bytes] = []
        done = graph.start
        for part in wire.parts(model, graph.start, graph.end, LEAST_BYTES, counts):
            way = self._way_from(part) if part.field in _WAYS and self._tensors else None
            cut = self._cut_lists(part) if part.field == wire.NODE and way is None else None
            if cut is not None:
                pieces += model.part(done, part.key), wire.header(wire.NODE, len(cut)), cut
                done = part.end
            elif way is not None:
                raw = way[-1]
                self._found[part.field][counts[part.field] - 1] = Extent(model, raw.start, raw.end)
                pieces += model.part(done, part.key), self._without_last(way)
                done = raw.end
        if not pieces:
            return None
        pieces.append(model.part(done, graph.end))
        return b"".join(pieces)

    def _cut_lists(self, node: wire.Part) -> bytes | None:
        """The node without its long lists; None if it has none, or they may tell types."""
        model = self._model
        if node.nbytes < LIST_BYTES:
            return None
        fields = list(wire.parts(model, node.start, node.end))
        said = {part.field: part for part in fields}
        key = [
            model.part(said[field].start, said[field].end) if field in said else b""
            for field in (wire.DOMAIN, wire.OP_TYPE)
        ]
        if key not in _KEYS:
            return None
        lists: dict[str, Extent] = {}
        pieces: list[bytes] = []
        done = node.start
        for part in fields:
            found = find_list(model, part) if part.field == wire.ATTRIBUTE else None
            if found is None or found[0].startswith(_LABELS):
                continue
            name, elements = found
            lists[name] = elements
            left = model.part(part.start, elements.start) + model.part(elements.end, part.end)
            pieces += model.part(done, part.key), wire.header(wire.ATTRIBUTE, len(left)), left
            done = part.end
        if not lists:
            return None
        self._lists[self._counts[wire.NODE] - 1] = lists
        pieces.append(model.part(done, node.end))
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
