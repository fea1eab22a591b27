"""What passes make of jobs: products with packed weights that take in what follows them."""

import numpy as np
import pytest

import headrace as flow
import headrace.typing as tp

RNG = np.random.default_rng(0)
IMAGE = RNG.standard_normal((1, 16, 6, 7)).astype(np.float32)
WEIGHT = RNG.standard_normal((16, 16, 3, 3)).astype(np.float32) / 12
BIAS = RNG.standard_normal(16).astype(np.float32)


@pytest.fixture(autouse=True)
def _sums_of_all_taps(monkeypatch):
    """Which algorithm is chosen is told in test_winograd.py."""
    monkeypatch.setenv("HEADRACE_CPU_WINOGRAD", "0")


def convolved(x):
    """A convolution that keeps the shape."""
    return flow.apply_op("conv", [x, WEIGHT, BIAS], pads=[1] * 4)


def result_on(device, body, x):
    """What a job makes there, and its ops but for moves."""
    with flow.Session() as session:

        @flow.global_function(session=session)
        def job(given: tp.Numpy.Placeholder(x.shape)) -> tp.Numpy:
            with flow.scope.placement(device, "0:0"):
                return body(given)

        made = job(x)
        ops = [op.op.partition("(")[0] for op in session.explain("job").ops]
    return made, [op for op in ops if op != "transpose"]


def ops_of(body, x=IMAGE):
    """The ops of a job; its result is that of a device that fuses nothing."""
    made, ops = result_on("cpu", body, x)
    np.testing.assert_allclose(made, result_on("fakedevice", body, x)[0], rtol=1e-4, atol=1e-5)
    return ops


def number(value):
    return np.array(value, np.float32)


def gate(x, f):
    return x * f(x)


def spelled_hard_swish(x):
    return gate(x, lambda x: flow.apply_op("clip", [x + number(3), number(0), number(6)])) / number(
        6
    )


