"""``Kernel``: what runs one op on one device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from headrace.device.allocator import Buffer

if TYPE_CHECKING:
    from headrace.device.context import DeviceContext

Launch = Callable[[], None]
"""Enqueues work whose buffers are fixed. Called on every run; keep it short."""


class Kernel:
    """One op at fixed shapes, dtypes and attributes. Override ``launch`` or ``bind``.

    Created by ``KernelEntry.create(call)`` while a job is compiled and again when a session opens
    its plan; creating must not touch the device. Holds no buffers and no state between launches.
    """

    def workspace_bytes(self) -> int:
        """Scratch bytes that every launch needs; they are planned, never allocated by a kernel."""
        return 0

    def launch(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> None:
        """Enqueue the work on ``context``. It may return before the work is done.

        Args:
            context: the stream to run on.
            inputs: in schema order; None for an absent optional input. Not to be written.
            outputs: in schema order; the kernel writes all of each.
            workspace: scratch memory; None when ``workspace_bytes`` is 0.
        """
        raise NotImplementedError(f"{type(self).__name__} overrides neither launch nor bind")

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        """Fix the buffers once and return the call that enqueues the work.

        Override it to look up addresses, views and descriptors here instead of on every launch.
        """
        return partial(self.launch, context, tuple(inputs), tuple(outputs), workspace)
