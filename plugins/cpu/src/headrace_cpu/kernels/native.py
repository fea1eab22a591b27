"""``NativeKernel``: a kernel that makes its launch of arrays; ``Views``: these arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from headrace.device import Buffer, DeviceContext, HostBuffer, Kernel, Launch, OpCall
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.extension import native

if TYPE_CHECKING:
    from headrace.ops.window import Window
    from headrace_cpu._native import Window as NativeWindow


class Views:
    """What a call reads and writes, as arrays over the memory that it was bound to."""

    def __init__(
        self,
        call: OpCall,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> None:
        self._call = call
        self._inputs = inputs
        self._outputs = outputs
        self._workspace = workspace

    def input(self, index: int = 0) -> Array:
        """An input that is there."""
        return _array_of(self._inputs[index], self._call.input(index))

    def optional(self, index: int) -> Array | None:
        """An input that may be absent; None when it is."""
        return self.input(index) if self._call.has_input(index) else None

    def flat(self, index: int) -> Array | None:
        """An input that may be absent, as one axis; None when it is."""
        array = self.optional(index)
        return None if array is None else array.reshape(-1)

    def inputs(self) -> list[Array]:
        """All inputs that are there."""
        call = self._call
        return [self.input(index) for index in range(len(call.inputs)) if call.has_input(index)]

    def output(self, index: int = 0) -> Array:
        """An output that is asked for."""
        return _array_of(self._outputs[index], self._call.outputs[index])

    def scratch(self, spec: TensorSpec) -> Array:
        """The workspace as an array of ``spec``, for which it was asked; it may be empty."""
        if not spec.nbytes:
            return np.empty(spec.shape, spec.dtype.numpy)
        return _array_of(self._workspace, spec)


def _array_of(buffer: Buffer | None, spec: TensorSpec) -> Array:
    assert isinstance(buffer, HostBuffer)
    return buffer.array(spec)


def native_window(window: Window) -> NativeWindow:
    """A window as the extension takes it: without what is padded at the end."""
    return native.Window(window.kernel, window.strides, window.dilations, window.pads_begin)


class NativeKernel(Kernel):
    """A kernel of host memory; subclasses say in ``_make`` what is launched."""

    def __init__(self, call: OpCall) -> None:
        self._call = call

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        """Make the views, and of them the launch."""
        return self._make(Views(self._call, inputs, outputs, workspace))

    def _make(self, views: Views) -> Launch:
        """The launch; a native one can be captured with its neighbours."""
        raise NotImplementedError(f"{type(self).__name__} does not override _make")
