"""Buffers inside larger ones: what is read or written beside a tensor shows.

Tensors of a job lie side by side in one chunk of memory, at multiples of the allocator's alignment.
A kernel that writes one element too many is right about its own result and wrong about somebody
else's. ``run_fenced`` runs a kernel on such buffers and looks at everything around them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from headrace.device import Buffer
from headrace.op_call import OpCall
from headrace.tensor_spec import Array, TensorSpec
from headrace.testing.arrays import noise
from headrace.testing.case import Case
from headrace.testing.opened import OpenedDevice
from headrace.testing.run import call_of

MARGIN_BYTES = 192
"""Behind a tensor: more than what the widest store of today's processors reaches over its end."""


class Fence:
    """A buffer in the middle of a larger one, whose other bytes are known and must stay.

    Attributes:
        buffer: the part in the middle.
    """

    def __init__(self, opened: OpenedDevice, content: Array, offset: int) -> None:
        """Put ``content`` at ``offset`` of a new buffer.

        Args:
            opened: the device.
            content: uint8[nbytes].
            offset: bytes before it.
        """
        self._opened = opened
        self._offset = offset
        total = offset + content.size + MARGIN_BYTES
        self._bytes = noise(total, seed=total)
        self._bytes[offset : offset + content.size] = content
        self._whole = opened.upload(self._bytes)
        self.buffer: Buffer = self._whole.view(offset, content.size)

    def read(self) -> Array:
        """The bytes of the part in the middle: uint8[nbytes].

        Raises:
            AssertionError: a byte beside it has changed.
        """
        now = self._opened.download(self._whole, TensorSpec(self._bytes.shape, "uint8"))
        inside = slice(self._offset, self._offset + self.buffer.nbytes)
        changed = np.flatnonzero(now != self._bytes)
        beside = changed[(changed < inside.start) | (changed >= inside.stop)]
        if beside.size:
            raise AssertionError(
                f"{beside.size} bytes beside a buffer of {self.buffer.nbytes} bytes were written; "
                f"the first is {int(beside[0]) - inside.start} bytes from its beginning"
            )
        return now[inside]


def run_fenced(
    opened: OpenedDevice, case: Case, in_place: Mapping[int, int] = MappingProxyType({})
) -> tuple[Array, ...]:
    """Run the device's own kernel for ``case`` on fenced buffers, at odd multiples of alignment.

    Its workspace is fenced too, and full of noise: what lay there before is nobody's business.

    Args:
        opened: the device.
        case: what to run.
        in_place: output to input: the two are one buffer.

    Returns:
        the outputs.

    Raises:
        AssertionError: the kernel wrote beside its outputs or its workspace, or to an input.
        UnsupportedError: the device has no kernel for it.
    """
    call = call_of(case)
    given = case.inputs + (None,) * (len(call.inputs) - len(case.inputs))
    step = opened.backend.allocator.alignment_bytes
    inputs = [
        None if array is None else Fence(opened, _bytes(array), step * (2 * index + 1))
        for index, array in enumerate(given)
    ]
    outputs = []
    for index, spec in enumerate(call.outputs):
        shared = inputs[in_place[index]] if index in in_place else None
        # An element that the kernel leaves out stays noise, which no oracle computes.
        content = noise(spec.nbytes, seed=spec.nbytes)
        outputs.append(shared or Fence(opened, content, step * (2 * index + 1)))
    for workspace in _launch(opened, call, inputs, outputs):
        workspace.read()
    for index, (fence, array) in enumerate(zip(inputs, given, strict=True)):
        if fence is None or array is None or index in in_place.values():
            continue
        if not np.array_equal(fence.read(), _bytes(array)):
            raise AssertionError(f"{case}: the kernel wrote to input {index}")
    return tuple(
        fence.read().view(spec.dtype.numpy).reshape(spec.shape)
        for fence, spec in zip(outputs, call.outputs, strict=True)
    )


def _launch(
    opened: OpenedDevice, call: OpCall, inputs: list[Fence | None], outputs: list[Fence]
) -> list[Fence]:
    """Run the call; returns its workspace, if it has one."""
    step = opened.backend.allocator.alignment_bytes
    workspaces: list[Fence] = []

    def scratch(nbytes: int) -> Buffer:
        workspaces.append(Fence(opened, noise(nbytes, seed=nbytes), step))
        return workspaces[0].buffer

    context = opened.compute()
    read = [None if fence is None else fence.buffer for fence in inputs]
    written = [fence.buffer for fence in outputs]
    opened.bind_call(context, call, read, written, scratch)()
    context.synchronize()
    return workspaces


def _bytes(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
