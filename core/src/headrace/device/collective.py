"""``Collective``: an exchange of data among several devices of one tag, done by the plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from headrace.device.allocator import Buffer
from headrace.device.kernel import Launch

if TYPE_CHECKING:
    from headrace.device.context import DeviceContext

COLLECTIVES: Mapping[str, str] = MappingProxyType(
    {
        "all_reduce": "every device has a term; every device gets their reduction",
        "reduce_scatter": "every device has a term; each gets a slice of their reduction",
        "all_gather": "every device has a slice; every device gets all of them, joined",
        "broadcast": "one device has the tensor; every device gets it",
        "all_to_all": "every device has a slice along one axis; each gets one along another",
    }
)
"""The collectives that core asks a plugin for, and what each does.

The call of one has an input for each device that holds something, an output for each device, both
in the order of the attribute ``devices``, and these attributes:

- ``devices``: the device indices, ascending;
- ``reduction`` (``all_reduce``, ``reduce_scatter``): ``sum``, ``max`` or ``min``;
- ``axis`` (``reduce_scatter``, ``all_gather``, ``all_to_all``): the axis of the slices that are
  made, or joined;
- ``from_axis`` (``all_to_all``): the axis of the slices that are there;
- ``root`` (``broadcast``): position in ``devices`` of the one that has the tensor, the only input.

Slices are contiguous and balanced: of 7 rows on 3 devices they have 3, 2 and 2.
"""


class Collective:
    """One collective at fixed shapes, among fixed devices.

    Created by ``CollectiveEntry.create(call)`` while a job is compiled and again when a session
    opens its plan; creating must not touch a device. Holds no buffers and no state between
    launches.
    """

    def bind(
        self,
        contexts: Sequence[DeviceContext],
        inputs: Sequence[Buffer],
        outputs: Sequence[Buffer],
    ) -> Launch:
        """Fix the buffers once and return the call that enqueues the exchange on all devices.

        One thread calls it; it may return before the work is done. On each context the work is
        done after what was enqueued there before, and reads what another device holds after what
        was enqueued on *that* device's context before: events, or what the library does, see to
        it. When all contexts are synchronised, every output is written.

        Args:
            contexts: one stream for each of the call's devices, in that order, used for nothing
                but collectives among them.
            inputs: as in the call, each on its device. Not to be written.
            outputs: as in the call, each on its device; every one is written whole.
        """
        raise NotImplementedError(f"{type(self).__name__} does not override bind")
