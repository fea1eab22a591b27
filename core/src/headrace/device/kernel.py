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
    its plan, from any thread; creating must not touch the device. Holds no buffers and no state
    between launches. One thread at a time launches it, not always the same one, while others launch
    other kernels.
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

        The buffers are core's, which keeps them until the session closes.

        Args:
            context: the stream to run on.
            inputs: in schema order; None for an absent optional input. Not to be written.
            outputs: in schema order; the kernel writes all of each.
            workspace: scratch memory; None when ``workspace_bytes`` is 0. What it holds is lost
                between launches.

        Raises:
            Exception: anything; the run ends with a ``RunError`` that names the op and has it as
                its cause. Work that fails later is told by ``synchronize`` of the context.
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

        Called when a session opens its plan, with what ``launch`` takes, and again where calls
        overlap and have other buffers. Override it to look up addresses, views and descriptors here
        instead of on every launch. What it raises ends the opening, and names the plugin.
        """
        return partial(self.launch, context, tuple(inputs), tuple(outputs), workspace)
