"""How an op is chosen to run over its devices."""

from __future__ import annotations

import re

import pytest

from headrace.compiler.sharding.signature import (
    Arrival,
    WantedOutput,
    choose_signature,
    moved_bytes,
)
from headrace.errors import SbpError
from headrace.graph import CORE_OPS, SbpHint
from headrace.op_call import OpCall
from headrace.ops import get_op, make_call
from headrace.sbp import Broadcast, NdSbp, PartialSum, Split
from headrace.tensor_spec import TensorSpec


def call(op: str, *shapes: tuple[int, ...], **attrs: object) -> OpCall:
    specs = [TensorSpec(shape, "float32") for shape in shapes]
    return make_call(get_op(op), "node", specs, attrs)


def chosen(
    made: OpCall, *arriving: str | None, devices: tuple[int, ...] = (2,), hint: str | None = None
) -> tuple[list[str], str]:
    before = [Arrival(None if text is None else NdSbp.parse(text)) for text in arriving]
    hints = [None if hint is None else WantedOutput("node/y", SbpHint.of(hint, "job.py:7"))]
    signature = choose_signature(made, devices, before, hints, CORE_OPS)
    return [str(sbp) for sbp in signature.inputs], str(signature.outputs[0])


@pytest.mark.parametrize(
    ("made", "arriving", "want"),
    [
        # Data parallel: the batch is split and stays so, weights are whole.
        (call("matmul", (8, 4), (4, 6)), ("S(0)", "B"), (["S(0)", "B"], "S(0)")),
        # Model parallel: columns of the weight, and the columns of the result.
        (call("matmul", (8, 4), (4, 6)), ("B", "S(1)"), (["B", "S(1)"], "S(1)")),
        # Rows of the weight meet columns of the input: partial sums.
        (call("matmul", (8, 4), (4, 6)), ("S(1)", "S(0)"), (["S(1)", "S(0)"], "P")),
        (call("relu", (8, 4)), ("S(1)",), (["S(1)"], "S(1)")),
        # relu of a sum is not the sum of relus.
        (call("relu", (8, 4)), ("P",), (["S(0)"], "S(0)")),
        (call("softmax", (8, 4), axis=1), ("S(1)",), (["S(0)"], "S(0)")),
        (call("reduce_sum", (8, 4), axes=(0,)), ("S(0)",), (["S(0)"], "P")),
        (call("reshape", (8, 4), shape=(8, 2, 2)), ("S(0)",), (["S(0)"], "S(0)")),
    ],
    ids=str,
)
def test_what_arrives_is_taken_as_it_is(
    made: OpCall, arriving: tuple[str, ...], want: tuple[list[str], str]
) -> None:
    """An op runs on tensors as they lie where it can, and moves the least where it cannot."""
    assert chosen(made, *arriving) == want


def test_nobody_is_left_out() -> None:
    """Three rows are not split over four devices: the next axis is, or every device has all."""
    assert chosen(call("relu", (3, 8)), None, devices=(4,))[1] == "S(1)"
    assert chosen(call("relu", (3, 3)), None, devices=(4,))[1] == "B"


def test_a_hierarchy_is_chosen_axis_by_axis() -> None:
    """Data parallel along one axis, model parallel along the other."""
    made = call("matmul", (8, 4), (4, 6))
    assert chosen(made, "S(0),B", "B,S(1)", devices=(2, 3)) == (["S(0),B", "B,S(1)"], "S(0),S(1)")


def test_a_hint_decides() -> None:
    """Also against what would cost less; a partial result is made only if somebody wants it."""
    made = call("matmul", (8, 4), (4, 6))
    assert chosen(made, "S(0)", "B", hint="S(1)")[1] == "S(1)"
    assert chosen(made, "S(0)", "B", hint="P")[1] == "P"
    assert chosen(call("relu", (8, 4)), "S(1)", hint="auto") == (["S(1)"], "S(1)")
    hinted = chosen(made, "S(0),B", "B,B", devices=(2, 2), hint="auto,S(1)")
    assert hinted == (["S(0),B", "B,S(1)"], "S(0),S(1)")


@pytest.mark.parametrize(
    ("hint", "devices", "says"),
    [
        ("P(max)", (2,), "matmul 'node', which makes float32[8, 6] of float32[8, 4], float32[4, "
                         "6], cannot run on 2 devices as wanted: tensor 'node/y' is to be "
                         "distributed as P(max) (job.py:7). What it can do: S(0), B -> S(0); B, "
                         "S(1) -> S(1); S(1), S(0) -> P; P, B -> P; B, P -> P; B, B -> B"),
        ("S(0)", (9,), "What it can do: S(0), B -> S(0), but axis 0 of float32[8, 4] has 8 "
         "elements for 9 devices, and each needs one"),
        ("S(0)", (2, 2), "tensor 'node/y' is to be distributed as S(0) (job.py:7), which is for a "
                         "hierarchy of 1 axes; matmul 'node' runs over one of 2, [2x2]. Give one "
                         "for each axis"),
        ("S(0),S(0)", (4, 3), "cannot run on 3 devices, axis 1 of the hierarchy as wanted"),
    ],
)  # fmt: skip
def test_a_hint_that_cannot_be_is_refused(hint: str, devices: tuple[int, ...], says: str) -> None:
    """With op, tensor, hint, where it was written, the candidates, and why they do not do."""
    made = call("matmul", (8, 4), (4, 6))
    axes = ",".join(["B"] * len(devices))
    with pytest.raises(SbpError, match=re.escape(says)):
        chosen(made, axes, axes, devices=devices, hint=hint)


def test_parts_that_do_not_divide_are_named() -> None:
    """Three devices have no whole halves: 9 rows in pairs of 3, 1 elements do not share evenly."""
    made = call("reshape", (4, 6), shape=(8, 3))
    with pytest.raises(SbpError, match="they do not divide evenly"):
        chosen(made, "B", devices=(3,), hint="S(0)")


def test_a_byte_over_a_dear_link_counts_more() -> None:
    """Of two inputs that do not fit together, the one whose bytes come cheaper is brought."""
    made = call("add", (8, 8), (8, 8))
    row, column = NdSbp.parse("S(0)"), NdSbp.parse("S(1)")
    for costs, want in (((2, 1), "S(0)"), ((1, 2), "S(1)")):
        arriving = [Arrival(row, costs[0]), Arrival(column, costs[1])]
        got = choose_signature(made, (2,), arriving, [None], CORE_OPS)
        assert str(got.outputs[0]) == want


@pytest.mark.parametrize(
    ("have", "want", "moved"),
    [
        (Split(0), Split(0), 0),
        (Broadcast(), Split(1), 0),
        (Split(0), Broadcast(), 300),
        (Split(0), Split(1), 75),
        (PartialSum(), Split(0), 300),
        (PartialSum(), Broadcast(), 600),
        (None, Broadcast(), 400),
    ],
)
def test_bytes_that_move_are_counted(have: object, want: object, moved: float) -> None:
    """A tensor of 100 bytes over four devices: what all of them together receive."""
    assert moved_bytes(have, want, 100, 4) == moved  # type: ignore[arg-type]