FOLLOWED = {
    "relu": flow.relu,
    "clip": lambda x: flow.apply_op("clip", [x, number(0), number(6)]),
    "clip from below": lambda x: flow.apply_op("clip", [x, number(-1), None]),
    "leaky": lambda x: flow.apply_op("leaky_relu", [x], alpha=0.2),
    "sigmoid": flow.sigmoid,
    "hard_sigmoid": lambda x: flow.apply_op("hard_sigmoid", [x], alpha=0.3, beta=0.4),
    "hard_swish": lambda x: flow.apply_op("hard_swish", [x]),
    "swish": lambda x: flow.apply_op("swish", [x]),
    "spelled swish": lambda x: gate(x, flow.sigmoid),
    "gate": lambda x: gate(x, lambda x: flow.apply_op("hard_sigmoid", [x])),
    "spelled hard_swish": spelled_hard_swish,
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_an_activation_is_computed_by_the_product(name):
    """Whatever it is spelled with."""
    assert ops_of(lambda x: FOLLOWED[name](convolved(x))) == ["cpu.conv"]


def test_a_residual_is_added_by_the_product():
    """Before the activation or after it."""
    assert ops_of(lambda x: flow.relu(convolved(x) + x)) == ["cpu.conv"]
    assert ops_of(lambda x: x + flow.relu(convolved(x))) == ["cpu.conv"]
    assert ops_of(lambda x: flow.apply_op("add_n", [convolved(x), x])) == ["cpu.conv"]


def test_what_somebody_else_reads_is_kept():
    """The sum of a product with itself is no residual, nor may a reader lose what it reads."""
    assert ops_of(lambda x: gate(convolved(x), lambda y: y)) == ["cpu.conv", "multiply"]
    assert ops_of(lambda x: flow.relu(y := convolved(x)) - y) == ["cpu.conv", "cpu.elementwise"]
    twice = ops_of(lambda x: flow.relu(flow.sigmoid(convolved(x))))
    assert twice == ["cpu.conv", "relu"]


@pytest.mark.parametrize("shape", [(7,), (1, 7), (1, 1, 7)])
def test_a_bias_of_a_product_of_matrices(shape):
    """A constant for each column, in whatever shape has them last; then what follows."""
    weight = RNG.standard_normal((5, 7)).astype(np.float32)
    bias = RNG.standard_normal(shape).astype(np.float32)

    def body(x):
        return flow.relu(flow.apply_op("matmul", [x, weight]) + bias)

    assert ops_of(body, RNG.standard_normal((2, 3, 5)).astype(np.float32)) == ["cpu.matmul"]


def test_a_matrix_from_the_right_is_packed_as_it_lies():
    """Transposed weights too."""
    weight = RNG.standard_normal((7, 5)).astype(np.float32)

    def body(x):
        return flow.apply_op("matmul", [x, weight], transpose_b=True)

    assert ops_of(body, RNG.standard_normal((1, 5)).astype(np.float32)) == ["cpu.matmul"]


def padded(x, mode="constant", value=None):
    inputs = [x] if value is None else [x, number(value)]
    return flow.apply_op("pad", inputs, pads=[0, 0, 1, 2, 0, 0, 0, 1], mode=mode)


def test_padding_with_zeros_is_done_by_the_convolution():
    """Beside its own; other padding is not, nor is what somebody else reads."""
    assert ops_of(lambda x: convolved(padded(x))) == ["cpu.conv"]
    assert ops_of(lambda x: convolved(padded(x, value=0.0))) == ["cpu.conv"]
    assert ops_of(lambda x: convolved(padded(x, value=1.0))) == ["pad", "cpu.conv"]
    assert ops_of(lambda x: convolved(padded(x, "reflect"))) == ["pad", "cpu.conv"]
    assert ops_of(lambda x: convolved(y := padded(x)) + y)[:2] == ["pad", "cpu.conv"]


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("columns", [1, 3, 8])
def test_few_outputs_are_computed_for_several_positions_at_once(columns, stride):
    """As columns side by side; numbers, bias, residual and activation stay the same."""
    weight = RNG.standard_normal((columns, 8, 5, 5)).astype(np.float32) / 14
    bias = RNG.standard_normal(columns).astype(np.float32)
    more = RNG.standard_normal((1, columns, 12 // stride, 24 // stride)).astype(np.float32)

    def body(x):
        y = flow.apply_op("conv", [x, weight, bias], pads=[2] * 4, strides=[stride] * 2)
        return flow.relu(flow.relu(y) + more)

    image = RNG.standard_normal((1, 8, 12, 24)).astype(np.float32)
    assert ops_of(body, image)[:3] == ["cpu.conv", "reshape", "relu"]


def test_enough_outputs_are_left_alone():
    """A full panel gains nothing, nor do windows of one tap."""
    wide = RNG.standard_normal((16, 16, 3, 3)).astype(np.float32)
    point = RNG.standard_normal((3, 16, 1, 1)).astype(np.float32)
    for weight in (wide, point):
        assert ops_of(lambda x, w=weight: flow.apply_op("conv", [x, w])) == ["cpu.conv"]


def test_constant_factors_and_terms_go_into_the_weights():
    """For each output or for all, in any number, before the activation; others stay."""
    each = RNG.uniform(0.5, 2, (16, 1, 1)).astype(np.float32)
    whole = RNG.uniform(0.5, 2, (1, 16, 6, 7)).astype(np.float32)

    def scaled(x):
        return (number(1.5) * (convolved(x) + each) - number(0.5)) / each

    assert ops_of(lambda x: flow.relu(scaled(x))) == ["cpu.conv"]
    assert ops_of(lambda x: spelled_hard_swish(scaled(x))) == ["cpu.conv"]
    assert ops_of(lambda x: convolved(x) * whole) == ["cpu.conv", "multiply"]
    assert ops_of(lambda x: number(1) - convolved(x)) == ["cpu.conv", "subtract"]
    assert ops_of(lambda x: convolved(x) * number(np.inf)) == ["cpu.conv", "multiply"]


@pytest.mark.parametrize("kernel", [(2, 2), (1, 3), (2,)])
def test_transposed_windows_that_do_not_meet_are_a_product_and_a_move(kernel):
    """With its bias; those that meet are a convolution, which adds them up."""
    image = RNG.standard_normal((2, 8, 6, 5)[: 2 + len(kernel)]).astype(np.float32)
    weight = RNG.standard_normal((8, 4, *kernel)).astype(np.float32)
    bias = RNG.standard_normal(4).astype(np.float32)

    def body(x, strides=kernel):
        return flow.apply_op("conv_transpose", [x, weight, bias], strides=list(strides))

    parts = [op for op in ops_of(body, image) if op != "reshape"]
    assert parts == ["cpu.matmul"]
    meeting = [op for op in ops_of(lambda x: body(x, [1] * len(kernel)), image) if op != "reshape"]
    assert meeting == ["cpu.conv"]
