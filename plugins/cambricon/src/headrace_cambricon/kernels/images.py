"""Images as the library takes them: channels last, two spatial axes.

A call whose images are channels first is turned around its library calls, in the planned workspace;
one with a single spatial axis gets another one of length 1 before it.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.device import CHANNELS_FIRST, CHANNELS_LAST, OpCall
from headrace.ops.channels import first_shape, is_last
from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.kernel import Operand, Recorder, WithWorkspace, between_bytes

BOTH_FORMATS = ((CHANNELS_LAST, 1), (CHANNELS_FIRST, 0))
"""Formats with the priority of a kernel: without turning is better."""

LAYOUTS = {4: "NHWC", 5: "NDHWC"}


def last_shape(call: OpCall, shape: tuple[int, ...]) -> tuple[int, ...]:
    """An image or weight of a call as the library takes it."""
    n, c, *spatial = first_shape(call, shape)
    return (n, *(1,) * (2 - len(spatial)), *spatial, c)


class ImageKernel(WithWorkspace):
    """An op over images; ``image`` and ``result`` give them channels last."""

    images: tuple[int, ...] = (0,)
    """Inputs that have channels."""

    def between_bytes(self) -> int:
        if is_last(self.call):
            return 0
        specs = [self.call.input(index) for index in self.images]
        return sum(between_bytes(s.shape, s.dtype) for s in (*specs, self.call.outputs[0]))

    def image(self, r: Recorder, index: int) -> Operand:
        """An input, channels last; turned first, where it is not."""
        spec = self.call.input(index)
        shape = last_shape(self.call, spec.shape)
        layout = LAYOUTS[len(shape)]
        if is_last(self.call):
            return r.tensor(r.input(index), shape, spec.dtype, layout)
        turned = r.between(shape, spec.dtype)
        n, c, *spatial = spec.shape
        flat = r.tensor(r.input(index), (n, c, _product(spatial)), spec.dtype)
        target = r.tensor(turned.address, (n, _product(spatial), c), spec.dtype)
        vendor.transpose(r, (0, 2, 1), flat, target)
        return r.tensor(turned.address, shape, spec.dtype, layout)

    def result(self, r: Recorder, say: Callable[[Operand], None]) -> None:
        """Let ``say`` fill the output, channels last; turned afterwards, where it is not."""
        spec = self.call.outputs[0]
        shape = last_shape(self.call, spec.shape)
        layout = LAYOUTS[len(shape)]
        if is_last(self.call):
            say(r.tensor(r.outputs[0], shape, spec.dtype, layout))
            return
        turned = r.between(shape, spec.dtype, layout)
        say(turned)
        n, c, *spatial = spec.shape
        flat = r.tensor(turned.address, (n, _product(spatial), c), spec.dtype)
        target = r.tensor(r.outputs[0], (n, c, _product(spatial)), spec.dtype)
        vendor.transpose(r, (0, 2, 1), flat, target)


def _product(numbers: list[int]) -> int:
    product = 1
    for number in numbers:
        product *= number
    return product
