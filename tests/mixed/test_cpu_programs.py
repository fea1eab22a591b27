"""Programs that the CPU backend makes of elementwise ops, against a device that makes none."""

import math

import numpy as np
import pytest

import headrace as flow
import headrace.typing as tp
from headrace_cpu.passes.fuse_elementwise import MOST_STEPS

RNG = np.random.default_rng(0)


def job_on(device, body, *arrays):
    """What a job makes there, and its ops."""
    with flow.Session() as session:
        a, b = (tp.Numpy.Placeholder(array.shape) for array in arrays)

        @flow.global_function(session=session)
        def job(x: a, y: b) -> tp.Numpy:
            with flow.scope.placement(device, "0:0"):
                return body(x, y)

        made = job(*arrays)
        return made, [op.op.partition("(")[0] for op in session.explain("job").ops]


def number(value, *shape):
    return np.full(shape, value, np.float32)


BODIES = {
    "a chain": (lambda x, y: flow.relu(flow.sigmoid(x) * y + number(1)), 1),
    "read twice inside": (lambda x, y: x * flow.sigmoid(x) + y, 1),
    "gelu": (
        lambda x, y: x * number(0.5) * (flow.apply_op("erf", [x / number(1.4142135)]) + number(1)),
        1,
    ),
    "activations of several steps": (
        lambda x, y: flow.apply_op("mish", [flow.apply_op("gelu", [x + y])]) * number(2),
        1,
    ),
    "a clip with numbers": (
        lambda x, y: flow.apply_op("clip", [x + y, number(-1), number(1)]) * number(2),
        1,
    ),
    "a clip from below": (
        lambda x, y: flow.apply_op("clip", [x + y, number(0), None]) * number(np.inf),
        1,
    ),
    "a sum of several": (lambda x, y: flow.relu(flow.add_n([x, y, x * y, x])), 1),
    "a longer number": (lambda x, y: (x + number(1, 1, 1, 1)) * number(2), 1),
    "a truth": (
        lambda x, y: flow.apply_op("where", [flow.apply_op("less", [x, y]), x, number(0)]) + y,
        1,
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_what_follows_each_other_is_one_program(name):
    """As another device computes it op by op."""
    body, count = BODIES[name]
    x = RNG.standard_normal((3, 20)).astype(np.float32)
    y = RNG.standard_normal(20).astype(np.float32)
    made, ops = job_on("cpu", body, x, y)
    assert ops.count("cpu.elementwise") == count, ops
    np.testing.assert_allclose(made, job_on("fakedevice", body, x, y)[0], rtol=1e-5, atol=1e-6)


def test_chains_of_many_numbers_fit():
    """Whatever the steps are, a program has no more operands than it may have."""

    def body(x, y):
        for n in range(MOST_STEPS):
            x = flow.apply_op("hard_sigmoid", [x], alpha=0.1 + n, beta=0.2 + n / 7)
        return x + y

    x, y = (RNG.standard_normal(5).astype(np.float32) for _ in range(2))
    made, ops = job_on("cpu", body, x, y)
    assert sorted(ops) == ["cpu.elementwise", "hard_sigmoid"]
    np.testing.assert_allclose(made, job_on("fakedevice", body, x, y)[0], rtol=1e-5)


def test_long_chains_are_several_programs():
    """Each of a bounded length."""

    def body(x, y):
        for _ in range(2 * MOST_STEPS + 3):
            x = flow.relu(x + y)
        return x

    x, y = (RNG.standard_normal(5).astype(np.float32) for _ in range(2))
    made, ops = job_on("cpu", body, x, y)
    assert len(ops) == math.ceil(2 * (2 * MOST_STEPS + 3) / MOST_STEPS)
    np.testing.assert_allclose(made, job_on("fakedevice", body, x, y)[0], rtol=1e-5)
