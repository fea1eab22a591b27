"""``FakeCollective``: several devices reduce, share out and gather what they hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.device import Buffer, Collective, DeviceContext, Launch, OpCall
from headrace.numpy_ops import NUMPY_COLLECTIVES
from headrace_fakedevice.context import FakeContext
from headrace_fakedevice.kernels import array_of
from headrace_fakedevice.memory import memory_of


class FakeCollective(Collective):
    """Any collective that numpy computes.

    The devices meet on the first one's stream: it waits for all others, does the exchange, and all
    others wait for it. On hardware each device would run its share, and wait for its neighbours.
    """

    def __init__(self, call: OpCall) -> None:
        self.call = call

    def bind(
        self,
        contexts: Sequence[DeviceContext],
        inputs: Sequence[Buffer],
        outputs: Sequence[Buffer],
    ) -> Launch:
        """Fix the buffers; a launch queues the meeting on all streams."""
        call, function = self.call, NUMPY_COLLECTIVES[self.call.op]
        devices = call.ints_attr("devices")
        holders = devices
        if call.op == "broadcast":
            holders = (devices[call.int_attr("root")],)
        read = tuple(zip(inputs, call.inputs, holders, strict=True))
        written = tuple(zip(outputs, call.outputs, devices, strict=True))
        used = memory_of(*inputs, *outputs)
        first, *others = contexts
        assert isinstance(first, FakeContext)

        def exchange() -> None:
            sources = [array_of(b, s, i) for b, s, i in read if s is not None]
            for source in sources:
                source.flags.writeable = False
            with np.errstate(all="ignore"):
                function(call, sources, [array_of(b, s, i) for b, s, i in written])
            first.counters.collectives += 1

        def launch() -> None:
            for other in others:
                first.wait_event(other.record_event())
            first.enqueue(exchange, "collective", call.op, 0, used)
            done = first.record_event()
            for other in others:
                other.wait_event(done)

        return launch
