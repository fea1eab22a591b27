"""Kernels that wait until a test lets them go on: calls stay under way as long as it likes."""

from __future__ import annotations

import threading
from collections.abc import Callable

from toy_backends import FarKernel

from headrace.device import DeviceContext, Launch
from headrace.numpy_ops import NumpyKernel
from headrace.op_call import OpCall


class Gate:
    """Makes kernels of ``far``: that of one op waits for ``open``, then fails if ``broken``."""

    def __init__(self, name: str = "last") -> None:
        """The gate of the op called ``name``."""
        self._name = name
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

                return super().enqueue(context, wait_and_work if call.name == gate._name else work)

        return Kernel(call)
