"""Normalisations, each one native call instead of one pass over memory for each term."""

from __future__ import annotations

from headrace.device import Launch, OpCall, dtypes
from headrace_cpu.extension import native
from headrace_cpu.kernels.match import FLOATS, SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views


def _agree(call: OpCall) -> bool:
    return call.input(1).dtype == call.input(0).dtype


one_dtype = SomeCalls("all inputs of one dtype", FLOATS, _agree)


def _is_last(call: OpCall) -> bool:
    rank = call.input(0).rank
    return _agree(call) and call.int_attr("axis") % rank == rank - 1


def _has_channels(call: OpCall) -> bool:
    return call.input(0).shape[-1] > 0


last_axis = SomeCalls("along the last axis, all inputs of one dtype", dtypes("float32"), _is_last)
with_channels = SomeCalls("one channel or more", dtypes("float32"), _has_channels)


class Normalization(NativeKernel):
    """``normalization``: x: T[...], four vectors T[length of axis], y: T[...], which may be x.

    Needs no workspace.
    """

    def _make(self, views: Views) -> Launch:
        call = self._call
        x, mean, variance, gamma, beta = views.inputs()
        y = views.output()
        axis, epsilon = call.int_attr("axis") % x.ndim, call.float_attr("epsilon")
        return native.normalization(x, mean, variance, gamma, beta, y, axis, epsilon)


class InstanceNorm(NativeKernel):
    """``instance_norm``: x: T[n, c, *spatial], gamma and beta: T[c], y: as x.

    Needs no workspace.
    """

    def _make(self, views: Views) -> Launch:
        call = self._call
        x, gamma, beta = views.inputs()
        y, epsilon = views.output(), call.float_attr("epsilon")
        return native.instance_norm(x, gamma, beta, y, epsilon)


class GroupNormLast(NativeKernel):
    """``instance_norm`` or ``group_norm`` of images whose channels are last.

    x: float32[n, *spatial, c], gamma and beta: float32[c], y: as x. Needs no workspace.
    """

    def _make(self, views: Views) -> Launch:
        call = self._call
        x, gamma, beta = views.inputs()
        y, epsilon = views.output(), call.float_attr("epsilon")
        groups = call.int_attr("groups") if call.op == "group_norm" else x.shape[-1]
        return native.group_norm_last(x, gamma, beta, y, groups, epsilon)


class NormalizationLast(NativeKernel):
    """``normalization`` along the last axis: x: float32[..., c], four vectors float32[c], y: as x.

    y may be x. Needs no workspace.
    """

    def _make(self, views: Views) -> Launch:
        call = self._call
        x, mean, variance, gamma, beta = views.inputs()
        y, epsilon = views.output(), call.float_attr("epsilon")
        return native.normalization_last(x, mean, variance, gamma, beta, y, epsilon)
