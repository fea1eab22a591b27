"""Kernels, allocators and devices with bugs that backends have, one class each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from late_backend import (
    ALIGNMENT,
    CAPACITY,
    LateAllocator,
    LateContext,
    LateDevice,
    LateKernel,
)

from headrace.device import Buffer, Device, DeviceContext, Launch
from headrace.errors import OutOfMemoryError
from headrace.tensor_spec import Array

# --- kernels ---------------------------------------------------------------------------------


class FreezesInputs(LateKernel):
    """A kernel computes with what its inputs held at the first launch."""

    seen: list[Array | None] | None = None

    def compute(self, sources: list[Array | None], results: list[Array]) -> None:
        if self.seen is None:
            self.seen = [None if x is None else x.copy() for x in sources]
        super().compute(self.seen, results)


class IgnoresTheSecondInput(LateKernel):
    """Of two equal shapes the first is read twice."""

    def compute(self, sources: list[Array | None], results: list[Array]) -> None:
        shapes = {x.shape for x in sources if x is not None}
        if len(sources) == 2 and len(shapes) == 1:
            sources = [sources[0], sources[0]]
        super().compute(sources, results)


class IgnoresStretching(LateKernel):
    """Inputs of an elementwise op are read from their beginning, over and over."""

    def compute(self, sources: list[Array | None], results: list[Array]) -> None:
        if self.call.op == "add":
            sources = [None if x is None else np.resize(x, results[0].shape) for x in sources]
        super().compute(sources, results)


class IgnoresPermutations(LateKernel):
    """Above rank four, axes are only swapped at the end."""

    def compute(self, sources: list[Array | None], results: list[Array]) -> None:
        (x, *_) = sources
        if self.call.op == "transpose" and x is not None and x.ndim > 4:
            results[0].reshape(-1)[:] = np.swapaxes(x, -1, -2).reshape(-1)
        else:
            super().compute(sources, results)


class RoundsToHalf(LateKernel):
    """Sums of float32 go through float16."""

    def compute(self, sources: list[Array | None], results: list[Array]) -> None:
        super().compute(sources, results)
        if self.call.op == "add" and results[0].dtype == np.float32:
            results[0][...] = results[0].astype(np.float16)


class StoresVectors(LateKernel):
    """Results are written by vectors of sixteen bytes, the last one too."""

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        launch = super().bind(context, inputs, outputs, workspace)
        assert isinstance(context, LateContext)
        end, cells = outputs[0].address + outputs[0].nbytes, context.device.cells

        def store_the_rest() -> None:
            cells[end : -(-end // 16) * 16] = 0

        def both() -> None:
            launch()
            context.enqueue(store_the_rest)

        return both


class WorksInItsInput(LateKernel):
    """A kernel uses its first input as scratch memory."""

    def compute(self, sources: list[Array | None], results: list[Array]) -> None:
        super().compute(sources, results)
        (x, *_) = sources
        if x is not None and self.call.op == "softmax":
            np.negative(x, out=x)


class ClearsFirst(LateKernel):
    """Results are cleared before the sum is made in them: no kernel for working in place."""

    def compute(self, sources: list[Array | None], results: list[Array]) -> None:
        if self.call.op == "add":
            results[0][...] = 0
        super().compute(sources, results)


# --- memory ----------------------------------------------------------------------------------


class Overlaps(LateAllocator):
    """A block is noted with half its length when it is long."""

    def allocate(self, nbytes: int) -> Buffer:
        buffer = super().allocate(nbytes)
        if nbytes > 4096:
            self.device.blocks[buffer.address] = nbytes // 2
        return buffer


class Misaligns(LateAllocator):
    """Blocks of odd length begin a little later."""

    def allocate(self, nbytes: int) -> Buffer:
        buffer = super().allocate(nbytes + 8)
        return Buffer(buffer.address + 8 * (nbytes % 2), nbytes)

    def free(self, buffer: Buffer) -> None:
        super().free(Buffer(buffer.address // ALIGNMENT * ALIGNMENT, buffer.nbytes))


class FreesBehind(LateAllocator):
    """Freeing a block frees all that were made after it, as a stack does."""

    def free(self, buffer: Buffer) -> None:
        for address in [block for block in self.device.blocks if block >= buffer.address]:
            del self.device.blocks[address]


class KeepsItsOwnBooks(LateAllocator):
    """Two allocators of a device know nothing of each other."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.blocks: dict[int, int] = {}

    def allocate(self, nbytes: int) -> Buffer:
        shared, self.device.blocks = self.device.blocks, self.blocks
        try:
            return super().allocate(nbytes)
        finally:
            self.device.blocks = shared

    def free(self, buffer: Buffer) -> None:
        self.blocks.pop(buffer.address)


class CountsWhatItRefuses(LateAllocator):
    """What cannot be given counts as taken."""

    def allocate(self, nbytes: int) -> Buffer:
        taken = self.device.__dict__.get("taken", 0) + nbytes
        self.device.__dict__["taken"] = taken
        if taken > CAPACITY:
            raise OutOfMemoryError(f"late cannot give {nbytes} bytes")
        return super().allocate(nbytes)

    def free(self, buffer: Buffer) -> None:
        super().free(buffer)
        self.device.__dict__["taken"] -= buffer.nbytes


class FlatBuffer(Buffer):
    """A view of a view begins where the first one does."""

    base = 0

    def view(self, offset: int, nbytes: int) -> Buffer:
        self.check_view(offset, nbytes)
        view = FlatBuffer((self.base or self.address) + offset, nbytes)
        view.base = self.base or self.address
        return view


class FlattensViews(LateAllocator):
    """Gives flat buffers."""

    def allocate(self, nbytes: int) -> Buffer:
        super().allocate(ALIGNMENT)  # so that none begins at address 0
        buffer = super().allocate(nbytes)
        return FlatBuffer(buffer.address, nbytes)

    def free(self, buffer: Buffer) -> None:
        super().free(buffer)


# --- devices ---------------------------------------------------------------------------------


class OneMemoryForAll(LateDevice):
    """Device 1 reads and writes the memory of device 0."""

    shared = np.empty(CAPACITY, np.uint8)

    def __init__(self, index: int = 0) -> None:
        super().__init__(index)
        self.cells = self.shared


def counting_differently() -> Callable[[], int]:
    """A count that rises each time somebody looks."""
    counted = [0]

    def count() -> int:
        counted[0] += 1
        return counted[0]

    return count
