"""Convolution and matrix product in int8 or int16, of tensors that are float32 outside.

Chosen by ``HEADRACE_CAMBRICON_QUANTIZE``: results are rougher, on cards that multiply integers much
faster than floats. A weight that is constant comes as integers, whose meaning is known. What is not
is fitted by its greatest magnitude in every call; the library puts what it found into memory of the
device, and wants it in descriptors of the host: hence the wait in the middle of a launch.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from headrace.device import Buffer, DeviceContext, KernelEntry, Launch, OpCall
from headrace_cambricon.context import CambriconContext
from headrace_cambricon.enums import number_of
from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.conv import CONVOLVE, convolution, convolve
from headrace_cambricon.kernels.elementwise import Made
from headrace_cambricon.kernels.images import BOTH_FORMATS, ImageKernel
from headrace_cambricon.kernels.kernel import Operand, Recorder, WithWorkspace, between_bytes
from headrace_cambricon.kernels.match import Takes
from headrace_cambricon.kernels.matmul import multiply
from headrace_cambricon.ops import quantization
from headrace_cambricon.quantization import BITS, Quantization, chosen

_RAISED = 10  # above the kernels that compute in floats
_SET = "cnnlSetTensorDescriptorPositionAndScale"


class Factor(Protocol):
    """An operand as integers.

    Attributes:
        integers: as the library multiplies them.
    """

    integers: Operand

    def finish(self, r: Recorder) -> None:
        """Record what is left to do once position and scale are known."""

    def read(self, context: CambriconContext) -> None:
        """Put them into the descriptor; the work that found them is done."""


class Known:
    """Integers whose position and scale were kept."""

    def __init__(self, r: Recorder, x: Operand, meaning: Quantization) -> None:
        self.integers = x
        library = r.context.library
        library.configure(_SET, x.descriptor, meaning.position, meaning.scale)

    def finish(self, r: Recorder) -> None:
        """Nothing."""

    def read(self, context: CambriconContext) -> None:
        """Nothing."""


class Fitted:
    """A float32 operand, made integers in every call."""

    def __init__(self, r: Recorder, x: Operand, dtype: str, layout: str) -> None:
        self._x, self._bits = x, BITS[dtype]
        self._position, self._scale, offset = (r.between((1,), "int32") for _ in range(3))
        self.integers = r.between(x.shape, dtype, layout)
        places = (self._position.address, self._scale.address)
        if r.has("cnnlQuantifyOnline"):
            space = r.workspace(r.ask("cnnlGetQuantifyOnlineWorkspaceSize", x.descriptor))
            r.add("cnnlQuantifyOnline", False, *x.both, *space, *places, *self.integers.both)
        else:
            mode = number_of("CNNL_QUANTIZE_POSITION_SCALE")
            space = r.workspace(r.ask("cnnlGetQuantizeParamWorkspaceSize", x.descriptor))
            r.add("cnnlQuantizeParam", mode, *x.both, self._bits, *space, *places, offset.address)

    @staticmethod
    def between_bytes(shape: Sequence[int], dtype: str) -> int:
        """What it takes of the workspace."""
        return 3 * between_bytes((1,), "int32") + between_bytes(shape, dtype)

    def finish(self, r: Recorder) -> None:
        """What is left to do once the scale is known."""
        if not r.has("cnnlQuantifyOnline"):
            mode = number_of("CNNL_QUANTIZE_POSITION_SCALE")
            r.add("cnnlQuantizeV1", mode, *self._x.both, *self.integers.both)

    def read(self, context: CambriconContext) -> None:
        """Put position and scale into the descriptor; the work that found them is done."""
        library, device = context.library, context.device.index
        (position,) = struct.unpack("i", library.download(device, self._position.address, 4))
        (scale,) = struct.unpack("f", library.download(device, self._scale.address, 4))
        library.configure(_SET, self.integers.descriptor, position, scale)


class TwoFactors(WithWorkspace):
    """Fits those of two factors that are floats, waits, and multiplies."""

    def __init__(self, call: OpCall, dtype: str) -> None:
        super().__init__(call)
        self.dtype = dtype

    def factor_bytes(self) -> int:
        """Of the factors that are fitted."""
        fitted = (spec for n in (0, 1) if (spec := self.call.input(n)).dtype.is_float)
        return sum(Fitted.between_bytes(spec.shape, self.dtype) for spec in fitted)

    def factor(self, r: Recorder, x: Operand, layout: str) -> Factor:
        """Record what fits one, if it is not integers yet."""
        if x.dtype == self.dtype:
            return Known(r, x, quantization(self.call))
        return Fitted(r, x, self.dtype, layout)

    def factors(self, r: Recorder) -> list[Factor]:
        """Both."""
        raise NotImplementedError

    def product(self, r: Recorder, factors: list[Factor]) -> None:
        """Record what is done with them."""
        raise NotImplementedError

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        """Record both halves."""
        assert isinstance(context, CambriconContext)
        r = Recorder(self.call, context, inputs, outputs, workspace)
        factors = self.factors(r)
        fit = r.cut()
        for factor in factors:
            factor.finish(r)
        self.product(r, factors)
        multiply_them = r.cut()

        def launch() -> None:
            fit()
            context.synchronize()
            for factor in factors:
                factor.read(context)
            multiply_them()

        return launch


class QuantizedConv(TwoFactors, ImageKernel):
    """Convolution in integers; bias and result are float32."""

    images = (0, 1)

    def between_bytes(self) -> int:
        return super().between_bytes() + self.factor_bytes()

    def factors(self, r: Recorder) -> list[Factor]:
        return [self.factor(r, self.image(r, index), "NHWC") for index in (0, 1)]

    def product(self, r: Recorder, factors: list[Factor]) -> None:
        x, weight = (factor.integers for factor in factors)
        bias = r.x(2) if self.call.has_input(2) else None
        described = convolution(r, self.call, len(x.shape), "float32")
        self.result(r, lambda y: convolve(r, described, x, weight, bias, y))


class QuantizedMatmul(TwoFactors):
    """A product of two matrices in integers; the result is float32."""

    def between_bytes(self) -> int:
        return self.factor_bytes()

    def factors(self, r: Recorder) -> list[Factor]:
        return [self.factor(r, r.x(index), "ARRAY") for index in (0, 1)]

    def product(self, r: Recorder, factors: list[Factor]) -> None:
        flips = (self.call.flag_attr("transpose_a"), self.call.flag_attr("transpose_b"))
        a, b = (factor.integers for factor in factors)
        multiply(r, flips, a, b, r.y())


def _is_plain_image(call: OpCall) -> bool:
    return _is_full(call) and call.input(0).rank == 4


def _is_flat(call: OpCall) -> bool:
    return _is_full(call) and call.input(0).rank == call.input(1).rank == 2


def _is_full(call: OpCall) -> bool:
    return all(spec is None or spec.elements > 0 for spec in (*call.inputs, *call.outputs))


def quantized_entries(tag: str) -> Iterator[KernelEntry]:
    """Kernels for weights that are integers; and, in the type that was chosen, for all products.

    Raises:
        SettingError: ``HEADRACE_CAMBRICON_QUANTIZE`` names another type.
    """
    for dtype in BITS:
        yield from _entries(tag, dtype, "cambricon.", _has_weight_of(dtype), 0)
    if dtype := chosen():
        yield from _entries(tag, dtype, "", None, _RAISED)


def _entries(
    tag: str, dtype: str, prefix: str, weight: Callable[[OpCall], bool] | None, raised: int
) -> Iterator[KernelEntry]:
    fits = ("cnnlQuantifyOnline|cnnlQuantizeParam", "cnnlQuantifyOnline|cnnlQuantizeV1")
    algorithms = ("CNNL_CONVOLUTION_FWD_FASTEST|CNNL_CONVOLUTION_FWD_ALGO_DIRECT",)
    needs = (*fits, *CONVOLVE, *vendor.TRANSPOSE)
    of = f"in {dtype}"
    match = Takes(("float32",), needs, algorithms, _both(_is_plain_image, weight), of)
    made = Made(QuantizedConv, (dtype,))
    for data_format, priority in BOTH_FORMATS:
        yield KernelEntry(tag, f"{prefix}conv", made, match, raised + priority, (data_format,))
    multiplies = (*fits, "cnnlMatMul_v2|cnnlMatMul")
    match = Takes(("float32",), multiplies, (), _both(_is_flat, weight), f"matrices, {of}")
    yield KernelEntry(tag, f"{prefix}matmul", Made(QuantizedMatmul, (dtype,)), match, raised)


def _both(
    one: Callable[[OpCall], bool], other: Callable[[OpCall], bool] | None
) -> Callable[[OpCall], bool]:
    return lambda call: one(call) and (other is None or other(call))


def _has_weight_of(dtype: str) -> Callable[[OpCall], bool]:
    return lambda call: call.input(1).dtype.name == dtype
