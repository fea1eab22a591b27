"""``FakeKernel``: every op that numpy computes, as work on a stream."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from headrace.device import Buffer, DeviceContext, Launch
from headrace.numpy_ops import NumpyKernel
from headrace.tensor_spec import Array, TensorSpec
from headrace_fakedevice.context import FakeContext
from headrace_fakedevice.memory import open_buffer


class FakeKernel(NumpyKernel):
    """Runs ``FUNCTIONS[call.op]`` inside the device's memory. A launch returns before the work.

    Every launch opens its buffers anew, so every launch checks them. Inputs are opened for reading
    only: a kernel that writes to one is an error, not a wrong answer in another op.
    """

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        """Fix the buffers; the launch queues the work that opens them."""
        assert isinstance(context, FakeContext)
        call, function, counters = self.call, self.function, context.counters
        index = context.device.index
        read = tuple(zip(inputs, call.inputs, strict=True))
        written = tuple(zip(outputs, call.outputs, strict=True))

        def work() -> None:
            sources = [None if b is None or s is None else array_of(b, s, index) for b, s in read]
            for source in sources:
                if source is not None:
                    source.flags.writeable = False
            results = [array_of(buffer, spec, index) for buffer, spec in written]
            with np.errstate(all="ignore"):
                function(call, sources, results)
            counters.launches += 1

        return partial(context.enqueue, work, "launch", call.op)


def array_of(buffer: Buffer, spec: TensorSpec, device_index: int) -> Array:
    """A buffer of a device as an array, for work while it runs."""
    data = open_buffer(buffer, device_index)[: spec.nbytes]
    return data.view(spec.dtype.numpy).reshape(spec.shape)
