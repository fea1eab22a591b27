"""Arithmetic of narrow integers, expressed in that of wider ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.dtypes import DType, int8, int16, int32, uint8, uint16
from headrace.op_call import OpCall
from headrace.ops.schema import GraphBuilder, Op, Tensor

WIDER: Mapping[DType, DType] = dict.fromkeys((int8, uint8, int16, uint16), int32)
"""Integers that a device need not compute in, and what has all their numbers."""


def widened(
    op: type[Op], call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
) -> tuple[Tensor, ...] | None:
    """``call`` in the wider dtype, and back; None where it is in none that is narrow.

    The results keep their low bits, so that they wrap around as those of the narrow dtype do.
    """
    if not call.has_input(0) or call.input(0).dtype not in WIDER or not op.widens(call):
        return None
    narrow = call.input(0).dtype
    wide = WIDER[narrow]

    def cast(tensor: Tensor, source: DType, target: DType) -> Tensor:
        if tensor.spec.dtype != source:
            return tensor
        return builder.op("cast", [tensor], dtype=target)[0]

    given = [None if tensor is None else cast(tensor, narrow, wide) for tensor in inputs]
    made = builder.op(call.op, given, outputs=call.output_count, **call.attrs)
    return tuple(cast(tensor, wide, narrow) for tensor in made)
