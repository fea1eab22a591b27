"""``OpenedDevice``: one device, taken through the records of its backend and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import numpy as np

from headrace.device import Buffer, Device, DeviceContext, HostAllocator, HostBuffer, Launch
from headrace.errors import UnsupportedError
from headrace.frontend.closing import Closing
from headrace.op_call import OpCall
from headrace.ops import get_op, make_call
from headrace.placement import Placement
from headrace.registry import BackendRegistry, default_registry
from headrace.runtime.devices import pool_of
from headrace.tensor_spec import Array, TensorSpec


class OpenedDevice(Closing):
    """An open device with its allocator and any number of streams. A context manager.

    It does by hand what the runtime does, so that a test can ask for one thing at a time. What it
    allocated is freed, and its streams are synchronised and closed, when it is closed.

    Attributes:
        backend: the records of the device's plugin.
        device: the opened device; shared with sessions that have it open.
        allocator: of the device.
    """

    def __init__(self, device: str, registry: BackendRegistry | None = None) -> None:
        """Open ``device``, ``TAG`` or ``TAG:INDEX``.

        Raises:
            DeviceError: it cannot be used.
        """
        place = Placement.of_device(device)
        registry = registry or default_registry()
        self._pool = pool_of(registry)
        self._key = (place.tag, place.devices[0][1])
        self._contexts: list[DeviceContext] = []
        self._buffers: list[Buffer] = []
        self._host = HostAllocator(Device())
        self._hosts: list[HostBuffer] = []
        self.backend = registry.backend(place.tag)
        self.device = self._pool.acquire(*self._key)
        self.allocator = self.backend.allocator.create(self.device)
        self._streams = self.backend.streams.create(self.device.index)

    def compute(self) -> DeviceContext:
        """A new context for kernels."""
        return self._context(self._streams.compute())

    def h2d(self) -> DeviceContext:
        """A new context for copies to the device."""
        return self._context(self._streams.h2d())

    def d2h(self) -> DeviceContext:
        """A new context for copies to the host."""
        return self._context(self._streams.d2h())

    def allocate(self, nbytes: int) -> Buffer:
        """``nbytes`` bytes of device memory, freed when this is closed."""
        buffer = self.allocator.allocate(nbytes)
        self._buffers.append(buffer)
        return buffer.view(0, nbytes)

    def host(self, nbytes: int) -> HostBuffer:
        """``nbytes`` bytes of zeros on the host."""
        buffer = self._host.allocate(nbytes).view(0, nbytes)
        buffer.memory[:] = 0
        self._hosts.append(buffer)  # a queued copy does not keep its source alive
        return buffer

    def host_copy(self, array: Array) -> HostBuffer:
        """Host memory with the bytes of ``array``."""
        buffer = self.host(array.nbytes)
        buffer.memory[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return buffer

    def upload(self, array: Array) -> Buffer:
        """Device memory with the bytes of ``array``; they are there on return."""
        buffer, context = self.allocate(array.nbytes), self.h2d()
        context.copy_h2d(buffer, self.host_copy(array))
        context.synchronize()
        return buffer

    def download(self, buffer: Buffer, spec: TensorSpec) -> Array:
        """What ``buffer`` holds, as an array of its own."""
        result, context = self.host(buffer.nbytes), self.d2h()
        context.copy_d2h(result, buffer)
        context.synchronize()
        return result.array(spec)

    def bind(
        self,
        context: DeviceContext,
        op: str,
        inputs: Sequence[tuple[TensorSpec, Buffer]],
        outputs: Sequence[Buffer],
        **attrs: object,
    ) -> Launch:
        """The device's own kernel for ``op``, bound to buffers.

        Raises:
            UnsupportedError: it has none for these inputs.
        """
        specs = [spec for spec, _ in inputs]
        call = make_call(get_op(op), op, specs, attrs, outputs=len(outputs))
        return self.bind_call(context, call, [buffer for _, buffer in inputs], outputs)

    def bind_call(
        self,
        context: DeviceContext,
        call: OpCall,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        scratch: Callable[[int], Buffer] | None = None,
    ) -> Launch:
        """The device's own kernel for a checked call, bound to buffers; None for absent inputs.

        Args:
            context: the stream to run on.
            call: the call.
            inputs, outputs: in schema order.
            scratch: gives memory for a workspace of so many bytes; default: ``allocate``.

        Raises:
            UnsupportedError: it has none.
        """
        entry = self.backend.kernels.select(call)
        if entry is None:
            given = ", ".join(str(spec) for spec in call.inputs if spec is not None)
            raise UnsupportedError(
                f"device {self.backend.tag!r} has no kernel for {call.op} of {given}"
            )
        kernel = entry.create(call)
        nbytes = kernel.workspace_bytes()
        workspace = (scratch or self.allocate)(nbytes) if nbytes else None
        return kernel.bind(context, inputs, outputs, workspace)

    def close(self) -> None:
        """Give everything back. Idempotent.

        What the plugin raises meanwhile stops nothing: all is given back, then it is raised.
        """
        contexts, self._contexts = self._contexts, []
        buffers, self._buffers = self._buffers, []
        key, self._key = self._key, ("", 0)
        with ExitStack() as last_first:
            if key[0]:
                last_first.callback(self._pool.release, *key)
            for buffer in reversed(buffers):
                last_first.callback(self.allocator.free, buffer)
            for context in reversed(contexts):
                last_first.callback(context.close)
            for context in reversed(contexts):
                last_first.callback(context.synchronize)

    def _context(self, stream_index: int) -> DeviceContext:
        context = self.backend.context.create(self.device, stream_index)
        self._contexts.append(context)
        return context
