"""SBP signatures hold: what is computed on parts and joined is what is computed on the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from headrace import numpy_ops
from headrace.op_call import OpCall
from headrace.ops import SbpSignature, get_op, make_call
from headrace.sbp import Broadcast, PartialSum, Sbp, Split
from headrace.tensor_spec import Array, TensorSpec

DEVICES = 2


def _made(*shape: int) -> Array:
    return np.random.default_rng(5).uniform(-2, 2, shape).astype(np.float32)


_X = np.random.default_rng(3).uniform(-2, 2, (3, 4, 5)).astype(np.float32)
_IMAGES = _made(3, 4, 5, 5)
_STUMP = (
    np.array([0], np.int32),
    np.zeros(3, np.int32),
    np.array([2, 0, 0], np.int32),
    np.zeros(3, np.float32),
    np.array([1, 1, 2], np.int32),
    np.array([2, 1, 2], np.int32),
    np.array([[9, 9], [1, 2], [3, -4]], np.float32),
)
"""One tree of one question."""
_ROW = np.linspace(0.5, 2, 5).astype(np.float32)
_ODD = np.arange(12, dtype=np.int32).reshape(3, 4) - 5
_BYTES = (np.arange(60, dtype=np.uint8) * 7).reshape(3, 4, 5)
_CODES = np.array([200, 3, 7, 90], np.uint8)
_LENGTHS = np.array([3, 1, 0, 2], np.int32)

CALLS: tuple[Any, ...] = (  # op, inputs, attributes
    *((op, (_X, _X[:, :1] + 3), {}) for op in ("add", "subtract", "multiply", "divide")),
    *((op, (_ROW, _X), {}) for op in ("maximum", "minimum", "greater", "equal")),
    *((op, (_ODD, _ODD[:1] + 7), {}) for op in ("add", "multiply", "divide", "mod")),
    ("add_n", (_X, _ROW, _X[:1]), {}),
    ("bias_add", (_X, _ROW[:4]), {"axis": 1}),
    ("negative", (_X,), {}),
    ("exp", (_X,), {}),
    ("where", (_X[:, :, :1] > 0, _X, _ROW), {}),
    ("cast", (_X,), {"dtype": "int32"}),
    ("clip", (_X, None, np.array(1, np.float32)), {}),
    ("prelu", (_X, _ROW), {}),
    ("softmax", (_X,), {"axis": 1}),
    ("log_softmax", (_X,), {"axis": -1}),
    *(
        (op, (_X,), {"axes": (1,), "keep_dims": keep})
        for op in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_prod")
        for keep in (False, True)
    ),
    ("argmax", (_X,), {"axis": -2}),
    ("matmul", (_X, _X[0].T.copy()), {}),
    ("matmul", (_X, np.swapaxes(_X, 1, 2).copy()), {}),
    ("matmul", (_X[:1], np.swapaxes(_X, 1, 2).copy()), {}),
    ("matmul", (_X, _X), {"transpose_a": True}),
    ("matmul", (_X[0], _X), {"transpose_b": True}),
    ("matmul", (_X, _ROW), {}),
    ("matmul", (_ROW[:4], _X), {}),
    ("matmul", (_ROW, _ROW), {}),
    ("conv", (_IMAGES, _made(5, 4, 2, 2), _ROW), {"pads": (1, 0, 0, 1)}),
    ("conv", (_IMAGES, _made(5, 4, 2, 2), None), {}),
    ("conv", (_IMAGES, _made(4, 2, 2, 2), _ROW[:4]), {"groups": 2}),
    ("conv_transpose", (_IMAGES, _made(4, 3, 2, 2), _ROW[:3]), {"strides": (2, 1)}),
    ("conv_transpose", (_IMAGES, _made(4, 3, 2, 2), None), {"groups": 2}),
    ("max_pool", (_IMAGES,), {"kernel": (2, 2)}),
    ("avg_pool", (_IMAGES,), {"kernel": (2, 2)}),
    ("normalization", (_IMAGES, *[_ROW[:4]] * 4), {}),
    ("instance_norm", (_IMAGES, _ROW[:4], _ROW[1:]), {}),
    ("group_norm", (_IMAGES, _ROW[:4], _ROW[1:]), {"groups": 2}),
    ("layer_norm", (_IMAGES, _ROW, _ROW[::-1].copy()), {}),
    ("layer_norm", (_IMAGES, None, _made(5, 5)), {"axis": 2}),
    ("lrn", (_IMAGES,), {"size": 3}),
    (
        "rnn",
        (_X, _made(2, 3, 5), _made(2, 3, 3), None, None, _made(2, 4, 3)),
        {"direction": "bidirectional"},
    ),
    ("gru", (_X, _made(1, 9, 5), _made(1, 9, 3), _made(1, 18), _LENGTHS, None), {}),
    (
        "lstm",
        (_X, _made(1, 12, 5), _made(1, 12, 3), None, _LENGTHS, None, _made(1, 4, 3), _made(1, 9)),
        {"direction": "reverse"},
    ),
    ("quantize", (_X, np.array(0.1, np.float32), np.array([9], np.uint8)), {}),
    ("quantize", (_X, _ROW[:4], _CODES), {"axis": -2}),
    ("quantize", (_X, _made(3, 2, 5) + 3, None), {"block_size": 2}),
    ("dequantize", (_BYTES, _ROW, None), {"axis": 2}),
    ("dequantize", (_BYTES, np.array(0.5, np.float32), np.array(3, np.uint8)), {}),
    ("matmul_integer", (_BYTES, _BYTES[0].T.copy(), np.array(3, np.uint8), None), {}),
    ("matmul_integer", (_BYTES, np.swapaxes(_BYTES, 1, 2).copy(), None, _CODES[:1]), {}),
    ("conv_integer", (_BYTES, _BYTES[:, :4].copy(), None, _CODES[:1], _CODES[:3]), {}),
    ("conv_integer", (_BYTES, _BYTES[:, :4].copy(), _ODD[:, 0].copy(), None, _CODES[:1]), {}),
    ("resize", (_IMAGES,), {"sizes": (7, 3), "axes": (2, 3), "mode": "linear"}),
    ("identity", (_X,), {}),
    ("reshape", (_X,), {"shape": (3, 2, 2, 5)}),
    ("reshape", (_IMAGES,), {"shape": (3, 100)}),
    ("reshape", (_made(4, 3, 2),), {"shape": (12, 2)}),
    ("reshape", (_made(12, 2),), {"shape": (4, 3, -1)}),
    ("transpose", (_X,), {"perm": (2, 0, 1)}),
    ("transpose", (_X,), {}),
    ("expand", (_X[:, :1],), {"shape": (2, 3, 4, 5)}),
    ("slice", (_X,), {"starts": (1, -9), "ends": (3, 99), "axes": (1, 0)}),
    ("slice", (_X,), {"starts": (-1,), "ends": (-9,), "steps": (-1,)}),
    ("concat", (_X, _X[:, :2], _X), {"axis": 1}),
    ("pad", (_X, np.array(3, np.float32)), {"pads": (0, 1, 0, 0, 0, 0)}),
    ("tile", (_X,), {"repeats": (1, 2, 1)}),
    ("gather", (_X, np.array([[1, 0, 3], [2, 2, -1]])), {"axis": 1}),
    ("gather", (_X, np.array(2)), {"axis": 0}),
    ("gather_elements", (_X, np.array([0, 2, 1, 1]).repeat(15).reshape(3, 4, 5)), {"axis": 1}),
    ("gather_elements", (_X, np.array([[[0], [2]]])), {"axis": 1}),
    ("gather_nd", (_X, np.array([[0, 1], [2, 3], [1, 0]])), {}),
    ("gather_nd", (_X, np.array([[[1], [0]], [[3], [2]], [[0], [1]]])), {"batch_dims": 1}),
    (
        "scatter_elements",
        (_X, np.array([1, 0, 2, 1]).repeat(15).reshape(3, 4, 5), _X[::-1].copy()),
        {"axis": 1, "reduction": "add"},
    ),
    ("scatter_nd", (_X, np.array([[2], [0]]), _X[:2] + 1), {}),
    ("one_hot", (np.array([[0, 2, 1], [3, -1, 9]]), _ROW[:2]), {"depth": 4, "axis": 1}),
    ("top_k", (_X,), {"k": 2, "axis": 1}),
    ("cumulative", (_X,), {"axis": 1}),
    ("dft", (_made(4, 6, 2),), {"length": 6}),
    ("stft", (_made(4, 9, 1), _made(4)), {"length": 4, "step": 2}),
    ("grid_sample", (_IMAGES, np.tanh(_made(3, 4, 6, 2))), {}),
    ("col2im", (_made(3, 8, 4),), {"kernel": (2, 2), "image": (3, 3)}),
    ("couple_pairs", (np.abs(np.tanh(_made(5, 3))),), {"classes": 3}),
    (
        "non_max_suppression",
        (np.abs(_made(4, 6, 4)), _made(4, 3, 6)),
        {"max_output_boxes_per_class": 4, "iou_threshold": 0.25},
    ),
    (
        "tree_ensemble",
        (_X[..., 0], *_STUMP, np.array([True, False, False])),
        {"comparisons": ("less",), "depth": 1},
    ),
    ("fill", (), {"shape": (3, 4), "value": 2.5}),
)


def parts(x: Array | None, sbp: Sbp) -> list[Array | None]:
    """What each device holds of ``x``."""
    if x is None or sbp == Broadcast():
        return [x] * DEVICES
    if isinstance(sbp, Split):
        return list(np.array_split(x, DEVICES, sbp.axis))
    assert isinstance(sbp, PartialSum)
    if sbp.reduction == "sum":
        first = (x // 3).astype(x.dtype)
        return [first, x - first]
    here = np.arange(x.size).reshape(x.shape) % 2 == 0
    worse = x.dtype.type(-9 if sbp.reduction == "max" else 9)
    return [np.where(here, x, worse), np.where(here, worse, x)]


def joined(results: Sequence[Array], sbp: Sbp) -> Array:
    """The tensor that the devices hold parts of."""
    if isinstance(sbp, Split):
        return np.concatenate(results, sbp.axis)
    if isinstance(sbp, PartialSum):
        join = {"sum": np.add, "max": np.maximum, "min": np.minimum}[sbp.reduction]
        result: Array = join(results[0], results[1])
        return result
    np.testing.assert_array_equal(results[0], results[1])
    return results[0]


def called(op: str, inputs: Sequence[Array | None], attrs: dict[str, object]) -> OpCall:
    specs = [None if x is None else TensorSpec.of(x) for x in inputs]
    outputs = sum(not output.optional for output in get_op(op).outputs)
    return make_call(get_op(op), op, specs, attrs, outputs=outputs)


def signatures() -> list[tuple[int, SbpSignature]]:
    found = []
    for number, (op, inputs, attrs) in enumerate(CALLS):
        call = called(op, inputs, attrs)
        found += [(number, signature) for signature in get_op(op).sbp_signatures(call)]
    return found


def label(value: object) -> str:
    if isinstance(value, SbpSignature):
        return "-".join(map(str, (*value.inputs, *value.outputs)))
    return f"{CALLS[value][0]}{value}" if isinstance(value, int) else str(value)


@pytest.mark.parametrize(("number", "signature"), signatures(), ids=label)
def test_signature_holds_on_two_devices(number: int, signature: SbpSignature) -> None:
    """Parts of uneven size, computed apart and joined as the signature says, are the whole."""
    op, inputs, attrs = CALLS[number]
    call = called(op, inputs, attrs)
    whole = numpy_ops.evaluate(call, inputs)
    assert len(signature.inputs) == len(inputs)
    held = [parts(x, sbp) for x, sbp in zip(inputs, signature.inputs, strict=True)]
    wanted = [parts(y, sbp) for y, sbp in zip(whole, signature.outputs, strict=True)]
    results = []
    for device in range(DEVICES):
        mine = [part[device] for part in held]
        specs = [TensorSpec.of(y) for part in wanted if (y := part[device]) is not None]
        part = called(op, mine, dict(get_op(op).part_attrs(call, specs)))
        results.append(numpy_ops.evaluate(part, mine))
    for index, sbp in enumerate(signature.outputs):
        got = joined([result[index] for result in results], sbp)
        np.testing.assert_allclose(got, whole[index], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("number", range(len(CALLS)), ids=label)
def test_every_call_of_rank_1_or_more_can_be_shared_out(number: int) -> None:
    """An op without a signature would hold every device back."""
    op, inputs, attrs = CALLS[number]
    assert get_op(op).sbp_signatures(called(op, inputs, attrs))


def test_a_normalised_axis_is_never_split() -> None:
    """Half a line of softmax has another sum."""
    call = called("softmax", (_X,), {"axis": 1})
    splits = {s.inputs[0] for s in get_op("softmax").sbp_signatures(call)}
    assert splits == {Split(0), Split(2)}


def test_an_axis_of_one_is_never_split() -> None:
    """There is nothing to share out, and a device would get an empty part."""
    call = called("exp", (_X[:, :1],), {})
    assert {s.inputs[0] for s in get_op("exp").sbp_signatures(call)} == {Split(0), Split(2)}
