"""A look at what objects of a plugin answer: allocators, stream numbers, matches, kernels.

All of them are asked while a job is compiled or a session opens; no launch passes through here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from headrace.device import (
    Allocator,
    Buffer,
    Device,
    Kernel,
    MemoryKind,
    OpCall,
    StreamIndexGenerator,
)
from headrace.device.match import Match
from headrace.errors import PluginError
from headrace.registry import check_classes as rules
from headrace.registry.names import describe, name_of_match

Refuse = Callable[[str], NoReturn]
"""Raises a ``PluginError`` that begins with the plugin's name."""


class GuardedAllocator(Allocator):
    """An allocator of the plugin; each buffer is looked at once, when it is allocated."""

    def __init__(
        self,
        allocator: Allocator,
        device: Device,
        memory: MemoryKind,
        alignment_bytes: int,
        refuse: Refuse,
    ) -> None:
        super().__init__(device)
        self._allocator = allocator
        self._memory = memory
        self._alignment_bytes = alignment_bytes
        self._refuse = refuse

    def allocate(self, nbytes: int) -> Buffer:
        """What the plugin gives for ``nbytes`` bytes; what cannot be used is given back.

        Raises:
            PluginError: it is no buffer, too short or misaligned, or its ``view`` is wrong.
            OutOfMemoryError: there is not enough.
        """
        given: list[Buffer] = []
        try:
            given.append(self._allocator.allocate(nbytes))
            self._check(given[0], nbytes)
        except BaseException as refusal:
            if given and isinstance(given[0], Buffer):
                try:
                    self._allocator.free(given[0])
                except Exception as error:
                    raise refusal from error
            raise
        return given[0]

    def free(self, buffer: Buffer) -> None:
        self._allocator.free(buffer)

    def recycle(self, buffer: Buffer) -> None:
        if hasattr(self._allocator, "recycle"):  # that of a plugin need not derive from ours
            self._allocator.recycle(buffer)

    def _check(self, buffer: Buffer, nbytes: int) -> None:
        fault = rules.fault_of_buffer(buffer, self._memory) or rules.fault_of_range(
            buffer, nbytes, self._alignment_bytes
        )
        if fault:
            self._refuse(f"allocate of {describe(type(self._allocator))} {fault}")
        for offset in sorted({0, nbytes // 2}):
            self._check_view(buffer, offset, nbytes - offset)

    def _check_view(self, buffer: Buffer, offset: int, length: int) -> None:
        what = f"view({offset}, {length}) of {describe(type(buffer))}"
        try:
            part: object = buffer.view(offset, length)
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises
            try:
                self._refuse(f"{what}, of {buffer.nbytes} bytes, raised {type(error).__name__}")
            except PluginError as refusal:
                raise refusal from error
        fault = rules.fault_of_part(buffer, part, offset, length)
        if fault:
            self._refuse(f"{what} {fault}")


class GuardedStreams(StreamIndexGenerator):
    """A generator of the plugin; each number is looked at."""

    def __init__(self, streams: StreamIndexGenerator, device_index: int, refuse: Refuse) -> None:
        super().__init__(device_index)
        self._streams = streams
        self._refuse = refuse

    def compute(self) -> int:
        return self._checked("compute", self._streams.compute())

    def h2d(self) -> int:
        return self._checked("h2d", self._streams.h2d())

    def d2h(self) -> int:
        return self._checked("d2h", self._streams.d2h())

    def named(self, name: str) -> int:
        return self._checked("named", self._streams.named(name))

    def _checked(self, method: str, number: int) -> int:
        fault = rules.fault_of_stream_number(number)
        if fault:
            self._refuse(f"{method} of {describe(type(self._streams))} {fault}")
        return number


class NamedMatch:
    """A match of the plugin; prints what an author looks for. Its answer is looked at by tables."""

    def __init__(self, match: Match) -> None:
        self._match = match

    def __call__(self, call: OpCall) -> bool:
        return self._match(call)

    def __str__(self) -> str:
        return name_of_match(self._match)


def workspace_bytes(kernel: Kernel, call: OpCall, tag: str) -> int:
    """Scratch bytes that a kernel says it needs.

    Raises:
        PluginError: that is no number of bytes.
    """
    nbytes: object = kernel.workspace_bytes()
    if isinstance(nbytes, int) and nbytes >= 0:
        return nbytes
    raise PluginError(
        f"{call}: workspace_bytes of its kernel on device {tag!r} returned {nbytes!r}; it must be "
        "a number of bytes"
    )
