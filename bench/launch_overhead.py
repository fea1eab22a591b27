"""What a bound launch costs beside the kernel: a bound call against a direct call of its function.

    python bench/launch_overhead.py

The kernel is numpy's relu on eight numbers, where overhead shows most. ``bound`` is what the
runtime calls; ``direct`` is the function under it, called with the same arguments and the same
floating point settings. The ratio is the price of the contract.
"""

from __future__ import annotations

import statistics
import timeit

import numpy as np

from headrace.device import Device, DeviceContext, HostBuffer
from headrace.numpy_ops import FUNCTIONS, NumpyKernel
from headrace.ops import get_op, make_call
from headrace.tensor_spec import TensorSpec

CALLS = 20_000
REPEATS = 15
SPEC = TensorSpec((8,), "float32")


def main() -> None:
    """Print both medians and their ratio."""
    bound, direct = microseconds()
    print(f"bound {bound:.3f} us, direct {direct:.3f} us, ratio {bound / direct:.3f}")


def microseconds() -> tuple[float, float]:
    """Median time of a bound launch and of a direct call, one after the other."""
    context = DeviceContext(Device(0), 0)
    call = make_call(get_op("relu"), "relu", [SPEC], {})
    x, y = np.ones(8, np.float32), np.empty(8, np.float32)
    source, result = (HostBuffer(array.view(np.uint8)) for array in (x, y))
    bound = NumpyKernel(call).bind(context, [source], [result], None)
    function = FUNCTIONS["relu"]

    def direct() -> None:
        with np.errstate(all="ignore"):
            function(call, (x,), (y,))

    bound_times, direct_times = [], []
    for _ in range(REPEATS):  # in turn, so that a slow moment hits both
        bound_times.append(timeit.timeit(bound, number=CALLS))
        direct_times.append(timeit.timeit(direct, number=CALLS))
    scale = 1e6 / CALLS
    return statistics.median(bound_times) * scale, statistics.median(direct_times) * scale


if __name__ == "__main__":
    main()
