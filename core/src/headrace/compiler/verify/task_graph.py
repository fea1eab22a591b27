"""What the task graph promises: everything is made before it is read, in memory within reach."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.compiler.op_graph import OpGraph
from headrace.compiler.pin_staging import staged_by
from headrace.compiler.task_graph import PhysicalTensor, TaskGraph, TaskNode
from headrace.errors import GraphError
from headrace.memory_case import MemoryCase
from headrace.plan import COPIES, TaskKind
from headrace.registry.registry import BackendRegistry


def verify_task_graph(graph: TaskGraph) -> None:
    """Every task reads what was made before it, in the memory it works in; copies cross zones.

    - names of tasks and of tensors are unique, and every tensor is made by one task, or there
      before as constants and variables are; a variable is written by a copy within its memory;
    - a task that computes has an op whose specs are those of its tensors, and works in one memory:
      that of its stream's device, or the host's;
    - a collective has an output in the memory of each of its devices;
    - a copy brings one tensor, unchanged, from one memory to another, or within one;
    - jobs are those of the graph, and what control edges hold back is of the same job.

    Raises:
        GraphError: names the task and the tensor.
    """
    made = {name for name, tensor in graph.tensors.items() if tensor.persists}
    names: set[str] = set()
    for task in graph.tasks:
        if task.name in names:
            raise GraphError(f"two tasks are called {task.name!r}")
        names.add(task.name)
        if not 0 <= task.job < len(graph.jobs):
            raise GraphError(
                f"task {task.name!r} is of job {task.job}; there are {len(graph.jobs)}"
            )
        for name in task.inputs:
            if name is not None and name not in made:
                raise GraphError(f"task {task.name!r} reads {name!r}, which no earlier task makes")
        for name in task.outputs:
            tensor = graph.tensors.get(name)
            if tensor is not None and tensor.variable and task.kind is TaskKind.COPY_D2D:
                continue
            if name in made:
                raise GraphError(f"task {task.name!r} makes {name!r}, which exists already")
            if name not in graph.tensors:
                raise GraphError(f"task {task.name!r} makes {name!r}, which is no tensor")
            made.add(name)
        if task.kind is TaskKind.COMPUTE:
            _check_compute(graph, task)
        elif task.kind is TaskKind.COLLECTIVE:
            _check_exchange(graph, task)
        elif task.kind in COPIES:
            _check_copy(graph, task)
    for name in graph.tensors:
        if name not in made:
            raise GraphError(f"no task makes tensor {name!r}, and it is no constant")
    for first, second in graph.control:
        one, other = graph.tasks[first], graph.tasks[second]
        jobs = {graph.jobs[one.job].serves, graph.jobs[other.job].serves}
        if first >= second or len(jobs) > 1:
            raise GraphError(f"task {other.name!r} cannot wait for {one.name!r}")


def _check_compute(graph: TaskGraph, task: TaskNode) -> None:
    tensors = [graph.tensors[name] for name in (*task.inputs, *task.outputs) if name is not None]
    memories = {_reach(tensor) for tensor in tensors}
    if len(memories) > 1:
        raise GraphError(
            f"task {task.name!r} works in several memories: {', '.join(map(str, sorted(memories)))}"
        )
    (memory,) = memories
    stream = task.stream
    if (memory.machine != stream.machine) or (
        not memory.is_host
        and (memory.tag, memory.device_index) != (stream.tag, stream.device_index)
    ):
        raise GraphError(
            f"task {task.name!r} runs on {stream} and works in {memory}, that of another device"
        )
    _check_specs(graph, task)


def _check_exchange(graph: TaskGraph, task: TaskNode) -> None:
    _check_specs(graph, task)
    assert task.call is not None
    devices = task.call.ints_attr("devices")
    for name, index in zip(task.outputs, devices, strict=True):
        memory = graph.tensors[name].memory
        if not memory.is_host and (memory.tag, memory.device_index) != (task.stream.tag, index):
            raise GraphError(
                f"task {task.name!r} makes {name!r} for device {task.stream.tag}:{index}, and it "
                f"lies in {memory}"
            )


def _check_specs(graph: TaskGraph, task: TaskNode) -> None:
    if task.call is None:
        raise GraphError(f"task {task.name!r} computes and has no op")
    tensors = [graph.tensors[name] for name in (*task.inputs, *task.outputs) if name is not None]
    specs = [spec for spec in (*task.call.inputs, *task.call.outputs) if spec is not None]
    for tensor, spec in zip(tensors, specs, strict=True):
        if tensor.spec != spec:
            raise GraphError(
                f"task {task.name!r} takes {tensor.name!r} for {spec}; it is {tensor.spec}"
            )


def _check_copy(graph: TaskGraph, task: TaskNode) -> None:
    if len(task.inputs) != 1 or len(task.outputs) != 1 or task.inputs[0] is None:
        raise GraphError(f"task {task.name!r} copies {task.inputs} to {task.outputs}; one to one")
    source, copy = graph.tensors[task.inputs[0]], graph.tensors[task.outputs[0]]
    within = task.kind is TaskKind.COPY_D2D
    if within and _reach(source) != _reach(copy):
        raise GraphError(f"task {task.name!r} copies from {source.memory} to {copy.memory}")
    if not within and _reach(source) == _reach(copy):
        raise GraphError(f"task {task.name!r} copies within one memory: {copy.memory}")
    if source.spec != copy.spec:
        raise GraphError(
            f"task {task.name!r} copies {source.name!r}, {source.spec}, to {copy.name!r}, "
            f"{copy.spec}"
        )


def _reach(tensor: PhysicalTensor) -> MemoryCase:
    """What a kernel must work in to reach a tensor: pinned or not, the host's memory is one."""
    memory = tensor.memory
    return MemoryCase.host(memory.machine) if memory.is_host else memory


