"""Tracing a job function: from Python to a job graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.errors import JobError
from headrace.frontend.config import FunctionConfig
from headrace.frontend.default_device import default_device
from headrace.frontend.mirrored import MirroredSymbol
from headrace.frontend.scope import ViewScope
from headrace.frontend.signature import JobSignature, Tree, leaves, rebuild
from headrace.frontend.tracing import Symbol, traced
from headrace.graph import JobGraph, JobGraphBuilder
from headrace.registry.registry import BackendRegistry


def trace_job(
    function: Callable[..., Any],
    signature: JobSignature,
    config: FunctionConfig,
    registry: BackendRegistry,
) -> tuple[JobGraph, Tree]:
    """Run the function on symbols; returns the graph and the shape of its result.

    Raises:
        JobError: what it returns is not what its annotation says.
        Exception: what the function raised.
    """
    placement = config.placement or default_device()
    builder = JobGraphBuilder(signature.name, placement, ops=registry)
    symbols = {name: Symbol(builder.input(name, spec), builder) for name, spec in signature.inputs}
    arguments = [_argument(rebuild(p.name, p.specs, symbols)) for p in signature.parameters]

    def run() -> Tree:
        with ViewScope(config.logical_view):
            return function(*arguments)

    result = traced(builder, run)
    signature.check_result(result)
    for name, leaf in leaves("result", result):
        if not isinstance(leaf, Symbol):
            raise JobError(f"job {signature.name!r}: {name} is {leaf!r}, which is no tensor")
        builder.output(name, leaf.tensor_in(builder))
    return builder.finish(), result


def _argument(tree: Tree) -> Tree:
    """What the function is given: a list is of a mirrored tensor."""
    match tree:
        case list():
            return MirroredSymbol(tuple(tree))
        case tuple():
            return tuple(map(_argument, tree))
        case _:
            return tree
