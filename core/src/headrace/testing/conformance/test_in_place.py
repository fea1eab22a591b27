"""Outputs that lie on the memory of an input, wherever an op says that they may.

Only a device that claims the capability ``in-place`` is asked: it says that each of its kernels
reads an element before it writes the one that takes its place.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest

from headrace.ops import OPS, Op, get_op
from headrace.registry import Backend
from headrace.tensor_spec import Array
from headrace.testing import conformance
from headrace.testing.case import Case
from headrace.testing.fenced import run_fenced
from headrace.testing.opened import OpenedDevice
from headrace.testing.run import call_of, compare

pytestmark = pytest.mark.conformance("in-place")


def _rule(op: type[Op]) -> object:
    return next(vars(kind)["in_place"] for kind in op.__mro__ if "in_place" in vars(kind))


NEVER = {"greater", "greater_equal", "is_inf", "is_nan", "less", "less_equal", "where"}
"""Ops that share the rule of their family, which lets none of their results replace an input."""

PROPOSING = sorted(
    name for name, op in OPS.items() if vars(Op)["in_place"] is not _rule(op) and name not in NEVER
)
"""Ops that let an output replace an input; which one, and whether, depends on the call."""

_BITS = np.arange(12, dtype=np.uint8).reshape(3, 4)
_TRUTH = _BITS % 3 == 0
_LARGE = np.random.default_rng(1).uniform(-4, 4, (103, 194)).astype(np.float32)
_ROW = np.linspace(0.5, 2, 194, dtype=np.float32)


def _large(op: str, *arrays: Array, **attrs: object) -> Case:
    return Case(f"large-{arrays[0].dtype}", op, arrays, attrs)


MORE = (
    # The families try these with shapes of which none is that of the result.
    *(Case("bits", f"bitwise_{name}", (_BITS, _BITS[::-1] * 9)) for name in ("and", "or", "xor")),
    *(Case("truth", f"logical_{name}", (_TRUTH, _TRUTH[::-1])) for name in ("or", "xor")),
    Case("truth", "equal", (_TRUTH, _TRUTH[::-1])),
    Case("bits", "bit_shift", (_BITS, _BITS[::-1] % 5), {"direction": "left"}),
    # What works on a few elements at once may still go over more of them piece by piece.
    _large("add", _LARGE, _ROW),
    _large("add", _ROW.astype(np.float16), _LARGE.astype(np.float16)),
    _large("divide", _LARGE.astype(np.int32), np.abs(_LARGE).astype(np.int32) + 1),
    _large("bias_add", _LARGE, _ROW, axis=1),
    _large("sigmoid", _LARGE),
    _large("gelu", _LARGE),
    _large("softmax", _LARGE, axis=0),
    _large("softmax", _LARGE.astype(np.float16), axis=1),
    _large("normalization", _LARGE, *(_ROW + k for k in range(4)), axis=1, epsilon=1e-5),
    _large("scatter_elements", _LARGE, np.argsort(_LARGE, axis=1), _LARGE[:, ::-1], axis=1),
)


def cases(op: str) -> Iterator[Case]:
    """Every case of ``op`` in the suite."""
    yield from (case for case in MORE if case.op == op)
    for module in pkgutil.iter_modules(conformance.__path__, f"{conformance.__name__}."):
        listed = getattr(import_module(module.name), "CASES", ())
        yield from (case for case in listed if case.op == op)


@pytest.mark.parametrize("op", PROPOSING)
def test_in_place(device: str, backend: Backend, opened: OpenedDevice, op: str) -> None:
    """Each case of the op with each output on the input that it may replace, as the oracle says."""
    if "in-place" not in backend.device.capabilities:
        pytest.skip(f"device {backend.tag!r} does not claim the capability 'in-place'")
    calls = [(case, call) for case in cases(op) if get_op(op).in_place(call := call_of(case))]
    with_kernel = [(case, call) for case, call in calls if backend.kernels.select(call)]
    if not with_kernel:
        pytest.skip(f"device {backend.tag!r} has no kernel for {op}")
    for case, call in with_kernel:
        for source, target in get_op(op).in_place(call):
            # A device of its own for each, so that memory does not pile up; it stays open.
            with OpenedDevice(device) as one:
                results = run_fenced(one, case, {target: source})
            compare(case, results, f"on {device}, output {target} in place of input {source}")
