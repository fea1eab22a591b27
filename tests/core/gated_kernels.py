"""Kernels that wait until a test lets them go on: calls stay under way as long as it likes."""

from __future__ import annotations

import threading
from collections.abc import Callable

from toy_backends import FarKernel

from headrace.device import DeviceContext, Launch
from headrace.numpy_ops import NumpyKernel
from headrace.op_call import OpCall


class Gate:
    """Makes kernels of ``far`` whose op ``last`` waits for ``open``, then fails if ``broken``."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()
        self.broken = False

    def kernel(self, call: OpCall) -> NumpyKernel:
        gate = self

        class Kernel(FarKernel):
            def enqueue(self, context: DeviceContext, work: Callable[[], None]) -> Launch:
                def wait_and_work() -> None:
                    gate.reached.set()
                    assert gate.open.wait(20)
                    if gate.broken:
                        raise ArithmeticError("the chip is on fire")
                    work()

                return super().enqueue(context, wait_and_work if call.name == "last" else work)

        return Kernel(call)
