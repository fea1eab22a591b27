"""Recurrent layers, on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headrace.dtypes import FLOATS, DType, float32
from headrace.errors import RunError
from headrace.ops.recurrent import ACTIVATIONS
from headrace.tensor_spec import Array
from headrace.testing.case import Case
from headrace.testing.run import check_case, run_op

_GATES = {"rnn": 1, "gru": 3, "lstm": 4}
_FUNCTIONS = {"rnn": 1, "gru": 2, "lstm": 3}
STEPS, BATCH, FEATURES, HIDDEN = 4, 3, 2, 3


def _case(
    id: str,
    op: str,
    *given: str,
    sizes: tuple[int, int, int, int] = (STEPS, BATCH, FEATURES, HIDDEN),
    lens: tuple[int, ...] = (2, 4, 1),
    outputs: int = 0,
    dtype: DType = float32,
    **attrs: object,
) -> Case:
    """A layer with the optional inputs that are ``given``, or with none but these."""
    steps, batch, features, hidden = sizes
    directions = 2 if attrs.get("direction") == "bidirectional" else 1
    rows = _GATES[op] * hidden
    random = np.random.default_rng(len(id))

    def made(*shape: int) -> Array:
        return random.uniform(-1, 1, shape).astype(dtype.numpy)

    optional = {
        "b": made(directions, 2 * rows),
        "sequence_lens": np.array(lens, np.int32),
        "initial_h": made(directions, batch, hidden),
        "initial_c": made(directions, batch, hidden),
        "peephole": made(directions, 3 * hidden),
    }
    names = list(optional)[: 5 if op == "lstm" else 3]
    return Case(
        id,
        op,
        (
            made(steps, batch, features),
            made(directions, rows, features),
            made(directions, rows, hidden),
            *(optional[name] if name in given else None for name in names),
        ),
        attrs,
        outputs or (3 if op == "lstm" else 2),
    )


def _everything(op: str) -> tuple[str, ...]:
    common = ("b", "sequence_lens", "initial_h")
    return (*common, "initial_c", "peephole") if op == "lstm" else common


_COMMON = tuple(
    case
    for op in _GATES
    for case in (
        _case("bare", op),
        _case("only-y", op, "b", outputs=1),
        _case("y-and-h", op, "b", outputs=2),
        _case("bias", op, "b"),
        _case("begun", op, "initial_h", "initial_c"),
        _case("lengths", op, "b", "sequence_lens"),
        _case("lengths-of-0-and-all", op, *_everything(op), lens=(0, 4, 0)),
        _case("lengths-all-0", op, *_everything(op), lens=(0, 0, 0)),
        _case("lengths-all-whole", op, *_everything(op), lens=(4, 4, 4)),
        _case("everything", op, *_everything(op)),
        _case("everything-reverse", op, *_everything(op), direction="reverse"),
        _case("everything-both", op, *_everything(op), direction="bidirectional"),
        _case("reverse", op, "b", direction="reverse"),
        _case("both", op, direction="bidirectional"),
        _case("one-of-each", op, "b", sizes=(1, 1, 1, 1)),
        _case("long", op, "b", sizes=(40, 1, 3, 5)),
        _case("no-steps", op, "b", "initial_h", sizes=(0, 2, 2, 3)),
        _case("no-batch", op, "b", sizes=(3, 0, 2, 3)),
        _case("no-features", op, "b", sizes=(3, 2, 0, 3)),
        _case("clip", op, *_everything(op), clip=0.25),
        _case("clip-both", op, "b", direction="bidirectional", clip=0.1),
    )
)
_ACTIVATIONS = tuple(
    case
    for op, count in _FUNCTIONS.items()
    for name in ACTIVATIONS
    for case in (
        # Bounded: functions without bounds of their own would grow beyond what float32 tells apart.
        _case(f"usual-{name}", op, "b", activations=(name,) * count, clip=1.5),
        _case(
            f"given-{name}",
            op,
            "b",
            activations=(name,) * count,
            alphas=(0.75, 0.25, 0.5)[:count],
            betas=(0.125, 0.75, 0.25)[:count],
        ),
    )
)
_DIRECTIONS_APART = tuple(
    _case(
        "other-functions-in-reverse",
        op,
        *_everything(op),
        direction="bidirectional",
        activations=("sigmoid", "tanh", "softsign", "hard_sigmoid", "affine", "elu")[: 2 * count],
        alphas=(0, 0, 0, 0.5, 0.75, 0.25)[: 2 * count],
        betas=(0, 0, 0, 0.25, 0.125, 0)[: 2 * count],
    )
    for op, count in _FUNCTIONS.items()
)
_FLAG_OF: tuple[tuple[str, dict[str, Any]], ...] = (
    ("gru", {"linear_before_reset": True}),
    ("lstm", {"input_forget": True}),
)
_FLAGS = (
    *(
        _case(f"{next(iter(flag))}-{direction}", op, *_everything(op), direction=direction, **flag)
        for op, flag in _FLAG_OF
        for direction in ("forward", "reverse", "bidirectional")
    ),
    _case("linear-before-reset-without-bias", "gru", linear_before_reset=True),
    _case("peephole-alone", "lstm", "peephole"),
    _case("cell-alone", "lstm", "initial_c"),
    _case("input-forget-clip", "lstm", "b", input_forget=True, clip=0.25),
)
_DTYPES = tuple(
    _case(str(dtype), op, *_everything(op), dtype=dtype)
    for op in _GATES
    for dtype in sorted(FLOATS)
)


def _integer_case(
    id: str,
    *given: str,
    sizes: tuple[int, int, int] = (STEPS, BATCH, HIDDEN),
    weights: type[np.integer[Any]] = np.int8,
    scales: int = 0,
    outputs: int = 3,
    **attrs: object,
) -> Case:
    """An ``lstm_integer``; ``scales``: so many numbers are in the scale, 0 for a scalar."""
    steps, batch, hidden = sizes
    random = np.random.default_rng(len(id))
    limits = np.iinfo(weights)

    def made(*shape: int) -> Array:
        return random.uniform(-1, 1, shape).astype(np.float32)

    of_rows = (scales,) if scales else ()
    zero = random.integers(limits.min // 4, limits.max // 4, of_rows, weights)
    optional = {
        "r_zero_point": np.asarray(zero, weights),
        "initial_h": made(batch, hidden),
        "initial_c": made(batch, hidden),
        "peephole": made(3 * hidden),
    }
    return Case(
        id,
        "lstm_integer",
        (
            made(steps, batch, 4 * hidden),
            random.integers(limits.min, limits.max, (4 * hidden, hidden), weights, endpoint=True),
            np.asarray(random.uniform(0.004, 0.008, of_rows), np.float32),
            *(optional[name] if name in given else None for name in optional),
        ),
        attrs,
        outputs,
        atol=0.02,  # one unit of a state that lies between two numbers, in each step after it
    )


_ALL = ("r_zero_point", "initial_h", "initial_c", "peephole")
_INTEGER = (
    _integer_case("bare"),
    _integer_case("only-y", outputs=1),
    _integer_case("y-and-h", "r_zero_point", outputs=2),
    _integer_case("begun", "initial_h", "initial_c"),
    _integer_case("reverse", "initial_h", "initial_c", direction="reverse"),
    _integer_case("unsigned", "r_zero_point", weights=np.uint8),
    _integer_case("scale-of-each-row", "r_zero_point", scales=4 * HIDDEN),
    _integer_case("scale-of-one-element", "r_zero_point", scales=1, weights=np.uint8),
    _integer_case("peephole", "peephole"),
    _integer_case("everything-clip", *_ALL, clip=0.25, input_forget=True, direction="reverse"),
    _integer_case("other-functions", "initial_c", activations=("hard_sigmoid", "softsign", "relu")),
    _integer_case("one-of-each", sizes=(1, 1, 1)),
    _integer_case("wide", "initial_h", sizes=(3, 5, 21)),
)

CASES: tuple[Case, ...] = _INTEGER + _COMMON + _ACTIVATIONS + _DIRECTIONS_APART + _FLAGS + _DTYPES

_WRONG = tuple(
    _case(f"length-{length}", op, "b", "sequence_lens", lens=(1, length, 2))
    for op in _GATES
    for length in (-1, STEPS + 1, 2**31 - 1)
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_recurrent(device: str, case: Case) -> None:
    """States go from step to step as in the oracle, and stop where a sequence ends."""
    check_case(device, case)


@pytest.mark.parametrize("case", _WRONG, ids=str)
def test_a_length_outside_is_an_error(device: str, case: Case) -> None:
    """A length that no sequence of x can have stops the run; no other length is taken for it."""
    with pytest.raises(RunError):
        run_op(device, case)
