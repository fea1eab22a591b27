"""Recurrent layers in one call, against numpy's step by step; the suite asks for the states."""

import numpy as np
import pytest

import headrace as flow
import headrace.typing as tp

RNG = np.random.default_rng(0)


def drawn(*shape):
    return (RNG.standard_normal(shape) / 2).astype(np.float32)


def layer(op, steps, batch, features, hidden, directions, begun, biased):
    """Inputs of a layer, in the order of the op."""
    gates = 4 if op == "lstm" else 3
    state = (directions, batch, hidden)
    return [
        drawn(steps, batch, features),
        drawn(directions, gates * hidden, features),
        drawn(directions, gates * hidden, hidden),
        drawn(directions, 2 * gates * hidden) if biased else None,
        None,
        drawn(*state) if begun else None,
        *([drawn(*state) if begun else None] if op == "lstm" else []),
    ]


def made_on(device, op, inputs, attrs):
    """The states after each step, as the op makes them there."""
    x, *others = inputs
    with flow.Session() as session:

        @flow.global_function(session=session)
        def job(given: tp.Numpy.Placeholder(x.shape)) -> tp.Numpy:
            with flow.scope.placement(device, "0:0"):
                return flow.apply_op(op, [given, *others], **attrs)

        return job(x)


SIZES = ((1, 1, 3, 5), (7, 2, 4, 16), (12, 3, 5, 33))


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(
    ("op", "attrs"),
    [("lstm", {}), ("gru", {}), ("gru", {"linear_before_reset": True})],
)
def test_layers_agree_with_numpy(op, attrs, sizes, direction):
    """With biases and states to begin with, and without."""
    directions = 2 if direction == "bidirectional" else 1
    for full in (True, False):
        inputs = layer(op, *sizes, directions, full, full)
        attrs = {**attrs, "direction": direction}
        made = made_on("cpu", op, inputs, attrs)
        np.testing.assert_allclose(
            made, made_on("fakedevice", op, inputs, attrs), rtol=1e-4, atol=1e-5
        )
