"""``Imaged``: what ops share that know which axis of their images holds the channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from headrace.data_format import (
    CHANNELS_FIRST,
    DATA_FORMATS,
    Order,
    order_between,
    other_format,
)
from headrace.op_call import OpCall
from headrace.ops.channels import is_last
from headrace.ops.schema import Attr, GraphBuilder, Op, Reordered, Tensor

DATA_FORMAT = Attr("data_format", "str", CHANNELS_FIRST, choices=DATA_FORMATS)
"""Where the channels are: ``channels_first`` or ``channels_last``."""


class Imaged(Op):
    """An op over images whose channels are where ``data_format`` says.

    Texts and formulas speak of channels first, ``[n, c, *spatial]``. Channels last, axis 1 of every
    image, also of a convolution's weight, is the last one instead; the numbers are the same.
    """

    images: ClassVar[tuple[int, ...]] = (0,)
    """The inputs that have channels on an axis of their own; every output has."""

    @classmethod
    def formula(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        """Say a channels-first call in simpler ops."""
        raise NotImplementedError(cls.name)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        """The formula; channels last, transposes around the channels-first op."""
        if not is_last(call):
            return cls.formula(call, inputs, builder)
        return in_other_format(cls, call, inputs, builder)

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        """Where the order is that of the other format, the call in the other format."""
        here = call.str_attr("data_format")
        there = other_format(here)
        if order != order_between(here, there, call.input(0).rank):
            return None
        given: list[Order | None] = [
            order_between(here, there, spec.rank) if spec is not None and i in cls.images else None
            for i, spec in enumerate(call.inputs)
        ]
        made = tuple(order_between(here, there, spec.rank) for spec in call.outputs)
        return Reordered(call.attrs | {"data_format": there}, tuple(given), made)


def in_other_format(
    op: type[Op], call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
) -> tuple[Tensor, ...]:
    """The call of an ``Imaged`` op in its other format, between transposes."""
    here = call.str_attr("data_format")
    order = order_between(here, other_format(here), call.input(0).rank)
    there = op.reordered(call, order)
    assert there is not None, f"{call} has no other format"
    given = [
        tensor if tensor is None or order is None else _transposed(builder, tensor, order)
        for tensor, order in zip(inputs, there.inputs, strict=True)
    ]
    made = builder.op(call.op, given, outputs=call.output_count, **there.attrs)
    return tuple(
        _transposed(builder, tensor, inverse(order))
        for tensor, order in zip(made, there.outputs, strict=True)
    )


def inverse(order: Order) -> Order:
    """The order that undoes ``order``.

    Example:
        >>> inverse((0, 2, 3, 1))
        (0, 3, 1, 2)
    """
    return tuple(order.index(axis) for axis in range(len(order)))


def _transposed(builder: GraphBuilder, tensor: Tensor, order: Order) -> Tensor:
    if order == tuple(range(len(order))):
        return tensor
    return builder.op("transpose", [tensor], perm=order)[0]
