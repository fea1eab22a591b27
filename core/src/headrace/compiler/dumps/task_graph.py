"""The task graph as text: jobs, tasks with their streams, tensors with their memories."""

from __future__ import annotations

from headrace.compiler.task_graph import PhysicalTensor, TaskGraph, TaskNode
from headrace.graph.dump import call_text


def dump_task_graph(graph: TaskGraph) -> str:
    """The whole graph; ends with a newline."""
    lines = [f"task graph {graph.name!r}"]
    lines += [f"  job {i}: {job.kind.value} {job.name!r}" for i, job in enumerate(graph.jobs)]
    lines += [f"  task {i}: {_task(task)}" for i, task in enumerate(graph.tasks)]
    lines += [f"  tensor {_tensor(tensor)}" for tensor in graph.tensors.values()]
    return "\n".join(lines) + "\n"


def _task(task: TaskNode) -> str:
    what, attrs = (task.kind.value, None) if task.call is None else (task.call.op, task.call.attrs)
    text = call_text(what, task.inputs, attrs, task.outputs or ["caller"])
    name = "" if task.call is None else f"{task.name!r} "
    scratch = f", {task.workspace_bytes} bytes of scratch" if task.workspace_bytes else ""
    return f"job {task.job} on {task.stream}: {name}{text}{scratch}"


def _tensor(tensor: PhysicalTensor) -> str:
    constant = "" if tensor.constant is None else f", constant {tensor.constant!r}"
    return f"{tensor.name}: {tensor.spec} in {tensor.memory}{constant}"
