"""What every job graph must satisfy, whichever pass made it."""

from __future__ import annotations

from collections import Counter

from headrace.errors import GraphError
from headrace.graph.constants import specs_of
from headrace.graph.job_graph import JobGraph
from headrace.tensor_spec import TensorSpec


def verify_job_graph(graph: JobGraph, after: str) -> None:
    """Every tensor is made once, before it is read, with the spec its readers expect.

    Args:
        graph: what to verify.
        after: the pass that made it, for the message.

    Raises:
        GraphError: names the pass, the op and the tensor.
    """
    specs: dict[str | None, TensorSpec]
    specs = {tensor.name: tensor.spec for tensor in graph.inputs}
    specs.update(specs_of(graph.constants))
    variables = {part.tensor.name: part.tensor.spec for part in graph.variables}
    specs.update(variables)

    def broken(message: str) -> GraphError:
        return GraphError(f"job {graph.name!r} after {after}: {message}")

    if len(specs) != len(graph.inputs) + len(graph.constants) + len(graph.variables):
        raise broken("an input, a constant or a variable shares its name with another")
    if len({op.call.name for op in graph.ops}) < len(graph.ops):
        counts = Counter(op.call.name for op in graph.ops)
        raise broken(f"two ops are called {counts.most_common(1)[0][0]!r}")
    for op in graph.ops:
        call = op.call
        # Nearly always they are the same objects, which one comparison of tuples tells.
        if tuple(map(specs.get, op.inputs)) != call.inputs:
            for name, spec in zip(op.inputs, call.inputs, strict=True):
                if name is not None and specs.get(name) != spec:
                    raise broken(f"{call} reads {name!r} as {spec}; it is {specs.get(name)}")
        for name, output in zip(op.outputs, call.outputs, strict=True):
            if name in specs:
                raise broken(f"{call} makes {name!r}, which exists already")
            specs[name] = output
    for name in graph.hints:
        if name not in specs:
            raise broken(f"a hint says how {name!r} is distributed, and there is no such tensor")
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
