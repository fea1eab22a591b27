"""``Way``: how an op runs, by the order in which it reads each input and makes each output."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from headrace.compiler.layouts.orders import laid, plain
from headrace.data_format import Order
from headrace.errors import PluginError
from headrace.graph import OpSource
from headrace.light_dataclass import dataclass, setters
from headrace.op_call import Attrs, AttrValue, OpCall
from headrace.ops import make_call
from headrace.tensor_spec import TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """How an op runs.

    Attributes:
        inputs: the order in which each input is read; any for an absent one.
        outputs: the order in which each output is made.
        attrs: the attributes that it has then; None for its own, when all orders are plain.
    """

    inputs: tuple[Order, ...]
    outputs: tuple[Order, ...]
    attrs: Mapping[str, AttrValue] | None = None

    def __init__(
        self,
        inputs: tuple[Order, ...],
        outputs: tuple[Order, ...],
        attrs: Mapping[str, AttrValue] | None = None,
    ) -> None:
        _put_inputs(self, inputs)
        _put_outputs(self, outputs)
        _put_attrs(self, attrs)

    def moved(self, call: OpCall) -> Iterator[tuple[TensorSpec, Order]]:
        """The tensors of ``call`` that do not lie plain."""
        for spec, order in zip(
            (*call.inputs, *call.outputs), (*self.inputs, *self.outputs), strict=True
        ):
            if spec is not None and order != plain(spec.rank):
                yield spec, order


_put_inputs, _put_outputs, _put_attrs = setters(Way)


Wishes = Sequence[tuple[int, Order]]
"""Places of inputs, each with the order in which it is wanted."""


class Kind:
    """Calls that differ in their names and places alone, and the ways in which they run.

    Each way is looked for once. Used by one thread.

    Attributes:
        rank: the highest of their inputs.
        own: the way of one that is left alone.
    """

    def __init__(self, call: OpCall, ops: OpSource) -> None:
        """The kind of ``call``; ``ops`` is where ops are known."""
        shapes = [() if spec is None else spec.shape for spec in call.inputs]
        self.rank = max(map(len, shapes), default=0)
        made = [plain(len(spec.shape)) for spec in call.outputs]
        self.own = Way(tuple([plain(len(shape)) for shape in shapes]), tuple(made))
        self._call = call
        self._ops = ops
        self._minds: bool | None = None
        self._found: dict[Order, Way | None] = {}
        self._calls: dict[Way, OpCall] = {}
        self._wishes: dict[Way, Wishes] = {}
        self._handed_on: dict[Order, Wishes] = {}

    def in_order(self, order: Order) -> Way | None:
        """The way to run one on inputs in ``order``, the same each time; None when there is none.

        Args:
            order: of the axes of its inputs of the highest rank.
        """
        if order not in self._found:
            self._found[order] = self._said_in(order)
        return self._found[order]

    def _said_in(self, order: Order) -> Way | None:
        there = self._ops.op(self._call.op).op.reordered(self._call, order)
        if there is None:
            return None
        read = [
            own if given is None else given
            for own, given in zip(self.own.inputs, there.inputs, strict=True)
        ]
        return Way(tuple(read), there.outputs, there.attrs)

    def wishes(self, way: Way) -> Wishes:
        """What one of these ways reads in an order of all of its axes."""
        found = self._wishes.get(way)
        if found is None:
            found = self._wishes[way] = self._read_by(way, math.inf)
        return found

    def handed_on(self, order: Order) -> Wishes:
        """What had best be read for a result that is wanted in ``order``.

        That is no more bytes than are made, in the way that makes them so, or as it is.
        """
        found = self._handed_on.get(order)
        if found is None:
            way = self.in_order(order)
            if way is None or way.outputs[0] != order:
                way = self.own
            found = self._handed_on[order] = self._read_by(way, self._call.outputs[0].nbytes)
        return found

    def _read_by(self, way: Way, most: float) -> Wishes:
        return [
            (index, order)
            for index, (spec, order) in enumerate(zip(self._call.inputs, way.inputs, strict=True))
            if spec is not None and len(order) == len(spec.shape) and spec.nbytes <= most
        ]

    def minds(self) -> bool:
        """True when the order of the axes is what an op is about: it cannot take them in reverse.

        A transpose does not mind: in another order it is another transpose.
        """
        if self._minds is None:
            call, backwards = self._call, plain(self.rank)[::-1]
            self._minds = (
                call.op != "transpose"
                and self._ops.op(call.op).op.reordered(call, backwards) is None
            )
        return self._minds

    def call_of(self, call: OpCall, way: Way) -> OpCall:
        """The call that a way makes of one of this kind; that of a plugin is checked and inferred.

        Core's ops are known to be computed so, and there are many of them.

        Raises:
            PluginError: what the op said of itself does not hold.
        """
        if way.attrs is None:
            return call
        made = self._calls.get(way)
        if made is None:
            made = self._calls[way] = self._made_of(call, way, way.attrs)
        return made if made.name == call.name else made.named(call.name, call.location)

    def _made_of(self, call: OpCall, way: Way, attrs: Mapping[str, AttrValue]) -> OpCall:
        read = zip(call.inputs, way.inputs, self.own.inputs, strict=True)
        given = tuple([spec and _laid(spec, order, own) for spec, order, own in read])
        made = tuple(map(_laid, call.outputs, way.outputs, self.own.outputs))
        count, location = call.output_count, call.location
        if "." not in call.op:
            return OpCall(call.op, call.name, given, made, Attrs(attrs), count, location)
        op = self._ops.op(call.op).op
        there = make_call(op, call.name, given, attrs, outputs=count, location=location)
        for was, spec, order, wanted in zip(
            call.outputs, there.outputs, way.outputs, made, strict=True
        ):
            if spec != wanted:
                raise PluginError(
                    f"{call}: {op.__name__}.reordered says that it makes {was} in order {order} "
                    f"when it reads orders {way.inputs}, but then it makes {spec}; mend the op, or "
                    "leave the method out"
                )
        return there


def _laid(spec: TensorSpec, order: Order, own: Order) -> TensorSpec:
    """What a tensor is in ``order``; ``own`` is plain."""
    return spec if order == own else spec.with_shape(laid(spec.shape, order))


class Ways:
    """The ways of the ops of one job by their kinds: nets repeat themselves.

    Used by one thread.
    """

    def __init__(self, ops: OpSource) -> None:
        """Know nothing yet; ``ops`` is where ops are known."""
        self._ops = ops
        self._kinds: dict[object, Kind] = {}

    def of(self, call: OpCall) -> Kind:
        """The kind of a call."""
        # Calls that are checked alike share what they are made of, and to hash all of it takes
        # long. A kind holds its call, so no other object has one of these places.
        key = (call.op, id(call.inputs), id(call.attrs), call.output_count)
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = Kind(call, self._ops)
        return kind
