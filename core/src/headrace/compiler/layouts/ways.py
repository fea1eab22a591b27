"""``Way``: how an op runs, by the order in which it reads each input and makes each output."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from headrace.compiler.layouts.orders import laid, plain
from headrace.data_format import Order
from headrace.errors import PluginError
from headrace.graph import OpSource
from headrace.light_dataclass import dataclass
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

    def moved(self, call: OpCall) -> Iterator[tuple[TensorSpec, Order]]:
        """The tensors of ``call`` that do not lie plain."""
        for spec, order in zip(
            (*call.inputs, *call.outputs), (*self.inputs, *self.outputs), strict=True
        ):
            if spec is not None and order != plain(spec.rank):
                yield spec, order


def as_it_is(call: OpCall) -> Way:
    """The way of an op that is left alone."""
    return Way(_plain_inputs(call), tuple([plain(len(spec.shape)) for spec in call.outputs]))


def in_order(call: OpCall, order: Order, ops: OpSource) -> Way | None:
    """The way to run an op on inputs in ``order``; None when there is none.

    Args:
        call: of an op, not of a collective.
        order: of the axes of its inputs of the highest rank.
        ops: where its op is known.
    """
    there = ops.op(call.op).op.reordered(call, order)
    if there is None:
        return None
    inputs = (
        own if given is None else given
        for own, given in zip(_plain_inputs(call), there.inputs, strict=True)
    )
    return Way(tuple(inputs), there.outputs, there.attrs)


def call_of(call: OpCall, way: Way, ops: OpSource) -> OpCall:
    """The call that ``way`` makes of ``call``; that of a plugin's op is checked and inferred.

    Core's ops are known to be computed so, and there are many of them.

    Raises:
        PluginError: what the op said of itself does not hold.
    """
    if way.attrs is None:
        return call
    given = tuple(
        [
            spec if spec is None else spec.with_shape(laid(spec.shape, order))
            for spec, order in zip(call.inputs, way.inputs, strict=True)
        ]
    )
    made = tuple(
        [
            spec.with_shape(laid(spec.shape, order))
            for spec, order in zip(call.outputs, way.outputs, strict=True)
        ]
    )
    count, location = call.output_count, call.location
    if "." not in call.op:
        return OpCall(call.op, call.name, given, made, Attrs(way.attrs), count, location)
    op = ops.op(call.op).op
    there = make_call(op, call.name, given, way.attrs, outputs=count, location=location)
    for was, spec, order, wanted in zip(
        call.outputs, there.outputs, way.outputs, made, strict=True
    ):
        if spec != wanted:
            raise PluginError(
                f"{call}: {op.__name__}.reordered says that it makes {was} in order {order} when "
                f"it reads orders {way.inputs}, but then it makes {spec}; mend the op, or leave "
                "the method out"
            )
    return there


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
        self.rank = max([len(spec.shape) for spec in call.inputs if spec is not None], default=0)
        self.own = as_it_is(call)
        self._call = call
        self._ops = ops
        self._found: dict[Order, Way | None] = {}
        self._calls: dict[Way, OpCall] = {}
        self._wishes: dict[tuple[Way, bool], Wishes] = {}

    def in_order(self, order: Order) -> Way | None:
        """As the function of this name; the same object each time."""
        if order not in self._found:
            self._found[order] = in_order(self._call, order, self._ops)
        return self._found[order]

    def wishes(self, way: Way, *, small: bool = False) -> Wishes:
        """What one of these ways reads in an order of all of its axes.

        Args:
            way: one of this kind.
            small: only what has no more bytes than what is made.
        """
        found = self._wishes.get((way, small))
        if found is None:
            most = self._call.outputs[0].nbytes if small else math.inf
            found = self._wishes[way, small] = [
                (index, order)
                for index, (spec, order) in enumerate(
                    zip(self._call.inputs, way.inputs, strict=True)
                )
                if spec is not None and len(order) == spec.rank and spec.nbytes <= most
            ]
        return found

    @cached_property
    def minds(self) -> bool:
        """True when the order of the axes is what an op is about: it cannot take them in reverse.

        A transpose does not mind: in another order it is another transpose.
        """
        call = self._call
        if call.op == "transpose":
            return False
        return self._ops.op(call.op).op.reordered(call, plain(self.rank)[::-1]) is None

    def call_of(self, call: OpCall, way: Way) -> OpCall:
        """As the function of this name, for a call of this kind and one of its ways."""
        if way.attrs is None:
            return call
        made = self._calls.get(way)
        if made is None:
            made = self._calls[way] = call_of(call, way, self._ops)
        return made if made.name == call.name else made.named(call.name, call.location)


class Ways:
    """The ways of the ops of one job by their kinds: nets repeat themselves.

    Used by one thread.
    """

    def __init__(self, ops: OpSource) -> None:
        """Know nothing yet; ``ops`` is where ops are known."""
        self._ops = ops
        self._kinds: dict[object, Kind] = {}
        self._kind_of: dict[str, Kind] = {}  # by the name of the op

    def of(self, call: OpCall) -> Kind:
        """The kind of a call."""
        kind = self._kind_of.get(call.name)
        if kind is None:
            # Calls that are checked alike share what they are made of, and to hash all of it takes
            # long. A kind holds its call, so no other object has one of these places.
            key = (call.op, id(call.inputs), id(call.attrs), call.output_count)
            kind = self._kinds.get(key)
            if kind is None:
                kind = self._kinds[key] = Kind(call, self._ops)
            self._kind_of[call.name] = kind
        return kind


def _plain_inputs(call: OpCall) -> tuple[Order, ...]:
    return tuple([() if spec is None else plain(len(spec.shape)) for spec in call.inputs])
