"""One operand or two, element by element."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.device import Kernel, KernelEntry, OpCall
from headrace_cambricon.enums import number_of
from headrace_cambricon.kernels.kernel import (
    DATA_TYPES,
    Recorder,
    VendorKernel,
    WithWorkspace,
)
from headrace_cambricon.kernels.match import FLOATS, NUMBERS, Takes


class Activate(VendorKernel):
    """``y = f(x)`` by an activation descriptor; x and y may be the same memory.

    x, y: float32 or float16, any shape.
    """

    def __init__(self, call: OpCall, mode: str, coefficient: float = 1.0) -> None:
        super().__init__(call)
        self._mode, self._coefficient = mode, coefficient

    def record(self, r: Recorder) -> None:
        tensor = r.of(self.call.input(0))
        # The oldest of its setters: releases that have newer ones export it still.
        activation = r.configured(
            "ActivationDescriptor",
            "cnnlSetActivationDescriptor",
            number_of(self._mode),
            number_of("CNNL_PROPAGATE_NAN"),
            self._coefficient,
        )
        r.add(
            "cnnlActivationForward",
            activation,
            None,
            tensor,
            r.input(0),
            None,
            tensor,
            r.outputs[0],
        )


class OpTensor(WithWorkspace):
    """``y = a + b``, ``a - b`` or ``a * b``, with broadcasting."""

    def __init__(self, call: OpCall, kind: str, sign: int = 1) -> None:
        super().__init__(call)
        self._kind, self._sign = kind, sign

    def record(self, r: Recorder) -> None:
        a, b, y = self.call.input(0), self.call.input(1), self.call.outputs[0]
        descriptors = [r.of(spec) for spec in (a, b, y)]
        op = r.configured(
            "OpTensorDescriptor",
            "cnnlSetOpTensorDescriptor",
            number_of(self._kind),
            DATA_TYPES[y.dtype.name],
            number_of("CNNL_PROPAGATE_NAN"),
        )
        space, nbytes = r.workspace(r.ask("cnnlGetOpTensorWorkspaceSize", *descriptors))
        is_integer = not y.dtype.is_float
        one, zero, sign = (
            n.to_bytes(4, "little", signed=True) if is_integer else float_bytes(n)
            for n in (1, 0, self._sign)
        )
        r.add(
            "cnnlOpTensor", op, one, descriptors[0], r.input(0), sign, descriptors[1], r.input(1),
            space, nbytes, zero, descriptors[2], r.outputs[0],
        )  # fmt: skip


def float_bytes(value: float) -> bytes:
    """A host scalar as the library reads it."""
    import struct

    return struct.pack("f", value)


@dataclass(frozen=True, slots=True)
class _Made:
    """``create`` of a ``KernelEntry`` for a kernel class with more arguments."""

    kind: type[VendorKernel]
    arguments: tuple[object, ...]

    def __call__(self, call: OpCall) -> Kernel:
        return self.kind(call, *self.arguments)  # type: ignore[call-arg]


def elementwise_entries(tag: str) -> Iterator[KernelEntry]:
    """Kernels for ops that the library has an elementwise function for."""
    for op, mode in {
        "relu": "CNNL_ACTIVATION_RELU",
        "sigmoid": "CNNL_ACTIVATION_SIGMOID",
        "tanh": "CNNL_ACTIVATION_TANH",
    }.items():
        needs = ("cnnlSetActivationDescriptor", "cnnlActivationForward")
        yield KernelEntry(tag, op, _Made(Activate, (mode,)), Takes(FLOATS, needs, (mode,)))
    op_tensor = ("cnnlGetOpTensorWorkspaceSize", "cnnlOpTensor")
    for op, kind, sign in (
        ("add", "CNNL_OP_TENSOR_ADD", 1),
        ("subtract", "CNNL_OP_TENSOR_ADD", -1),
        ("multiply", "CNNL_OP_TENSOR_MUL", 1),
    ):
        match = Takes(NUMBERS, op_tensor, (kind,))
        yield KernelEntry(tag, op, _Made(OpTensor, (kind, sign)), match)
