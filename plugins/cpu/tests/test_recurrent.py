"""Recurrent layers whose weights are packed while the job is compiled, against numpy's."""

import numpy as np
import pytest

import headrace as flow
import headrace.typing as tp
from headrace.errors import RunError
from headrace.numpy_ops import evaluate
from headrace.ops import get_op, make_call
from headrace.tensor_spec import TensorSpec
from headrace_cpu import set_threads
from headrace_cpu.ops.pack_integers import PackIntegers, pack_integers
from headrace_cpu.ops.recurrent import LAYERS, recurrent
from headrace_cpu.ops.recurrent_integer import PackedLstmInteger, lstm_integer
from headrace_cpu.plugin import headrace_ops

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
KINDS = [
    ("lstm", {}),
    ("gru", {}),
    ("gru", {"linear_before_reset": True}),
    ("rnn", {}),
    ("rnn", {"activations": ("relu",)}),
]


def for_directions(attrs, direction):
    """``attrs`` with activations for all of them."""
    count = 2 if direction == "bidirectional" else 1
    named = attrs.get("activations", ()) * count
    return {**attrs, "direction": direction} | ({"activations": named} if named else {})


def arrays_of(kind, sizes, directions):
    """x, the weights and the states."""
    steps, batch, features, hidden = sizes
    rng, rows = np.random.default_rng(hidden), GATES[kind] * hidden
    shapes = [(steps, batch, features), (directions, rows, features), (directions, rows, hidden)]
    state = (directions, batch, hidden)
    shapes += [(directions, 2 * rows), *[state] * (2 if kind == "lstm" else 1)]
    x, w, r, b, *states = (rng.standard_normal(s, np.float32) / np.float32(2) for s in shapes)
    return x, w, r, b, None, *states


def numpy_s(kind, arrays, attrs, outputs=1):
    specs = [None if array is None else TensorSpec.of(array) for array in arrays]
    call = make_call(get_op(kind), kind, specs, attrs, outputs=outputs)
    made = evaluate(call, [*arrays, *[None] * (len(call.inputs) - len(arrays))])
    return made if outputs > 1 else made[0]


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("kind", "attrs"), KINDS)
@pytest.mark.parametrize("sizes", [(1, 1, 3, 16), (5, 2, 7, 5), (3, 9, 20, 33)])
@pytest.mark.parametrize("threads", [1, 3])
def test_constant_weights_are_packed_once(sizes, kind, attrs, direction, threads):
    """The layer has no other weights when it runs, and computes the same."""
    arrays = arrays_of(kind, sizes, 2 if direction == "bidirectional" else 1)
    x, *others = arrays
    set_threads(threads)
    with flow.Session() as session:

        @flow.global_function(session=session)
        def job(x: tp.Numpy.Placeholder(x.shape)) -> tp.Numpy:
            with flow.scope.placement("cpu", "0:0"):
                return flow.apply_op(kind, [x, *others], **for_directions(attrs, direction))

        made = job(x)
        ops = [op.op.split("(")[0] for op in session.explain("job").ops]
    assert ops == [f"cpu.{kind}"]
    want = numpy_s(kind, arrays, for_directions(attrs, direction))
    np.testing.assert_allclose(made, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("kind", "attrs"), KINDS)
@pytest.mark.parametrize("lengths", [(6, 0, 2, 2, 5), (0, 0, 0, 0, 0), (3, 3, 3, 3, 3), (6,)])
def test_sequences_end_where_their_lengths_say(kind, attrs, direction, lengths):
    """Packed layers take lengths: all outputs are those of numpy's steps."""
    lens = np.array(lengths, np.int32)
    sizes = (6, len(lens), 7, 19)
    arrays = list(arrays_of(kind, sizes, 2 if direction == "bidirectional" else 1))
    x, w, r, b, _, *states = arrays
    arrays[4] = lens
    with flow.Session() as session:

        @flow.global_function(session=session)
        def job(
            x: tp.Numpy.Placeholder(x.shape), n: tp.Numpy.Placeholder(lens.shape, np.int32)
        ) -> tp.Bundle[tp.Numpy]:
            given = [x, w, r, b, n, *states]
            with flow.scope.placement("cpu", "0:0"):
                return flow.apply_ops(
                    kind, given, outputs=1 + len(states), **for_directions(attrs, direction)
                )

        made = job(x, lens)
        ops = [op.op.split("(")[0] for op in session.explain("job").ops]
    assert ops == [f"cpu.{kind}"]
    wanted = numpy_s(kind, arrays, for_directions(attrs, direction), 1 + len(states))
    for one, want in zip(made, wanted, strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-5, atol=1e-5)


def test_a_length_beyond_the_steps_is_an_error():
    """It names the length and the steps that there are."""
    x, w, r, b, *_ = arrays_of("gru", (3, 2, 4, 5), 1)
    with flow.Session() as session:

        @flow.global_function(session=session)
        def job(
            x: tp.Numpy.Placeholder(x.shape), n: tp.Numpy.Placeholder((2,), np.int32)
        ) -> tp.Numpy:
            with flow.scope.placement("cpu", "0:0"):
                return flow.apply_op("gru", [x, w, r, b, n, None])

        with pytest.raises(RunError, match="sequence_lens has 4; x has 3 steps"):
            job(x, np.array([3, 4], np.int32))


