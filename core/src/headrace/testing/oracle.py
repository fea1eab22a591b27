"""What a case should give: by its reference, the op's oracle, or what the op decomposes into.

A plugin's op has no oracle in core. Its ``decompose`` says what it means in ops that have one, and
every one of these is computed by that: neither the plugin's kernel nor core's numpy functions take
part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.errors import OpError
from headrace.graph import JobGraphBuilder, OpSource
from headrace.ids import HOST_TAG
from headrace.op_call import OpCall
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.tensor_spec import Array, TensorSpec
from headrace.testing.case import Case
from headrace.testing.reference import REFERENCE


def wanted(case: Case, call: OpCall, ops: OpSource) -> tuple[Array, ...]:
    """The results that ``case`` should have.

    Args:
        case: the case.
        call: its checked call.
        ops: knows the ops.

    Raises:
        OpError: the op has no oracle, does not decompose, and the case brings no reference.
    """
    arrays = case.inputs + (None,) * (len(call.inputs) - len(case.inputs))
    if case.reference is not None:
        return _tuple(case.reference(*arrays, **call.attrs))
    return compute(call, arrays, ops)


def compute(call: OpCall, arrays: Sequence[Array | None], ops: OpSource) -> tuple[Array, ...]:
    """Compute ``call`` by oracles alone.

    Raises:
        OpError: the op, or one that it decomposes into, has no oracle and does not decompose.
    """
    if call.op in REFERENCE:
        return _tuple(REFERENCE[call.op](*arrays, **call.attrs))
    builder = JobGraphBuilder(call.name, Placement.of_device(HOST_TAG), fold=False, ops=ops)
    tensors = [
        None if array is None else builder.input(f"input_{index}", TensorSpec.of(array))
        for index, array in enumerate(arrays)
    ]
    made = ops.op(call.op).op.decompose(call, tensors, _Simpler(builder))
    if made is None:
        raise OpError(
            f"{call}: nothing says what it should give: it has no decompose; give the case a "
            "reference, Case(..., reference=function)"
        )
    graph = builder.finish()
    values: dict[str, Array] = dict(graph.constants)
    values.update((f"input_{i}", array) for i, array in enumerate(arrays) if array is not None)
    for op in graph.ops:
        given = [None if name is None else values[name] for name in op.inputs]
        values.update(zip(op.outputs, compute(op.call, given, ops), strict=False))
    return tuple(values[tensor.name] for tensor in made)


class _Simpler:
    """The builder as decompositions see it, where every keyword is an attribute."""

    def __init__(self, builder: JobGraphBuilder) -> None:
        self._builder = builder

    def op(
        self, op: str, inputs: Sequence[Tensor | None], *, outputs: int = 1, **attrs: object
    ) -> tuple[Tensor, ...]:
        return self._builder.op(op, inputs, outputs=outputs, attrs=attrs)

    def constant(self, value: Array) -> Tensor:
        return self._builder.constant(value)


def _tuple(answer: Array | tuple[Array, ...]) -> tuple[Array, ...]:
    return answer if isinstance(answer, tuple) else (np.asarray(answer),)
