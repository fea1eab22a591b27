"""Convolution by the library's, in one of its floating types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.device import KernelEntry, OpCall
from headrace.ops.window import Window, conv_window
from headrace_cambricon.enums import find, number_of, parameter_count
from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.images import BOTH_FORMATS, ImageKernel
from headrace_cambricon.kernels.kernel import DATA_TYPES, Operand, Recorder
from headrace_cambricon.kernels.match import FLOATS, Takes

if TYPE_CHECKING:
    from headrace_cambricon import _native

_DIRECT, _FASTEST = "CNNL_CONVOLUTION_FWD_ALGO_DIRECT", "CNNL_CONVOLUTION_FWD_FASTEST"


class Conv(ImageKernel):
    """Convolution with groups and bias, over one to three spatial axes.

    x ``[n, *spatial, c]``, weight ``[m, *kernel, c / groups]``, bias ``[m]``; channels first,
    they are turned.
    """

    images = (0, 1)

    def record(self, r: Recorder) -> None:
        x, weight = self.image(r, 0), self.image(r, 1)
        self.result(r, lambda y: self._convolve(r, x, weight, y))

    def _convolve(self, r: Recorder, x: Operand, weight: Operand, y: Operand) -> None:
        described = convolution(r, self.call, len(x.shape), "float32")
        bias = r.x(2) if self.call.has_input(2) else None
        convolve(r, described, x, weight, bias, y)


def convolution(r: Recorder, call: OpCall, rank: int, compute: str) -> _native.Object:
    """The descriptor of a call's window, for tensors of ``rank`` dimensions."""
    window = two_axes(conv_window(call))
    pads = [
        n for pair in zip(window.pads_begin, window.pads_end, strict=True) for n in pair
    ]  # before and after, axis by axis
    arguments = (
        rank, pads, list(window.strides), list(window.dilations), call.int_attr("groups"),
    )  # fmt: skip
    kind, name = "ConvolutionDescriptor", "cnnlSetConvolutionDescriptor"
    if takes(r, name, older=6):
        return r.configured(kind, f"{name}_6", *arguments)
    return r.configured(kind, name, *arguments, DATA_TYPES[compute])


def convolve(
    r: Recorder,
    described: _native.Object,
    x: Operand,
    weight: Operand,
    bias: Operand | None,
    y: Operand,
) -> None:
    """``y`` from operands that the library multiplies: floats, or integers with a scale."""
    of_bias = (None, None) if bias is None else bias.both
    descriptors = (x.descriptor, weight.descriptor, y.descriptor)
    algorithm = _algorithm(r, described, descriptors)
    name = "cnnlGetConvolutionForwardWorkspaceSize"
    if takes(r, name, older=7):
        needed = r.ask(f"{name}_7", *descriptors, described, algorithm)
    else:
        needed = r.ask(name, *descriptors, of_bias[0], described, algorithm)
    space = r.workspace(needed)
    r.add(
        "cnnlConvolutionForward", described, algorithm, None, *x.both, *weight.both, *of_bias,
        *space, None, *y.both,
    )  # fmt: skip


def takes(r: Recorder, name: str, older: int) -> bool:
    """Whether a function has its older number of parameters, ``older``.

    The SDK's header says so. Without it the era does: which release changed them is not known, only
    that those of the first were before and those of the others behind.
    """
    declared = parameter_count(name)
    return r.context.library.era <= 4 if declared is None else declared == older


def _algorithm(r: Recorder, described: _native.Object, descriptors: tuple[object, ...]) -> int:
    if r.has("cnnlGetConvolutionForwardAlgorithm") and find(_FASTEST) is not None:
        return r.ask(
            "cnnlGetConvolutionForwardAlgorithm", described, *descriptors, number_of(_FASTEST)
        )
    return number_of(_DIRECT)


def two_axes(window: Window) -> Window:
    """A window over one axis as one over two, of which the first is 1 long."""
    if len(window.kernel) != 1:
        return window
    return Window(
        (1, *window.kernel),
        (1, *window.strides),
        (1, *window.dilations),
        (0, *window.pads_begin),
        (0, *window.pads_end),
        (1, *window.extents),
    )


def _is_plain(call: OpCall) -> bool:
    """One dtype for all, and something to multiply."""
    dtypes = {spec.dtype for spec in call.inputs if spec is not None}
    return len(dtypes) == 1 and call.input(0).elements > 0 and call.input(1).elements > 0


CONVOLVE = (
    "cnnlSetConvolutionDescriptor",
    "cnnlGetConvolutionForwardWorkspaceSize",
    "cnnlConvolutionForward",
)


def conv_entries(tag: str) -> Iterator[KernelEntry]:
    """Kernels for both formats of images."""
    match = Takes(
        FLOATS, (*CONVOLVE, *vendor.TRANSPOSE), (f"{_FASTEST}|{_DIRECT}",), _is_plain, "not empty"
    )
    for data_format, priority in BOTH_FORMATS:
        yield KernelEntry(tag, "conv", Conv, match, priority, (data_format,))
