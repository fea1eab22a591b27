"""A thread that stays in the middle of making a job ready, for programs that end beside it.

In a module of its own: what a thread's frames can reach is not finalized.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from toy_backends import near

import headrace as flow
import headrace.typing as tp
from headrace.device import OpCall
from headrace.numpy_ops import NumpyKernel
from headrace.registry import BackendRegistry

_here = threading.local()
_reached = threading.Event()


def _kernel(call: OpCall) -> NumpyKernel:
    if hasattr(_here, "stays"):
        _reached.set()
        threading.Event().wait()
    return NumpyKernel(call)


def registry() -> BackendRegistry:
    """With a device ``near``."""
    return BackendRegistry.from_modules({"near": near(kernel=_kernel)})


Three = tp.Numpy.Placeholder((3,))


def job(x: Three) -> tp.Numpy:  # type: ignore[valid-type]
    """For that device."""
    with flow.scope.placement("near", "0:0"):
        return flow.relu(x)  # type: ignore[return-value]


def _serve(call: Callable[..., object], *arguments: object) -> None:
    _here.stays = True
    call(*arguments)


def leave_in(call: Callable[..., object], *arguments: object) -> None:
    """Have a thread make ready what ``call`` needs; it never comes to its end."""
    threading.Thread(target=_serve, args=(call, *arguments), daemon=True).start()
    _reached.wait()