def verify_staging(graph: TaskGraph, registry: BackendRegistry) -> None:
    """No device that has pinned memory copies from or to memory of the host that is pageable.

    Raises:
        GraphError: names the copy and the tensor.
    """
    for task in graph.tasks:
        staged = staged_by(task)
        if staged is None or not registry.backend(task.stream.tag).has_pinned_memory:
            continue
        if not graph.tensors[staged].memory.pinned_for:
            raise GraphError(f"task {task.name!r} of {task.stream} copies {staged!r}, not pinned")


def verify_same_jobs(graphs: Sequence[OpGraph], tasks: TaskGraph) -> None:
    """The task graph does what the op graphs say, no more: each op, input, result, update once.

    Raises:
        GraphError: names the op, input or result.
    """
    roots = [job for position, job in enumerate(tasks.jobs) if job.serves == position]
    if [graph.job.name for graph in graphs] != [job.name for job in roots]:
        raise GraphError(f"the jobs of {tasks.name!r} are not those of the op graphs")
    for graph, root in zip(graphs, roots, strict=True):
        mine = [task for task in tasks.tasks if tasks.jobs[task.job].serves == root.serves]
        _verify_same_job(graph, tasks, mine)


FED = (TaskKind.FOREIGN_INPUT, TaskKind.INITIALIZE)


def _verify_same_job(graph: OpGraph, tasks: TaskGraph, mine: Sequence[TaskNode]) -> None:
    job = graph.job
    for what, wanted, kinds in (
        ("ops", [op.call.name for op in job.ops], (TaskKind.COMPUTE, TaskKind.COLLECTIVE)),
        ("inputs", [tensor.name for tensor in job.inputs], FED),
        ("results", [name for name, _ in job.outputs], (TaskKind.FOREIGN_OUTPUT,)),
    ):
        there = [
            task.call.name if task.call is not None else task.foreign_name
            for task in mine
            if task.kind in kinds
        ]
        if sorted(there) != sorted(wanted):
            missing = sorted(set(wanted) - set(there))
            extra = sorted(set(there) - set(wanted))
            raise GraphError(
                f"job {job.name!r}: the tasks are not for the {what} of the job: "
                f"missing {missing}, not asked for {extra}, in all {len(there)} for {len(wanted)}"
            )
    written = [name for task in mine for name in task.outputs if tasks.tensors[name].variable]
    if len({*written}) != len(written) or len(written) != len(job.updates):
        raise GraphError(
            f"job {job.name!r} updates {len(job.updates)} variables; its tasks write {written}"
        )
