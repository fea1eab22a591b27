"""What ops are said in: the same results, and in the end a few primitive ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from headrace.graph.builder import JobGraphBuilder
from headrace.op_call import OpCall
from headrace.ops import OPS, Tensor, get_op, make_call
from headrace.placement import Placement
from headrace.tensor_spec import Array, TensorSpec
from headrace.testing.case import Case
from headrace.testing.conformance import (
    test_activation,
    test_attention,
    test_binary,
    test_conv,
    test_gather,
    test_integer,
    test_logic,
    test_norm,
    test_pool,
    test_quantize,
    test_recurrent,
    test_reduce,
    test_resize,
    test_running,
    test_sampling,
    test_signal,
    test_softmax,
    test_unary,
)
from headrace.testing.run import call_of, compare

FAMILIES = (
    test_activation, test_attention, test_binary, test_conv, test_gather, test_integer,
    test_logic, test_norm, test_pool, test_quantize, test_recurrent, test_reduce, test_resize,
    test_running, test_sampling, test_signal, test_softmax, test_unary,
)  # fmt: skip

PRIMITIVE = {
    "acos", "acosh", "add", "argmax", "argmin", "asin", "asinh", "atan", "atanh",
    "bit_shift", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "cast", "ceil",
    "concat", "cos", "cosh", "couple_pairs",
    "divide", "equal", "erf", "exp", "expand", "floor", "greater",
    "gather", "gather_elements", "gather_nd", "identity", "log", "scatter_elements", "scatter_nd",
    "top_k",
    "logical_and", "logical_not", "logical_or", "logical_xor", "matmul", "maximum", "minimum",
    "mod", "multiply", "pad", "power", "reduce_max", "reduce_min", "reduce_prod", "reduce_sum",
    "reshape", "round", "sin", "sinh", "slice", "sqrt", "subtract", "tan", "tanh",
    "transpose", "where",
}  # fmt: skip


class Recorder:
    """A builder that only records which ops are used, without shapes of its own making."""

    def __init__(self) -> None:
        self.calls: list[OpCall] = []

    def constant(self, value: Array) -> Tensor:
        return Tensor("constant", TensorSpec.of(value))

    def op(
        self, op: str, inputs: Sequence[Tensor | None], *, outputs: int = 1, **attrs: object
    ) -> tuple[Tensor, ...]:
        specs = [None if tensor is None else tensor.spec for tensor in inputs]
        call = make_call(get_op(op), op, specs, attrs, outputs=outputs)
        self.calls.append(call)
        return tuple(Tensor(op, spec) for spec in call.outputs)


def inputs_of(case: Case, call: OpCall) -> tuple[Array | None, ...]:
    return case.inputs + (None,) * (len(call.inputs) - len(case.inputs))


def one_each(cases: Sequence[Case]) -> list[Case]:
    """The first case of each op and dtype."""
    found: dict[tuple[str, str], Case] = {}
    for case in cases:
        found.setdefault((case.op, str(call_of(case).inputs[0])), case)
    return list(found.values())


DECOMPOSED = [
    case
    for family in FAMILIES
    for case in family.CASES
    if get_op(case.op).decompose.__func__ is not OPS["add"].decompose.__func__  # type: ignore[attr-defined]
]


@pytest.mark.parametrize("case", DECOMPOSED, ids=str)
def test_decomposition_gives_what_the_oracle_gives(case: Case) -> None:
    """A device without a kernel of its own for an op is no less right."""
    call = call_of(case)
    builder: Any = JobGraphBuilder("decomposed", Placement.of_device("near"))
    tensors = [None if x is None else builder.constant(x) for x in inputs_of(case, call)]
    made = get_op(case.op).decompose(call, tensors, builder)
    assert made is not None
    values = [builder.value(tensor) for tensor in made]
    compare(case, tuple(value for value in values if value is not None), "decomposed")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__.split(".")[-1])
def test_decompositions_end_in_primitive_ops(family: object) -> None:
    """Followed to its end, every op of the family needs primitive ops only, and there is an end."""
    pending = [call_of(case) for case in one_each(family.CASES)]  # type: ignore[attr-defined]
    for _ in range(8):  # more levels than any formula has
        following: list[OpCall] = []
        for call in pending:
            if call.op in PRIMITIVE:
                continue
            recorder = Recorder()
            tensors = [None if spec is None else Tensor("x", spec) for spec in call.inputs]
            made = get_op(call.op).decompose(call, tensors, recorder)
            assert made is not None, f"{call.op} is not primitive and says itself in no other ops"
            assert tuple(tensor.spec for tensor in made) == call.outputs
            following += recorder.calls
        pending = list(dict.fromkeys(following))
    assert not pending


def test_primitive_ops_say_themselves_in_no_others() -> None:
    """Nothing is listed as primitive that a device could do without."""
    assert {op for op in PRIMITIVE if decomposes(op)} == set()


def decomposes(op: str) -> bool:
    return "decompose" in {name for cls in OPS[op].__mro__[:-2] for name in vars(cls)}
