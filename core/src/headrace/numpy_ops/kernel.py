"""``NumpyKernel``: a numpy op as a kernel, for devices whose memory numpy can see."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from headrace.data_format import CHANNELS_FIRST
from headrace.device import Buffer, DeviceContext, HostBuffer, Kernel, KernelEntry, Launch, OpCall
from headrace.numpy_ops.function import NumpyFunction
from headrace.numpy_ops.table import FUNCTIONS
from headrace.tensor_spec import Array, TensorSpec


class NumpyKernel(Kernel):
    """Runs ``FUNCTIONS[call.op]`` on arrays that are views of the buffers; no workspace.

    Returns when the work is done. An op of the plugin's own is given with its function:
    ``partial(NumpyKernel, function=swish)``. Override ``array_of`` and ``enqueue`` for memory that
    only the plugin can open and for streams that work later.
    """

    def __init__(self, call: OpCall, function: NumpyFunction | None = None) -> None:
        self.call = call
        self.function = function or FUNCTIONS[call.op]

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        call, function = self.call, self.function
        sources = tuple(
            None if buffer is None or spec is None else self.array_of(buffer, spec)
            for buffer, spec in zip(inputs, call.inputs, strict=True)
        )
        results = tuple(
            self.array_of(buffer, spec) for buffer, spec in zip(outputs, call.outputs, strict=True)
        )

        def work() -> None:
            with np.errstate(all="ignore"):
                function(call, sources, results)

        return self.enqueue(context, work)

    def array_of(self, buffer: Buffer, spec: TensorSpec) -> Array:
        """The buffer as an array that shares its memory."""
        assert isinstance(buffer, HostBuffer), "a NumpyKernel needs host memory"
        return buffer.array(spec)

    def enqueue(self, context: DeviceContext, work: Callable[[], None]) -> Launch:
        """The launch that does ``work`` on ``context``; here, at once."""
        return work


def kernel_entries(
    tag: str,
    kernel: Callable[[OpCall], Kernel] = NumpyKernel,
    data_formats: tuple[str, ...] = (CHANNELS_FIRST,),
) -> Iterator[KernelEntry]:
    """One entry for every op that numpy computes, with the lowest priority.

    ``NumpyKernel`` computes every format; say so in ``data_formats`` if ``kernel`` does too.

    Example:
        >>> sorted(e.op for e in kernel_entries("hello") if e.op in ("add", "relu"))
        ['add', 'relu']
    """
    for op in FUNCTIONS:
        yield KernelEntry(tag, op, kernel, priority=-1, data_formats=data_formats)
