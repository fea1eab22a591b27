"""``Way``: how an op runs, by the order in which it reads each input and makes each output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headrace.compiler.layouts.orders import laid, plain
from headrace.data_format import Order
from headrace.errors import PluginError
from headrace.graph import OpSource
from headrace.op_call import AttrValue, OpCall
from headrace.ops import make_call
from headrace.tensor_spec import TensorSpec


@dataclass(frozen=True, slots=True)
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
    """The call that ``way`` makes of ``call``, checked and inferred.

    Raises:
        PluginError: what the op said of itself does not hold.
    """
    if way.attrs is None:
        return call
    given = [
        spec if spec is None else spec.with_shape(laid(spec.shape, order))
        for spec, order in zip(call.inputs, way.inputs, strict=True)
    ]
    op = ops.op(call.op).op
    there = make_call(
        op, call.name, given, way.attrs, outputs=call.output_count, location=call.location
    )
    for spec, order, made in zip(call.outputs, way.outputs, there.outputs, strict=True):
        if made != spec.with_shape(laid(spec.shape, order)):
            raise PluginError(
                f"{call}: {op.__name__}.reordered says that it makes {spec} in order {order} when "
                f"it reads orders {way.inputs}, but then it makes {made}; mend the op, or leave "
                "the method out"
            )
    return there


class Ways:
    """The ways of the ops of one job, each looked for once: nets repeat themselves.

    Used by one thread.
    """

    def __init__(self, ops: OpSource) -> None:
        """Know nothing yet; ``ops`` is where ops are known."""
        self._ops = ops
        self._kinds: dict[object, int] = {}
        self._kind_of: dict[str, int] = {}  # by the name of the op
        self._found: dict[tuple[int, Order], Way | None] = {}
        self._calls: dict[tuple[int, tuple[Order, ...], tuple[Order, ...]], OpCall] = {}

    def kind(self, call: OpCall) -> int:
        """A number that calls share which differ in their names and places alone."""
        kind = self._kind_of.get(call.name)
        if kind is None:
            key = (call.op, call.inputs, call.attrs.form, call.output_count)
            kind = self._kind_of[call.name] = self._kinds.setdefault(key, len(self._kinds))
        return kind

    def in_order(self, call: OpCall, order: Order) -> Way | None:
        """As the function of this name."""
        key = (self.kind(call), order)
        if key not in self._found:
            self._found[key] = in_order(call, order, self._ops)
        return self._found[key]

    def minds(self, call: OpCall) -> bool:
        """True when the order of the axes is what an op is about: it cannot take them in reverse.

        A transpose does not mind: in another order it is another transpose.
        """
        return call.op != "transpose" and self.in_order(call, plain(rank_of(call))[::-1]) is None

    def call_of(self, call: OpCall, way: Way) -> OpCall:
        """As the function of this name."""
        if way.attrs is None:
            return call
        key = (self.kind(call), way.inputs, way.outputs)
        if key not in self._calls:
            self._calls[key] = call_of(call, way, self._ops)
        made = self._calls[key]
        return made if made.name == call.name else made.named(call.name, call.location)


def rank_of(call: OpCall) -> int:
    """The highest rank of its inputs."""
    return max([len(spec.shape) for spec in call.inputs if spec is not None], default=0)


def _plain_inputs(call: OpCall) -> tuple[Order, ...]:
    return tuple([() if spec is None else plain(len(spec.shape)) for spec in call.inputs])
