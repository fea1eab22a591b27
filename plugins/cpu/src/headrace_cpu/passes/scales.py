"""What a pass can know of the scale of quantized numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping

from headrace.graph import JobOp
from headrace.ops.axes import per_tensor
from headrace.tensor_spec import Array


def scale_and_zero(op: JobOp, constants: Mapping[str, Array]) -> tuple[float, int] | None:
    """Those of a ``quantize`` or ``dequantize`` of bytes.

    None unless they are constants, of the whole tensor, and the scale is a positive number.
    """
    scale, zero = (constants.get(name or "") for name in op.inputs[1:3])
    if not per_tensor(op.call) or scale is None or (zero is None and op.inputs[2] is not None):
        return None
    number = float(scale.reshape(()))
    if not 0 < number < math.inf:
        return None
    return number, 0 if zero is None else int(zero.reshape(()))
