"""Where graphs learn what an op is. Nothing global: a registry knows the ops of its plugins."""

from __future__ import annotations

from typing import Protocol

from headrace.graph.entries import OpEntry
from headrace.numpy_ops import FUNCTIONS
from headrace.op_call import OpCall
from headrace.ops import get_op


class OpSource(Protocol):
    """Knows ops by name."""

    def op(self, name: str) -> OpEntry:
        """Return the op called ``name``.

        Raises:
            UnknownOpError: there is none.
            DeviceUnavailableError: the name is that of a plugin's op, and the plugin cannot be had.
        """


class DeviceOps(OpSource, Protocol):
    """Knows besides which of them devices run."""

    def has_kernel(self, tag: str, call: OpCall) -> bool:
        """Whether devices of ``tag`` are known to have a kernel for ``call``.

        Raises:
            DeviceUnavailableError: there is no such device, or it cannot be had.
        """


class CoreOps:
    """The ops of core."""

    def __init__(self) -> None:
        self._found: dict[str, OpEntry] = {}

    def op(self, name: str) -> OpEntry:
        """As ``OpSource.op``; plugins' ops are unknown here."""
        entry = self._found.get(name)  # asked several times for every op of a graph
        if entry is None:
            entry = self._found[name] = OpEntry("", get_op(name), FUNCTIONS.get(name))
        return entry

    def has_kernel(self, tag: str, call: OpCall) -> bool:
        """As ``DeviceOps.has_kernel``; no device is known here."""
        return False


CORE_OPS = CoreOps()
"""The ops of core and no others."""


def tag_of(op: str) -> str:
    """The device tag in the name of a plugin's op; empty for an op of core."""
    return op.rpartition(".")[0]
