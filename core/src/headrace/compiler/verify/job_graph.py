"""What every job graph must satisfy, whichever pass made it."""

from __future__ import annotations

from headrace.errors import GraphError
from headrace.graph.constants import specs_of
from headrace.graph.job_graph import JobGraph


def verify_job_graph(graph: JobGraph, after: str) -> None:
    """Every tensor is made once, before it is read, with the spec its readers expect.

    Args:
        graph: what to verify.
        after: the pass that made it, for the message.

    Raises:
        GraphError: names the pass, the op and the tensor.
    """
    specs = {tensor.name: tensor.spec for tensor in graph.inputs}
    specs.update(specs_of(graph.constants))
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
            if name is None:
                continue
            known = specs.get(name)
            if known is not spec and known != spec:  # most are the same object
                raise broken(f"{op.call} reads {name!r} as {spec}; it is {specs.get(name)}")
        for name, output in zip(op.outputs, op.call.outputs, strict=True):
            if name in specs:
                raise broken(f"{op.call} makes {name!r}, which exists already")
            specs[name] = output
    for name in graph.hints:
        if name not in specs:
            raise broken(f"a hint says how {name!r} shall lie, and there is no such tensor")
    for result, tensor in graph.results:
        if specs.get(tensor.name) != tensor.spec:
            raise broken(f"result {result!r} is {tensor.name!r}, which is {specs.get(tensor.name)}")
    for name, tensor in graph.updates:
        if variables.get(name) != tensor.spec:
            raise broken(f"{name!r} is updated as {tensor.spec}; it is {variables.get(name)}")


def verify_same_interface(before: JobGraph, graph: JobGraph, after: str) -> None:
    """No pass changes what the caller feeds or gets: names, order, shapes and dtypes.

    Args:
        before: the graph that the pass was given.
        graph: what it made.
        after: the pass, for the message.

    Raises:
        GraphError: names the pass and both sides.
    """
    given, made = (_interface(g) for g in (before, graph))
    for what, was in given.items():
        if made[what] != was:
            raise GraphError(
                f"job {before.name!r} after {after}: its {what} became {made[what]}; "
                f"before the pass it was {was}"
            )


def _interface(graph: JobGraph) -> dict[str, object]:
    return {
        "name": graph.name,
        "inputs": [f"{tensor.name}: {tensor.spec}" for tensor in graph.inputs],
        "results": [f"{name}: {tensor.spec}" for name, tensor in graph.outputs],
    }
