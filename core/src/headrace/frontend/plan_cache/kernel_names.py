"""The kernels of a plan by name, so that the next process imports these and lists no others."""

from __future__ import annotations

from headrace.ids import KernelName
from headrace.plan import Plan, TaskDesc, TaskKind
from headrace.registry.registry import BackendRegistry


def with_kernel_names(plan: Plan, registry: BackendRegistry) -> Plan:
    """``plan``, each task with what makes its kernel, as far as that has a name.

    Args:
        plan: what was compiled just now.
        registry: what it was compiled with.
    """
    names: dict[int, KernelName | None] = {}  # by the identity of entries, which backends hold

    def named(task: TaskDesc) -> TaskDesc:
        if task.kind is not TaskKind.COMPUTE or task.call is None:
            return task
        device = task.task_id.stream_id.device_id
        backend = registry.backend(plan.device_types.tag(device.device_type))
        entry = backend.kernels.select(task.call)
        assert entry is not None, f"{task.call} was not lowered for {backend.tag}"
        if id(entry) not in names:
            names[id(entry)] = backend.named.name_of(entry)
        return task._replace(kernel=names[id(entry)])

    return plan._replace(tasks=tuple(map(named, plan.tasks)))
