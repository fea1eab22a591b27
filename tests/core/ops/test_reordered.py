"""Ops on tensors whose axes are in another order: ``reordered`` says the same computation."""

from __future__ import annotations

import itertools
import pkgutil
from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest

from headrace.data_format import DATA_FORMATS, Order, order_between, other_format
from headrace.graph import CORE_OPS
from headrace.op_call import Attrs, OpCall
from headrace.ops import OPS, Op, Reordered, get_op, make_call
from headrace.tensor_spec import Array, TensorSpec
from headrace.testing import Case, conformance
from headrace.testing.oracle import compute
from headrace.testing.run import call_of, compare

MOST_CASES = 20
MOST_ELEMENTS = 1000

KEEP_THEIR_ORDER = {
    "arange", "cache_write", "cached_attention", "expand", "fill", "gather", "gather_elements",
    "gather_nd", "layer_norm", "matmul", "matmul_integer", "non_max_suppression", "one_hot",
    "scatter_elements", "scatter_nd", "dft", "grid_sample", "stft", "top_k", "transpose", "gru",
    "lstm", "lstm_integer", "rnn", "rotary_embedding", "tree_ensemble", "unpack_bits",
    "couple_pairs", "col2im",
}  # fmt: skip
"""Ops that are about the order of axes, or whose meaning stands on it."""


MORE = (
    Case("reshape", "fewer-axes", (np.arange(24.0).reshape(2, 1, 3, 4),), {"shape": (2, 3, 4)}),
    Case("reshape", "more-axes", (np.arange(24.0).reshape(2, 3, 4),), {"shape": (1, 2, 3, 1, 4)}),
)


def cases() -> Iterator[Case]:
    yield from MORE
    for module in pkgutil.iter_modules(conformance.__path__):
        yield from getattr(import_module(f"{conformance.__name__}.{module.name}"), "CASES", ())


def size(case: Case) -> int:
    return sum(array.size for array in case.inputs if array is not None)


def orders(call: OpCall) -> set[Order]:
    """Those of the other format of images, and four more of its inputs of the highest rank."""
    rank = max((spec.rank for spec in call.inputs if spec is not None), default=0)
    others = list(itertools.permutations(range(rank)))
    formats = (order_between(here, other_format(here), rank) for here in DATA_FORMATS)
    return {*formats, *others[1 :: -(-len(others) // 4)]}


def in_order(array: Array | None, order: Order | None) -> Array | None:
    if array is None or order is None:
        return array
    lifted = array.reshape((1,) * (len(order) - array.ndim) + array.shape)
    return lifted.transpose(order).copy()


def computed(case: Case, call: OpCall, there: Reordered) -> tuple[Array, ...]:
    """What the oracle of the reordered call gives, put back into the order of the case.

    Compilers take what it says of its attributes and shapes as it is.
    """
    arrays = case.inputs + (None,) * (len(call.inputs) - len(case.inputs))
    given = [in_order(a, order) for a, order in zip(arrays, there.inputs, strict=True)]
    specs = [None if array is None else TensorSpec.of(array) for array in given]
    moved = make_call(get_op(case.op), case.op, specs, there.attrs, outputs=call.output_count)
    assert moved.attrs.form == Attrs(there.attrs).form, "all attributes, of their types"
    made = compute(moved, given, CORE_OPS)
    return tuple(
        array.transpose(tuple(np.argsort(order)))
        for array, order in zip(made, there.outputs, strict=False)
    )


@pytest.mark.parametrize("name", sorted(OPS.keys() - KEEP_THEIR_ORDER))
def test_a_reordered_call_computes_the_same(name: str) -> None:
    """On cases of the conformance suite, in other orders of their axes, against the oracle."""
    own = [case for case in cases() if case.op == name and size(case) < MOST_ELEMENTS]
    asked = 0
    for case in own[:: -(-len(own) // MOST_CASES)]:
        call = call_of(case)
        for order in sorted(orders(call)):
            there = get_op(name).reordered(call, order)
            if there is not None:
                compare(case, computed(case, call, there), f"in order {order}")
                asked += 1
    assert asked


@pytest.mark.parametrize("name", sorted(KEEP_THEIR_ORDER))
def test_ops_about_the_order_have_no_other(name: str) -> None:
    """They stand in the list above for a reason: no order can be told them."""
    assert get_op(name).reordered.__func__ is Op.reordered.__func__  # type: ignore[attr-defined]
