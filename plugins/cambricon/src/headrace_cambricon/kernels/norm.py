"""Normalisation by the library's."""

from __future__ import annotations

import math
from collections.abc import Iterator

from headrace.device import KernelEntry, OpCall
from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.images import BOTH_FORMATS, ImageKernel, last_shape
from headrace_cambricon.kernels.kernel import (
    Operand,
    Recorder,
    VendorKernel,
    between_bytes,
)
from headrace_cambricon.kernels.match import FLOATS, Takes


class Normalization(VendorKernel):
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta`` along the last axis.

    x: float32 or float16; the four vectors: float32.
    """

    def record(self, r: Recorder) -> None:
        spec = self.call.input(0)
        shape = (math.prod(spec.shape[:-1]), 1, 1, spec.shape[-1])
        x, y = (r.tensor(a, shape, spec.dtype, "NHWC") for a in (r.input(0), r.outputs[0]))
        vector = r.tensor(r.input(1), (spec.shape[-1],), "float32")
        mean, variance, gamma, beta = (r.input(index) for index in range(1, 5))
        r.add(
            "cnnlBatchNormForwardInference", None, None, *x.both, vector.descriptor, gamma, beta,
            mean, variance, self.call.float_attr("epsilon"), *y.both,
        )  # fmt: skip


class InstanceNorm(ImageKernel):
    """Each channel of each image by its own mean and variance."""

    def _statistics(self) -> tuple[int, ...]:
        shape = last_shape(self.call, self.call.input(0).shape)
        return (shape[0], 1, shape[-1])

    def between_bytes(self) -> int:
        return super().between_bytes() + 3 * between_bytes(self._statistics(), "float32")

    def record(self, r: Recorder) -> None:
        x = self.image(r, 0)
        self.result(r, lambda y: self._normalize(r, x, y))

    def _normalize(self, r: Recorder, x: Operand, y: Operand) -> None:
        gamma, beta, epsilon = r.input(1), r.input(2), self.call.float_attr("epsilon")
        n, _, c = self._statistics()
        if r.has("cnnlInstanceNormForward"):
            mean, deviation = (r.between((n, c), "float32") for _ in range(2))
            vector = r.tensor(gamma, (c,), "float32")
            space = r.workspace(r.ask("cnnlGetInstanceNormForwardWorkspaceSize", x.descriptor))
            r.add(
                "cnnlInstanceNormForward", epsilon, 0.0, vector.descriptor, gamma, *x.both, beta,
                mean.descriptor, None, None, *space, *y.both, mean.address, deviation.address,
            )  # fmt: skip
            return
        # As the documented port does: the deviation squared is the variance.
        line = r.tensor(x.address, (n, math.prod(x.shape[1:-1]), c), x.dtype)
        mean, deviation, variance = (r.between((n, 1, c), "float32") for _ in range(3))
        r.add("cnnlStdForward", 1, False, *line.both, *deviation.both)
        r.add("cnnlSquare", *deviation.both, *variance.both)
        vendor.reduce(r, "AVG", [1], line, mean)
        statistics = r.tensor(mean.address, (n, 1, 1, c), "float32", "NHWC")
        vector = r.tensor(gamma, (1, 1, 1, c), "float32", "NHWC")
        r.add(
            "cnnlInstanceNormInference", *x.both, statistics.descriptor, mean.address,
            variance.address, vector.descriptor, gamma, beta, epsilon, *y.both,
        )  # fmt: skip


def _is_last_axis(call: OpCall) -> bool:
    rank = call.input(0).rank
    return call.int_attr("axis") % rank == rank - 1 and call.input(1).dtype.name == "float32"


def _has_two_axes(call: OpCall) -> bool:
    x = call.input(0)
    return x.rank == 4 and x.elements > 0


def norm_entries(tag: str) -> Iterator[KernelEntry]:
    """Kernels for normalisations; the others decompose."""
    text = "along the last axis, vectors of float32"
    needs: tuple[str, ...] = ("cnnlBatchNormForwardInference",)
    match = Takes(FLOATS, needs, (), _is_last_axis, text)
    yield KernelEntry(tag, "normalization", Normalization, match)
    needs = ("cnnlInstanceNormForward|cnnlInstanceNormInference", *vendor.TRANSPOSE)
    match = Takes(("float32",), needs, (), _has_two_axes, "two spatial axes")
    for data_format, priority in BOTH_FORMATS:
        yield KernelEntry(tag, "instance_norm", InstanceNorm, match, priority, (data_format,))
