"""What every graph must satisfy between passes; run when ``HEADRACE_VERIFY`` is 1, as in tests."""

from __future__ import annotations

from headrace.compiler.task_graph import TaskGraph
from headrace.errors import GraphError
from headrace.graph.job_graph import JobGraph
from headrace.plan import TaskKind
from headrace.tensor_spec import TensorSpec


def verify_job_graph(graph: JobGraph, after: str) -> None:
    """Every tensor is made once, before it is read, with the spec its readers expect.

    Args:
        graph: what to verify.
        after: the pass that made it, for the message.

    Raises:
        GraphError: names the pass, the op and the tensor.
    """
    specs = {tensor.name: tensor.spec for tensor in graph.inputs}
    specs.update((name, TensorSpec.of(value)) for name, value in graph.constants.items())
    variables = {part.tensor.name: part.tensor.spec for part in graph.variables}
    specs.update(variables)
    names: set[str] = set()

    def broken(message: str) -> GraphError:
        return GraphError(f"job {graph.name!r} after {after}: {message}")

    if len(specs) != len(graph.inputs) + len(graph.constants) + len(graph.variables):
        raise broken("an input, a constant or a variable shares its name with another")
    for op in graph.ops:
        if op.call.name in names:
            raise broken(f"two ops are called {op.call.name!r}")
        names.add(op.call.name)
        for name, spec in zip(op.inputs, op.call.inputs, strict=True):
            if name is not None and specs.get(name) != spec:
                raise broken(f"{op.call} reads {name!r} as {spec}; it is {specs.get(name)}")
        for name, output in zip(op.outputs, op.call.outputs, strict=True):
            if name in specs:
                raise broken(f"{op.call} makes {name!r}, which exists already")
            specs[name] = output
    for result, tensor in graph.results:
        if specs.get(tensor.name) != tensor.spec:
            raise broken(f"result {result!r} is {tensor.name!r}, which is {specs.get(tensor.name)}")
    for name, tensor in graph.updates:
        if variables.get(name) != tensor.spec:
            raise broken(f"{name!r} is updated as {tensor.spec}; it is {variables.get(name)}")


def verify_task_graph(graph: TaskGraph) -> None:
    """Every task reads what was made before it, in the memory it works in; copies cross zones.

    Raises:
        GraphError: names the task and the tensor.
    """
    made = {name for name, tensor in graph.tensors.items() if tensor.constant is not None}
    for task in graph.tasks:
        for name in task.inputs:
            if name is not None and name not in made:
                raise GraphError(f"task {task.name!r} reads {name!r}, which no earlier task makes")
        for name in task.outputs:
            if name in made:
                raise GraphError(f"task {task.name!r} makes {name!r}, which exists already")
            made.add(name)
        read = {graph.tensors[name].memory for name in task.inputs if name is not None}
        written = {graph.tensors[name].memory for name in task.outputs}
        if task.kind is TaskKind.COMPUTE and len(read | written) > 1:
            raise GraphError(f"task {task.name!r} works in several memories: {read | written}")
        if task.kind in (TaskKind.COPY_H2D, TaskKind.COPY_D2H) and read == written:
            raise GraphError(f"task {task.name!r} copies within one memory: {read}")
