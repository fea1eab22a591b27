"""ONNX nodes for: interpolation in space."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.dtypes import float32, float64
from headrace.light_dataclass import dataclass
from headrace.onnx.importing.axes import normal_axes
from headrace.onnx.importing.formula import cast, with_number
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor

Attributes = Mapping[str, Any]

_COORDINATES = {
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
}


@dataclass(frozen=True, slots=True)
class _Target:
    """Output length and scale of each named axis; no scales means length over length."""

    sizes: tuple[int, ...]
    scales: tuple[float, ...] = ()


def _resize(node: Node) -> Tensor:
    if node.opset < 11:
        return _upsample(node)
    x, rank = node.input(0), node.input(0).spec.rank
    named = node.attr("axes", None)
    axes = tuple(range(rank)) if named is None else normal_axes(node, named, rank)
    rule = node.attr("coordinate_transformation_mode", "half_pixel")
    if rule not in _COORDINATES:
        node.invalid(f"coordinate_transformation_mode {rule!r} is none of {sorted(_COORDINATES)}")
    nearest = node.attr("nearest_mode", "round_prefer_floor")
    if nearest not in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        node.invalid(f"nearest_mode {nearest!r} is not known")
    target = _target(node, axes)
    where = {
        "axes": axes,
        "sizes": target.sizes,
        "scales": target.scales,
        "roi": _roi(node, axes) if rule == "tf_crop_and_resize" else (),
    }
    how = {
        "mode": _mode(node, ("nearest", "linear", "cubic")),
        "coordinates": rule,
        "rounding": nearest.removeprefix("round_"),
        "cubic_coeff": node.attr("cubic_coeff_a", -0.75),
        "exclude_outside": bool(node.attr("exclude_outside", 0)),
        "extrapolation": node.attr("extrapolation_value", 0.0),
        "antialias": bool(node.attr("antialias", 0)),
    }
    if how["antialias"] and how["mode"] != "nearest" and not x.spec.dtype.is_float:
        return _resize_rounded(node, where, how)
    return node.one("resize", [x], **where, **how)


def _resize_rounded(node: Node, where: Attributes, how: Attributes) -> Tensor:
    """Integers as image libraries smooth them: rounded after each axis, the last of which is first.

    Halves are rounded away from zero. What is not smoothed is cut instead, as ``resize`` does.
    """
    y = node.input(0)
    dtype = y.spec.dtype
    wide = float32 if dtype.itemsize < 4 else float64
    count = len(where["axes"])
    for place in reversed(range(count)):
        # Of the region, all beginnings stand before all ends.
        part = {name: values[place::count] for name, values in where.items()}
        made = node.one("resize", [cast(node, y, wide)], **part, **how)
        if made.spec.shape == y.spec.shape and not part["roi"]:
            continue
        beyond = with_number(node, "add", made, 0.5)
        if np.issubdtype(dtype.numpy, np.signedinteger):
            below = with_number(node, "subtract", made, 0.5)
            beyond = node.one("where", [with_number(node, "less", made, 0), below, beyond])
        y = cast(node, beyond, dtype)  # which cuts, and stays within the range
    return y


def _target(node: Node, axes: tuple[int, ...]) -> _Target:
    """What ``scales`` or ``sizes`` ask for."""
    scales = _given(node, 2)
    sizes = node.ints(3) if _is_given(node, 3) else None
    if (scales is None) == (sizes is None):
        node.invalid("needs scales or sizes, and not both")
    if scales is not None:
        return _scaled(node, axes, scales)
    lengths = sizes or ()
    shape = node.input(0).spec.shape
    if len(lengths) != len(axes) or any(length < 0 for length in lengths):
        node.invalid(f"sizes {lengths} must be {len(axes)} numbers, none negative")
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return _Target(lengths)
    if policy not in ("not_larger", "not_smaller"):
        node.invalid(f"keep_aspect_ratio_policy {policy!r} is not known")
    if any(shape[axis] == 0 for axis in axes):
        node.invalid(f"keep_aspect_ratio_policy {policy!r} on an empty input {shape}")
    ratios = [length / shape[axis] for axis, length in zip(axes, lengths, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    kept = tuple(math.floor(scale * shape[axis] + 0.5) for axis in axes)
    return _Target(kept, (scale,) * len(axes))


def _scaled(node: Node, axes: tuple[int, ...], scales: Sequence[float]) -> _Target:
    if len(scales) != len(axes) or not all(0 < scale < math.inf for scale in scales):
        node.invalid(f"scales {tuple(scales)} must be {len(axes)} numbers, all above 0")
    shape = node.input(0).spec.shape
    # In float32, as exporters and runtimes multiply: 10 * float32(0.7) is 7 there, and a little
    # less than 7 in float64.
    sizes = (_times(shape[axis], scale) for axis, scale in zip(axes, scales, strict=True))
    return _Target(tuple(sizes), tuple(scales))


def _times(size: int, scale: float) -> int:
    above, below = float(np.float32(scale)).as_integer_ratio()
    if size * above <= 1 << 24:  # float32 holds the product, so integers say it as well
        return size * above // below
    return math.floor(np.float32(size) * np.float32(scale))


def _roi(node: Node, axes: tuple[int, ...]) -> tuple[float, ...]:
    values = _given(node, 1)
    if values is None or len(values) != 2 * len(axes):
        node.invalid(f"roi {values} must be {2 * len(axes)} numbers with tf_crop_and_resize")
    return values


def _upsample_scales(node: Node) -> tuple[float, ...] | None:
    if node.opset >= 9:
        return _given(node, 1)
    if node.opset >= 7:
        return tuple(node.attr("scales"))
    if node.input(0).spec.rank != 4:
        node.invalid(f"takes a tensor [n, c, h, w]; it is {node.input(0).spec}")
    return (1.0, 1.0, node.attr("height_scale"), node.attr("width_scale"))


def _upsample(node: Node) -> Tensor:
    """Upsample, and Resize of opset 10: element ``i`` reads the input at ``i / scale``.

    Nearest takes the element before where an axis grows and the one after where it shrinks, so
    axes that shrink are resized first, by themselves.
    """
    x = node.input(0)
    mode = _mode(node, ("nearest", "linear"))
    scales = _upsample_scales(node)
    if scales is None:
        node.invalid("needs scales")
    target = _scaled(node, tuple(range(x.spec.rank)), scales)
    resized = [axis for axis, scale in enumerate(target.scales) if scale != 1]
    shrinking = [axis for axis in resized if target.scales[axis] < 1 and mode == "nearest"]
    others = [axis for axis in resized if axis not in shrinking]
    for rounding, axes in (("ceil", shrinking), ("floor", others)):
        if axes:
            x = node.one(
                "resize",
                [x],
                axes=axes,
                sizes=[target.sizes[axis] for axis in axes],
                scales=[target.scales[axis] for axis in axes],
                mode=mode,
                coordinates="asymmetric",
                rounding=rounding,
            )
    return x if resized else node.one("identity", [x])


def _mode(node: Node, known: tuple[str, ...]) -> str:
    mode: str = node.attr("mode", "nearest")
    if mode not in known:
        node.invalid(f"mode {mode!r} is none of {', '.join(known)}")
    return mode


def _is_given(node: Node, index: int) -> bool:
    return node.optional(index) is not None and node.input(index).spec.elements > 0


def _given(node: Node, index: int) -> tuple[float, ...] | None:
    """The numbers of input ``index``; None when it is left out or empty, as opset 11 has it."""
    if not _is_given(node, index):
        return None
    return tuple(float(item) for item in node.value(index).reshape(-1))


CONVERTERS: Mapping[str, Converter] = {"Resize": _resize, "Upsample": _upsample}
