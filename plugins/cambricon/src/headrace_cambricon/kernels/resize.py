"""Resampling of two spatial axes by the library's interpolation, where it means the same."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from headrace.device import KernelEntry, OpCall
from headrace.ops.resize_axes import ResampledAxis, resampled_axes
from headrace_cambricon.enums import number_of
from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.kernel import Operand, Recorder, WithWorkspace, between_bytes
from headrace_cambricon.kernels.match import FLOATS, Takes

_ALGORITHMS = {
    (False, True): "CNNL_INTERP_COORDINATE_TRANSFORMATION_ALGO0",
    (True, False): "CNNL_INTERP_COORDINATE_TRANSFORMATION_ALGO2",
    (False, False): "CNNL_INTERP_COORDINATE_TRANSFORMATION_ALGO3",
}


class Resize(WithWorkspace):
    """Nearest or linear, over the axes 1 and 2 of four, or over 2 and 3, which are turned."""

    def between_bytes(self) -> int:
        if _spatial(self.call) == (1, 2):
            return 0
        x, y = self.call.input(0), self.call.outputs[0]
        return between_bytes(x.shape, x.dtype) + between_bytes(y.shape, y.dtype)

    def record(self, r: Recorder) -> None:
        x, y = self.call.input(0), self.call.outputs[0]
        if _spatial(self.call) == (1, 2):
            self._resample(r, r.x(0, "NHWC"), r.y(0, "NHWC"))
            return
        n, c, *inner = x.shape
        outer = y.shape[2:]
        source = r.between((n, *inner, c), x.dtype, "NHWC")
        made = r.between((n, *outer, c), x.dtype, "NHWC")
        plain = [r.tensor(t.address, t.shape, x.dtype) for t in (source, made)]
        vendor.transpose(r, (0, 2, 3, 1), r.x(0), plain[0])
        self._resample(r, source, made)
        vendor.transpose(r, (0, 3, 1, 2), plain[1], r.y())

    def _resample(self, r: Recorder, x: Operand, y: Operand) -> None:
        is_nearest = self.call.str_attr("mode") == "nearest"
        mode = number_of(f"CNNL_INTERP_{'NEAREST' if is_nearest else 'BILINEAR'}")
        flags = _flags(self.call)
        assert flags is not None
        if r.has("cnnlInterp_v2"):
            r.add("cnnlInterp_v2", *flags, mode, None, True, *x.both, *y.both)
        elif r.has("cnnlInterp_v3"):
            algorithm = number_of(_ALGORITHMS[flags])
            described = r.configured(
                "InterpDescriptor",
                "cnnlSetInterpDescriptor_v2",
                x.descriptor,
                mode,
                algorithm,
                None,
            )
            r.add("cnnlInterp_v3", described, *x.both, *y.both)
        else:
            r.add("cnnlInterp", *flags, mode, *x.both, *y.both)


def _spatial(call: OpCall) -> tuple[int, int] | None:
    """The two axes that are resampled; None for others."""
    if call.input(0).rank != 4:
        return None
    axes = {axis.axis for axis in resampled_axes(call)}
    if axes <= {1, 2} and axes:
        return (1, 2)
    return (2, 3) if axes <= {2, 3} and axes else None


def _flags(call: OpCall) -> tuple[bool, bool] | None:
    """Whether corners, or centers, are aligned so that the library does what the op says."""
    axes = resampled_axes(call)
    if any(not math.isclose(axis.scale, axis.size / max(axis.length, 1)) for axis in axes):
        return None
    mode, coordinates = call.str_attr("mode"), call.str_attr("coordinates")
    if mode == "linear":
        if call.flag_attr("antialias") or call.flag_attr("exclude_outside"):
            return None
        return {
            "half_pixel": (False, True),
            "half_pixel_symmetric": (False, True),
            "asymmetric": (False, False),
            "align_corners": (True, False),
        }.get(coordinates)
    if mode == "nearest" and all(_is_cut_off(call, axis) for axis in axes):
        return (False, False)
    return None


def _is_cut_off(call: OpCall, axis: ResampledAxis) -> bool:
    """True when the element of each place is ``floor(place / scale)``, as on a plain grid."""
    places = np.arange(axis.size, dtype=np.float64)
    plain = np.minimum(places * axis.length // axis.size, axis.length - 1)
    coordinates, rounding = call.str_attr("coordinates"), call.str_attr("rounding")
    if coordinates == "asymmetric" and rounding == "floor":
        return True
    if axis.size % axis.length:
        return False
    source = {
        "half_pixel": (places + 0.5) * axis.length / axis.size - 0.5,
        "asymmetric": places * axis.length / axis.size,
    }.get(coordinates)
    if source is None:
        return False
    if rounding == "prefer_floor":
        taken = np.ceil(source - 0.5)
    elif rounding == "prefer_ceil":
        taken = np.floor(source + 0.5)
    else:
        taken = np.floor(source) if rounding == "floor" else np.ceil(source)
    return bool(np.array_equal(np.clip(taken, 0, axis.length - 1), plain))


def _is_known(call: OpCall) -> bool:
    return call.input(0).elements > 0 and _spatial(call) is not None and _flags(call) is not None


def resize_entries(tag: str) -> Iterator[KernelEntry]:
    """A kernel for what is the same in the library."""
    yield KernelEntry(
        tag,
        "resize",
        Resize,
        Takes(
            FLOATS,
            ("cnnlInterp_v3|cnnlInterp_v2|cnnlInterp", *vendor.TRANSPOSE),
            ("CNNL_INTERP_NEAREST", "CNNL_INTERP_BILINEAR"),
            _is_known,
            "two axes of four, nearest or linear, in the ways of the library",
        ),
    )
