"""Calls that are made again: what is remembered of one is right for the other."""

from __future__ import annotations

import math

import pytest

from headrace.errors import DTypeError, OpError
from headrace.op_call import OpCall
from headrace.ops import get_op, make_call
from headrace.tensor_spec import TensorSpec

_X = TensorSpec((2, 3), "float32")


def _call(op: str, *inputs: TensorSpec | None, **attrs: object) -> OpCall:
    return make_call(get_op(op), op, inputs, attrs)


def test_equal_calls_share_what_was_inferred():
    first, second = _call("concat", _X, _X, axis=0), _call("concat", _X, _X, axis=0)
    assert first == second
    assert first.outputs[0] is second.outputs[0]
    assert first.attrs is second.attrs


def test_each_call_has_its_own_name_and_place():
    first = make_call(get_op("relu"), "a", [_X], {}, location="here")
    second = make_call(get_op("relu"), "b", [_X], {}, location="there")
    assert (first.name, first.location) == ("a", "here")
    assert (second.name, second.location) == ("b", "there")


def test_a_zero_keeps_its_sign():
    signs = [
        math.copysign(1, _call("leaky_relu", _X, alpha=zero).float_attr("alpha"))
        for zero in (0.0, -0.0, 0.0)
    ]
    assert signs == [1, -1, 1]


def test_numbers_of_other_types_are_kept_as_the_type_of_the_attribute():
    call = _call("concat", _X, _X, axis=True)
    assert type(call.int_attr("axis")) is int
    assert type(_call("leaky_relu", _X, alpha=1).float_attr("alpha")) is float
    assert _call("reshape", _X, shape=[True, 6]).attrs.form == "{'shape': (1, 6)}"


def test_what_is_illegal_stays_so_when_something_like_it_was_legal():
    _call("add", _X, _X)
    half = TensorSpec((2, 3), "float16")
    for _ in range(2):
        with pytest.raises(DTypeError, match="'a' and 'b' must have one dtype"):
            _call("add", _X, half)
        with pytest.raises(OpError, match="input 'b' is required and was not given"):
            _call("add", _X)
        with pytest.raises(OpError, match=r"takes 2 inputs \(a, b\); 3 were given"):
            _call("add", _X, _X, _X)


@pytest.mark.parametrize(
    ("op", "attrs", "message"),
    [
        ("concat", {"axis": 0, "axes": 1}, "has no attribute 'axes'; attributes are axis"),
        ("relu", {"axis": 0}, "has no attribute 'axis'; attributes are none"),
        ("concat", {}, "attribute 'axis' is required and was not given"),
        ("concat", {"axis": 0.5}, "attribute 'axis' must be int; got 0.5"),
        ("reshape", {"shape": 6}, "attribute 'shape' must be ints; got 6"),
        ("gelu", {"approximate": 1}, "attribute 'approximate' must be one of none, tanh; got 1"),
        ("cast", {"dtype": "decimal"}, "attribute 'dtype': 'decimal' is not a tensor dtype"),
    ],
)
def test_messages_name_the_op_the_node_and_the_attribute(op, attrs, message):
    with pytest.raises(OpError, match=f"^{op} 'node' \\(here\\): {message}"):
        make_call(get_op(op), "node", [_X], attrs, location="here")


def test_attributes_are_joined_with_others_that_take_their_place():
    attrs = _call("slice", _X, starts=[0], ends=[1]).attrs
    assert attrs | {"axes": (1,)} == {"axes": (1,), "ends": (1,), "starts": (0,), "steps": ()}
    assert attrs["axes"] == ()
