"""Staging: what a device copies from the host, or to it, lies in memory pinned for the device.

A driver copies from and to page-locked memory by itself, while the host does something else. Of
pageable memory it makes a copy first, and the caller waits. So a host tensor that a device with
pinned memory copies is made there: what the caller feeds is put where the device takes it from,
and results lie where it left them. Kernels of the host read and write such memory as any other.

A tensor lies in one memory. If several devices copy it, it is that of the one that writes it, or
else that reads it first. For the others of its tag that is as good: memory is pinned for all of
them. For one of another tag it is pageable, as what users hold in their hands always is. To copy it
on the host into memory pinned for that one as well was turned down: that is what its driver does.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.compiler.task_graph import TaskGraph, TaskNode
from headrace.memory_case import MemoryCase
from headrace.plan import TaskKind
from headrace.registry.registry import BackendRegistry


def pin_staging(graph: TaskGraph, registry: BackendRegistry) -> TaskGraph:
    """The graph with the host's side of every copy pinned, where the device has such memory.

    Before: all of the host's tensors are pageable. After: every copy between the host and a device
    that has pinned memory is from or to a tensor that is pinned, for it if nobody came first.
    """
    pinned: dict[str, MemoryCase] = {}
    for task in graph.tasks:
        staged = staged_by(task)
        if staged is not None and registry.backend(task.stream.tag).has_pinned_memory:
            stream = task.stream
            memory = MemoryCase.pinned(stream.tag, stream.device_index, stream.machine)
            pinned.setdefault(staged, memory)
    if not pinned:
        return graph
    tensors = {
        name: tensor._replace(memory=tensor.memory.merge(pinned[name]))
        if name in pinned
        else tensor
        for name, tensor in graph.tensors.items()
    }
    return replace(graph, tensors=tensors)


def staged_by(task: TaskNode) -> str | None:
    """The host's tensor of a copy between the host and a device; None for any other task."""
    if task.kind is TaskKind.COPY_H2D:
        return task.inputs[0]
    return task.outputs[0] if task.kind is TaskKind.COPY_D2H else None
