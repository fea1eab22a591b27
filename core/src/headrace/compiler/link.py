"""Linking: which jobs a plan holds, beside those of the user, and whether they agree.

Each variable brings three jobs of its own. They are for one variable each, and not for all as in
OneFlow's first version, so that what they need on the way is as large as the largest variable and
not as the model, and so that any of them can be loaded alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from headrace.compiler.concurrency import ONE_AT_A_TIME, Concurrency
from headrace.compiler.op_graph import OpGraph
from headrace.device import KernelEntry
from headrace.errors import DeviceError, VariableError
from headrace.graph import JobGraph, JobGraphBuilder, Variable
from headrace.ids import HOST_TAG
from headrace.light_dataclass import dataclass
from headrace.placement import Placement
from headrace.plan import JobKind
from headrace.registry.registry import BackendRegistry

SYSTEM_NAMES = {
    JobKind.INIT: "System-ModelInit-",
    JobKind.LOAD: "System-ModelLoad-",
    JobKind.SAVE: "System-ModelSave-",
}


@dataclass(frozen=True, slots=True, eq=False)
class LinkedJob:
    """A job that can be called.

    Attributes:
        graph: what it computes, and how each tensor lies.
        kernels: what makes the kernel of each of its ops, by the op's name.
        kind: whose it is.
        scope: put before the names of its tensors and tasks, which must be unique in the plan.
        concurrency: how much of it may happen at once.
    """

    graph: OpGraph
    kernels: Mapping[str, KernelEntry]
    kind: JobKind = JobKind.USER
    scope: str = ""
    concurrency: Concurrency = ONE_AT_A_TIME


def agreed_variables(graphs: Sequence[JobGraph]) -> tuple[Variable, ...]:
    """The variables of jobs that are compiled together, in the order in which they are first named.

    OneFlow's check ``FilterOpName2ParallelBlobConf``, which ends the process there.

    Raises:
        VariableError: two jobs do not say the same of a variable; names the variable, both jobs and
            what each says.
    """
    first: dict[str, tuple[str, Variable]] = {}
    for graph in graphs:
        for part in graph.variables:
            name = part.variable.name
            job, variable = first.setdefault(name, (graph.name, part.variable))
            for what, there, here in variable.differences(part.variable):
                raise VariableError(
                    f"variable {name!r}: job {job!r} has it with {what} {there}, and job "
                    f"{graph.name!r} with {what} {here}; variables of one name are one variable of "
                    "the session, so let both say the same, or give one of them another name"
                )
    return tuple(variable for _, variable in first.values())


def system_jobs(
    variables: Sequence[Variable], registry: BackendRegistry
) -> Iterator[tuple[JobKind, JobGraph]]:
    """The jobs that begin, load and save each variable; not yet rewritten."""
    for variable in variables:
        place = _where_parts_meet(variable, registry)
        for kind, prefix in SYSTEM_NAMES.items():
            builder = JobGraphBuilder(f"{prefix}{variable.name}", place)
            if kind is JobKind.SAVE:
                builder.output(variable.name, builder.variable(variable))
            else:
                value = builder.input(variable.name, variable.spec)
                builder.update(builder.variable(variable), value)
            yield kind, builder.finish()


def _where_parts_meet(variable: Variable, registry: BackendRegistry) -> Placement:
    """Where the whole of a variable is put together and taken apart, if it has several parts.

    On the host, where it goes to or comes from; if that runs no ops, on the variable's first
    device.
    """
    if variable.placement.parallel_num > 1:
        try:
            registry.backend(HOST_TAG)
        except DeviceError:
            return variable.placement
    return Placement.of_device(HOST_TAG)
