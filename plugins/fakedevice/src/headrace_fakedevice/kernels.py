"""``FakeKernel``: every op that numpy computes, as work on a stream."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from headrace.device import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    Buffer,
    DeviceContext,
    KernelEntry,
    Launch,
)
from headrace.errors import SettingError
from headrace.numpy_ops import NumpyKernel, kernel_entries
from headrace.tensor_spec import Array, TensorSpec
from headrace_fakedevice.context import FakeContext
from headrace_fakedevice.memory import memory_of, open_buffer

PREFERS_VARIABLE = "HEADRACE_FAKEDEVICE_PREFERS"
FORMATS = (CHANNELS_FIRST, CHANNELS_LAST)


def fake_kernels(tag: str) -> Iterator[KernelEntry]:
    """Kernels for both formats of images; for one that is preferred, others that go before them.

    Raises:
        SettingError: ``HEADRACE_FAKEDEVICE_PREFERS`` names no format.
    """
    yield from kernel_entries(tag, FakeKernel, FORMATS)
    preferred = os.environ.get(PREFERS_VARIABLE)
    if not preferred:
        return
    if preferred not in FORMATS:
        raise SettingError(PREFERS_VARIABLE, preferred, " or ".join(FORMATS))
    for entry in kernel_entries(tag, FakeKernel, (preferred,)):
        yield replace(entry, priority=entry.priority + 1)


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

        return partial(context.enqueue, work, "launch", call.op, 0, memory_of(*inputs, *outputs))


def array_of(buffer: Buffer, spec: TensorSpec, device_index: int) -> Array:
    """A buffer of a device as an array, for work while it runs."""
    data = open_buffer(buffer, device_index)[: spec.nbytes]
    return data.view(spec.dtype.numpy).reshape(spec.shape)
