"""``WeightLoader``: brings weights into the memory of one device while a plan is opened.

Where the device has pinned memory they go through two pieces of it in turn: while the device copies
from one, the host fills the other. To pin all of them was turned down: it would hold as much locked
memory as the model is large, for one use. Without pinned memory each is copied from where it lies.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headrace.device import Buffer, DeviceContext, Event, HostBuffer
from headrace.tensor_spec import Array

PIECE_BYTES = 4 << 20
STEP_BYTES = 512  # where the next weight begins in a piece: as in the chunks that it is copied to


class WeightLoader:
    """Enqueues copies, which are done when ``finish`` returns. Used by one thread."""

    def __init__(
        self,
        context: DeviceContext,
        most_bytes: int,
        allocate: Callable[[int], HostBuffer] | None = None,
    ) -> None:
        """Load on a stream of the device; the caller synchronises and closes it, whatever happens.

        Args:
            context: the stream.
            most_bytes: what all weights take; no more is staged in.
            allocate: gives pinned memory of the device, which the caller frees; None if there is
                no such memory.
        """
        self._context = context
        self._allocate = allocate
        self._piece_bytes = min(PIECE_BYTES, -(-most_bytes // STEP_BYTES) * STEP_BYTES)
        self._pieces: list[HostBuffer] = []
        self._read: list[Event | None] = []  # reached when nobody reads the piece any more
        self._piece = -1
        self._used = self._piece_bytes  # of the piece that is being filled
        self._sources: list[HostBuffer] = []  # of copies that may not be done yet

    def load(self, destination: Buffer, value: Array) -> None:
        """Copy a weight to the device. ``value`` may be changed or dropped after ``finish``."""
        source = HostBuffer(np.ascontiguousarray(value).reshape(-1).view(np.uint8), owner=value)
        if self._allocate is None:
            self._sources.append(source)
            self._context.copy_h2d(destination, source)
            return
        begin = 0
        while begin < source.nbytes:
            if self._used >= self._piece_bytes:
                self._next_piece(self._allocate)
            length = min(source.nbytes - begin, self._piece_bytes - self._used)
            part = self._pieces[self._piece].view(self._used, length)
            part.memory[:] = source.memory[begin : begin + length]
            self._context.copy_h2d(destination.view(begin, length), part)
            begin += length
            self._used += -(-length // STEP_BYTES) * STEP_BYTES

    def finish(self) -> None:
        """Wait until all copies are done.

        Raises:
            Exception: what one of them raised.
        """
        self._context.synchronize()
        self._sources.clear()

    def _next_piece(self, allocate: Callable[[int], HostBuffer]) -> None:
        """Turn to the other piece, when the device has read it."""
        if self._piece >= 0:
            self._read[self._piece] = self._context.record_event()
        self._piece = (self._piece + 1) % 2
        if self._piece == len(self._pieces):
            self._pieces.append(allocate(self._piece_bytes))
            self._read.append(None)
        event = self._read[self._piece]
        if event is not None:
            event.synchronize()
        self._used = 0
