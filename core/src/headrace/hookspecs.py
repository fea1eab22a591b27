"""Every hook that a backend may implement, and nothing else.

A backend is a module named by an entry point of group ``headrace.backends``; the entry's name is
the device tag. It implements the hooks below with ``@hookimpl``. Each hook returns an iterable of
frozen records (a generator will do). Core calls it once, lists the answer, checks it, and builds
tables: no hook runs while a job runs.

Hooks about devices are called when the backend's tag is first asked for. Those that list what
compilers choose from, kernels, ops, passes, collectives, are called when somebody first asks what
the backend offers, above all to compile a job: a process that takes its plans out of the cache
calls none of them, and imports the kernels that a plan names. So import what such a hook lists in
its body, not above; the process then starts sooner.

Hook implementations take no defaults and no keyword-only parameters; the loader refuses them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from headrace.device import (
        AllocatorEntry,
        CollectiveEntry,
        ConformanceProfile,
        DeviceContextEntry,
        DeviceEntry,
        KernelEntry,
        StreamIndexEntry,
    )
    from headrace.graph import OpEntry, PassEntry

PROJECT = "headrace"
"""pluggy's project name and the prefix of every hook."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a backend's module as the implementation of the hook of its name."""

REQUIRED_HOOKS = ("headrace_devices", "headrace_allocators", "headrace_kernels")
"""Hooks without which a backend is refused; the others have defaults."""


@hookspec
def headrace_devices() -> Iterable[DeviceEntry]:
    """Name the device type that this plugin brings. Required.

    Called once, when the backend is first asked for. ``count`` and ``open`` of the record are
    called later and may load a driver; the hook itself must not.

    Returns:
        Exactly one entry, whose tag is the name of the entry point.

    Example:
        >>> from headrace.device import DeviceEntry
        >>> @hookimpl
        ... def headrace_devices():
        ...     yield DeviceEntry("hello")
    """
    return ()


@hookspec
def headrace_allocators() -> Iterable[AllocatorEntry]:
    """Say how memory of the device is allocated. Required.

    Called once, when the backend is first asked for.

    Returns:
        One entry for the memory that kernels work in. With ``MemoryKind.HOST`` nothing is copied
        between the host and the device. With ``MemoryKind.DEVICE`` it may have ``create_pinned``
        as well: host memory that copies are fast from and to.

    Example:
        >>> from headrace.device import AllocatorEntry, HostAllocator, MemoryKind
        >>> @hookimpl
        ... def headrace_allocators():
        ...     yield AllocatorEntry("hello", MemoryKind.HOST, 64, HostAllocator)
    """
    return ()


@hookspec
def headrace_kernels() -> Iterable[KernelEntry]:
    """Offer the kernels that this plugin can create. Required.

    Called once, when what the backend offers is first asked for. ``create`` of an entry is called
    while a job is compiled and when a session opens its plan, from any thread; in a process that
    opens a plan which was kept, with no list made before.

    Returns:
        One entry for each kernel. Several for one op are told apart by ``match``; of those that
        match a call, the one with the highest ``priority`` is taken. Where these are for other
        ``data_formats``, jobs are brought into that of the highest one.

    Example:
        >>> from headrace.device import KernelEntry
        >>> from headrace.numpy_ops import NumpyKernel
        >>> @hookimpl
        ... def headrace_kernels():
        ...     yield KernelEntry("hello", "add", NumpyKernel)
    """
    return ()


@hookspec
def headrace_device_contexts() -> Iterable[DeviceContextEntry]:
    """Say how a stream of the device is made: copies, waits, events.

    Called once, when the backend is first asked for. Default: ``DeviceContext``, which works in
    host memory and returns when the work is done.

    Returns:
        At most one entry.

    Example:
        >>> from headrace.device import DeviceContext, DeviceContextEntry
        >>> @hookimpl
        ... def headrace_device_contexts():
        ...     yield DeviceContextEntry("hello", DeviceContext)
    """
    return ()


@hookspec
def headrace_stream_index_generators() -> Iterable[StreamIndexEntry]:
    """Say how the streams of the device are numbered.

    Called once, when the backend is first asked for. Default: compute 0, host to device 1, device
    to host 2.

    Returns:
        At most one entry.

    Example:
        >>> from headrace.device import StreamIndexEntry, StreamIndexGenerator
        >>> @hookimpl
        ... def headrace_stream_index_generators():
        ...     yield StreamIndexEntry("hello", StreamIndexGenerator)
    """
    return ()


@hookspec
def headrace_conformance_profiles() -> Iterable[ConformanceProfile]:
    """Say what the conformance suite may skip, and what is expected to fail. Since 1.1.

    Called once, when what the backend offers is first asked for. Default: nothing may be skipped.

    Returns:
        At most one entry.

    Example:
        >>> from headrace.device import ConformanceProfile
        >>> @hookimpl
        ... def headrace_conformance_profiles():
        ...     yield ConformanceProfile("hello", {"ops/cast/int4": "the chip has no 4-bit loads"})
    """
    return ()


@hookspec
def headrace_ops() -> Iterable[OpEntry]:
    """Bring ops of the plugin's own. Since 1.1.

    Called once, when what the backend offers is first asked for. Default: none.

    Returns:
        One entry for each op, whose name begins with the tag: ``hello.swish``.

    Example:
        >>> from headrace.graph import OpEntry
        >>> from headrace.ops import Input, Op
        >>> class Swish(Op):
        ...     name = "hello.swish"
        ...     inputs = (Input("x"),)
        ...
        ...     @classmethod
        ...     def infer(cls, call):
        ...         return (call.input(0),)
        >>> @hookimpl
        ... def headrace_ops():
        ...     yield OpEntry("hello", Swish)
    """
    return ()


@hookspec
def headrace_passes() -> Iterable[PassEntry]:
    """Rewrite the part of a job that is placed on the device, before it is lowered. Since 1.1.

    Called once, when what the backend offers is first asked for. ``rewrite`` of an entry is called
    while a job that uses the device is compiled, from any thread. Default: none.

    Returns:
        The passes, in the order in which they run.

    Example:
        >>> from headrace.graph import PassEntry
        >>> @hookimpl
        ... def headrace_passes():
        ...     yield PassEntry("hello", "leave_all_as_it_is", lambda graph: graph)
    """
    return ()


@hookspec
def headrace_collectives() -> Iterable[CollectiveEntry]:
    """Offer exchanges that several devices of the tag do among themselves. Since 1.1.

    Called once, when what the backend offers is first asked for. ``create`` of an entry is called
    while a job on several devices is compiled and when a session opens its plan, from any thread.
    Default: none, and core says all of them in slices, copies and sums.

    Returns:
        One entry for each of ``headrace.device.COLLECTIVES`` that the device does better. Several
        for one are told apart by ``match`` and ``priority``, as kernels are.

    Example:
        >>> from headrace.device import Collective, CollectiveEntry, dtypes
        >>> class AllReduce(Collective):
        ...     def __init__(self, call):
        ...         self.call = call
        ...
        ...     def bind(self, contexts, inputs, outputs):
        ...         return lambda: ...  # enqueue it on all contexts
        >>> @hookimpl
        ... def headrace_collectives():
        ...     yield CollectiveEntry("hello", "all_reduce", AllReduce, dtypes("float32"))
    """
    return ()
