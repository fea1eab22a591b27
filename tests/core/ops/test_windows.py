"""Convolutions, pools, normalisations, resize: what they refuse, and how they say it."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.dtypes import float32
from headrace.errors import DTypeError, OpError, ShapeError
from headrace.ops import get_op, make_call
from headrace.tensor_spec import TensorSpec

IMAGE, WEIGHT = (1, 4, 5, 6), (2, 4, 3, 3)
Shape = tuple[int, ...]


def outputs(op: str, *shapes: Shape | None, outputs: int = 1, **attrs: Any) -> tuple[Shape, ...]:
    """Shapes that the op infers for float32 inputs."""
    specs = [None if shape is None else TensorSpec(shape, float32) for shape in shapes]
    call = make_call(get_op(op), "here", specs, attrs, outputs=outputs, location="net.py:7")
    return tuple(spec.shape for spec in call.outputs)


@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "message"),
    [
        ("conv", (IMAGE, WEIGHT), {"strides": (0, 1)}, r"strides \(0, 1\) has a number below 1"),
        ("conv", (IMAGE, WEIGHT), {"strides": (2,)}, r"strides \(2,\) has 1 numbers; .* needs 2"),
        ("conv", (IMAGE, WEIGHT), {"dilations": (1, 0)}, r"dilations \(1, 0\) has a number below"),
        ("conv", (IMAGE, WEIGHT), {"pads": (1, 1)}, r"pads \(1, 1\) has 2 numbers; .* needs 4"),
        ("conv", (IMAGE, WEIGHT), {"pads": (0, 0, 0, -1)}, r"pads .* has a number below 0"),
        ("conv", (IMAGE, WEIGHT), {"strides": (1, 2**31)}, r"strides .* above 2147483647"),
        ("max_pool", (IMAGE,), {"kernel": (2**31, 1)}, r"kernel .* above 2147483647"),
        ("conv", (IMAGE, (2, 4, 0, 3)), {}, r"kernel \(0, 3\) has an axis without taps"),
        ("conv", (IMAGE, (2, 3, 3, 3)), {}, r"x has 4 channels but weight .* reads 3"),
        ("conv", (IMAGE, WEIGHT), {"groups": 2}, r"with groups=2 reads 8"),
        ("conv", (IMAGE, (3, 2, 1, 1)), {"groups": 2}, r"groups=2 does not divide the 3 channels"),
        ("conv", (IMAGE, WEIGHT), {"groups": 0}, r"groups=0 must be at least 1"),
        ("conv", (IMAGE, (2, 4, 3)), {}, r"must have the rank of x float32\[1, 4, 5, 6\]"),
        ("conv", (IMAGE, WEIGHT, (3,)), {}, r"bias is float32\[3\]; .* per output channel, 2"),
        ("conv", ((1, 4), (2, 4)), {}, r"x is float32\[1, 4\]; it must be \[n, c, \*spatial\]"),
        ("conv", ((1,) * 6, (1,) * 6), {}, r"with 1 to 3 of them"),
        (
            "conv",
            (IMAGE, WEIGHT),
            {"dilations": (3, 1)},
            r"axis 0 the window spans 7 \(kernel 3, dilation 3\) but the input has 5 \+ 0",
        ),
        ("conv_transpose", (IMAGE, (3, 2, 3, 3)), {}, r"x has 4 channels but weight .* reads 3"),
        ("conv_transpose", (IMAGE, (4, 2, 3, 3)), {"groups": 3}, "does not divide the 4 channels"),
        (
            "conv_transpose",
            (IMAGE, (4, 2, 3, 3)),
            {"output_padding": (1, -1)},
            r"output_padding \(1, -1\) must be 2 numbers, none negative",
        ),
        (
            "conv_transpose",
            (IMAGE, (4, 2, 3, 3)),
            {"pads": (4, 0, 4, 0)},
            r"leave nothing of the result: \(-1, 8\)",
        ),
        ("max_pool", (IMAGE,), {"kernel": (2,)}, r"kernel \(2,\) must have 2 numbers"),
        ("avg_pool", (IMAGE,), {"kernel": (6, 1)}, r"spans 6 .* the input has 5 \+ 0 of padding"),
        ("normalization", (IMAGE, (4,), (4,), (4,), (5,)), {}, r"beta is float32\[5\].*: \[4\]"),
        (
            "normalization",
            (IMAGE, *[(4,)] * 4),
            {"axis": 4},
            "axis 4 is outside a tensor of rank 4",
        ),
        ("normalization", (IMAGE, *[(4,)] * 4), {"epsilon": -1}, r"epsilon=-1.0 must not be"),
        ("instance_norm", (IMAGE, (4,), (3,)), {}, r"beta is float32\[3\]; x has 4 channels"),
        ("instance_norm", ((4,), (4,), (4,)), {}, r"it must be \[n, c, \*spatial\]"),
        ("group_norm", (IMAGE, (4,), (4,)), {"groups": 3}, "groups=3 does not divide the 4"),
        ("layer_norm", (IMAGE, (5,)), {}, r"shapes \(1, 4, 5, 6\) and \(5,\) do not broadcast"),
        ("layer_norm", ((1, 6), (2, 6)), {}, r"scale float32\[2, 6\] does not broadcast to x"),
        ("lrn", (IMAGE,), {"size": 0}, "size=0 must be at least 1"),
        ("lrn", ((4,),), {"size": 1}, "needs an axis of channels"),
        ("resize", (IMAGE,), {"sizes": (1, 4, 9)}, r"sizes \(1, 4, 9\) must be 4 numbers"),
        ("resize", ((0, 3),), {"sizes": (2, 3)}, r"axis 0 of x .* is empty and cannot be resized"),
        (
            "resize",
            ((3,),),
            {"sizes": (6,), "scales": (0.0,)},
            "must be 1 numbers for x .* above 0",
        ),
        (
            "resize",
            ((3,),),
            {"sizes": (6,), "coordinates": "tf_crop_and_resize"},
            r"roi \(\) must be 2 numbers: with tf_crop_and_resize",
        ),
    ],
)
def test_what_does_not_fit_is_named(op: str, shapes: Any, attrs: Any, message: str) -> None:
    """With the op, its place, the argument and the values."""
    with pytest.raises(ShapeError, match=message) as error:
        outputs(op, *shapes, **attrs)
    assert str(error.value).startswith(f"{op} 'here' (net.py:7): ")


def test_only_numbers_are_interpolated() -> None:
    """A bool can be repeated, but there is nothing between True and False."""
    x = [TensorSpec((2,), "bool")]
    assert make_call(get_op("resize"), "here", x, {"sizes": (4,)}).outputs[0].shape == (4,)
    with pytest.raises(DTypeError, match="mode linear cannot interpolate bool"):
        make_call(get_op("resize"), "here", x, {"sizes": (4,), "mode": "linear"})


def test_a_result_that_no_machine_holds_is_refused() -> None:
    """Before anything is allocated."""
    with pytest.raises(OpError, match="more than any machine addresses"):
        outputs("resize", (1, 1, 8, 8), sizes=(1, 1, 2**40, 2**40))


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "pads", "floor", "ceil"),
    [
        (6, 3, 2, (0, 0), 2, 3),
        (5, 3, 2, (0, 0), 2, 2),
        (6, 2, 4, (0, 1), 2, 2),
        (4, 2, 4, (0, 1), 1, 1),  # one more would begin in the end padding
        (4, 2, 4, (0, 3), 2, 2),  # this one lies in it and fits
        (4, 2, 4, (1, 1), 2, 2),
        (1, 2, 2, (0, 0), None, 1),
        (1, 3, 2, (0, 0), None, None),
    ],
)
def test_how_often_a_window_fits(
    size: int,
    kernel: int,
    stride: int,
    pads: tuple[int, int],
    floor: int | None,
    ceil: int | None,
) -> None:
    """Rounded down, or up where a part of a window is left, but never begun in the padding."""
    for ceil_mode, count in ((False, floor), (True, ceil)):
        attrs: Any = {
            "kernel": (kernel,),
            "strides": (stride,),
            "pads": pads,
            "ceil_mode": ceil_mode,
        }
        if count is None:
            with pytest.raises(ShapeError, match="pad more or take a smaller kernel"):
                outputs("max_pool", (1, 1, size), **attrs)
        else:
            assert outputs("max_pool", (1, 1, size), **attrs) == ((1, 1, count),)


def test_statistics_of_half_floats_are_kept_in_float32() -> None:
    """The mean and the factor of layer norm are no half floats; those of float64 are its own."""
    for dtype, kept in (("float16", "float32"), ("bfloat16", "float32"), ("float64", "float64")):
        call = make_call(get_op("layer_norm"), "here", [TensorSpec((2, 3), dtype)], {}, outputs=3)
        assert [str(spec) for spec in call.outputs] == [f"{dtype}[2, 3]", *[f"{kept}[2, 1]"] * 2]