@pytest.mark.parametrize(("kind", "attrs"), KINDS)
def test_the_op_computes_as_the_op_of_core(kind, attrs):
    """On the host, from packed weights."""
    arrays = arrays_of(kind, (4, 2, 5, 7), 2)
    x, w, r, b, *others = arrays
    pack = next(entry for entry in headrace_ops() if entry.name == "cpu.pack")
    panels = []
    for weight, groups in ((w, 2), (r, 2 * LAYERS[kind].r_groups)):
        flat = weight.reshape(-1, weight.shape[2])
        packing = {"groups": groups, "transposed": True}
        call = make_call(pack.op, "pack", [TensorSpec.of(flat)], packing)
        panels += evaluate(call, [flat], pack.compute)
    given = [x, *panels, b, *others]
    both = for_directions(attrs, "bidirectional")
    packed = {"hidden": 7, **both}
    if "activations" in packed:
        packed["activation"] = packed.pop("activations")[0]
    call = make_call(
        LAYERS[kind],
        kind,
        [None if array is None else TensorSpec.of(array) for array in given],
        packed,
    )
    (made,) = evaluate(call, given, recurrent)
    np.testing.assert_array_equal(made, numpy_s(kind, arrays, both))


@pytest.mark.parametrize("names", [("sigmoid", "sigmoid"), ("tanh", "relu")])
def test_layers_of_other_activations_are_steps(names):
    """Those of which the extension has none, and two that differ."""
    arrays = arrays_of("rnn", (4, 2, 5, 7), 2)
    x, *others = arrays
    attrs = {"direction": "bidirectional", "activations": names}
    with flow.Session() as session:

        @flow.global_function(session=session)
        def job(x: tp.Numpy.Placeholder(x.shape)) -> tp.Numpy:
            with flow.scope.placement("cpu", "0:0"):
                return flow.apply_op("rnn", [x, *others], **attrs)

        made = job(x)
    np.testing.assert_allclose(made, numpy_s("rnn", arrays, attrs), rtol=1e-5, atol=1e-5)


def integer_arrays(dtype, scales, sizes=(6, 3, 21)):
    """What drives an ``lstm_integer``, its weights, and where its states begin."""
    steps, batch, hidden = sizes
    rng, limits = np.random.default_rng(scales), np.iinfo(dtype)
    drive = rng.standard_normal((steps, batch, 4 * hidden), np.float32)
    r = rng.integers(limits.min, limits.max, (4 * hidden, hidden), dtype, endpoint=True)
    of_rows = (scales,) if scales else ()
    scale = rng.uniform(0.001, 0.003, of_rows).astype(np.float32)
    zero = rng.integers(limits.min // 4, limits.max // 4, of_rows, dtype)
    states = rng.uniform(-1, 1, (2, batch, hidden)).astype(np.float32)
    return [drive, r, np.asarray(scale), np.asarray(zero, dtype), *states]


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("scales", [0, 1, 84])
@pytest.mark.parametrize("threads", [1, 3])
def test_bytes_of_a_layer_are_packed_once(direction, dtype, scales, threads):
    """The layer multiplies by packed bytes when it runs, and computes the same."""
    drive, *others = integer_arrays(dtype, scales)
    set_threads(threads)
    with flow.Session() as session:

        @flow.global_function(session=session)
        def job(drive: tp.Numpy.Placeholder(drive.shape)) -> tp.Numpy:
            with flow.scope.placement("cpu", "0:0"):
                return flow.apply_op("lstm_integer", [drive, *others], direction=direction)

        made = job(drive)
        ops = [op.op.split("(")[0] for op in session.explain("job").ops]
    assert ops == ["cpu.lstm_integer"]
    want = numpy_s("lstm_integer", [drive, *others], {"direction": direction})
    np.testing.assert_allclose(made, want, atol=0.005)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_the_op_of_bytes_computes_as_the_op_of_core(dtype):
    """On the host, from packed bytes, which begin at -128."""
    drive, r, scale, zero, h, c = integer_arrays(dtype, 84)
    call = make_call(PackIntegers, "pack", [TensorSpec.of(r)], {"transposed": True}, outputs=2)
    panels, sums = evaluate(call, [r], pack_integers)
    zeros = zero.astype(np.int32) - (128 if dtype == np.uint8 else 0)
    given = [drive, panels, sums, scale, zeros, h, c]
    call = make_call(PackedLstmInteger, "layer", [TensorSpec.of(a) for a in given], {}, outputs=3)
    made = evaluate(call, given, lstm_integer)
    np.testing.assert_array_equal(
        made[0], numpy_s("lstm_integer", [drive, r, scale, zero, h, c], {})
    )
