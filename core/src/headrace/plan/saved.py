"""``SavedPlan``: a plan together with what must be known to run it in another process."""

from __future__ import annotations

from headrace.light_dataclass import dataclass
from headrace.light_tuple import NamedTuple
from headrace.plan.model import Plan
from headrace.tensor_spec import TensorSpec


@dataclass(frozen=True, slots=True)
class PassRun:
    """A pass of a plugin that ran over a job.

    Attributes:
        tag: the device that the plugin brings.
        name: of the pass.
        origin: the plugin, for messages: its distribution and version.
        changed: False when the job is as it was.
        ops_before, ops_after: how many ops the job had, on all devices, those left out that nobody
            reads.
    """

    tag: str
    name: str
    origin: str
    changed: bool
    ops_before: int
    ops_after: int

    def __str__(self) -> str:
        did = "left the job as it was"
        if self.changed:
            did = f"changed the job, from {self.ops_before} to {self.ops_after} ops"
        return f"pass {self.name} of {self.origin} (device {self.tag!r}) {did}"


class PluginVersion(NamedTuple):
    """A plugin that a plan was compiled with; empty texts for one that is no package."""

    tag: str
    distribution: str
    version: str

    def __str__(self) -> str:
        return f"{self.distribution or 'a module'} {self.version}".rstrip()


class Versions(NamedTuple):
    """What a plan depends on: it runs where all of it is the same.

    Attributes:
        core: version of headrace; empty when it is not installed.
        api: the contract with backends, (major, minor).
        plugins: of the devices that the plan runs on, sorted by tag.
    """

    core: str
    api: tuple[int, int]
    plugins: tuple[PluginVersion, ...]


class Port(NamedTuple):
    """An input or output of a plan."""

    name: str
    spec: TensorSpec


class Weight(NamedTuple):
    """Where the bytes of an array are.

    Attributes:
        name: of the constant, or of the input.
        spec: shape and dtype; the bytes lie row by row, little end first.
        source: None for the plan's own file, else a position in ``SavedPlan.sources``.
        offset: from the beginning of the weights of the plan's own file, or of the other file.
    """

    name: str
    spec: TensorSpec
    source: int | None
    offset: int


class Source(NamedTuple):
    """A part of a file that holds weights which the plan's own file does not repeat.

    Attributes:
        location: as the model names the file, relative to its folder; empty for the model itself.
        offset, nbytes: the part.
        digest: of the part.
    """

    location: str
    offset: int
    nbytes: int
    digest: bytes


class SavedPlan(NamedTuple):
    """All of a plan file but the bytes of its weights.

    Attributes:
        versions: what it was compiled with.
        inputs, outputs: what is fed and what comes out, in order.
        fixed: inputs of the model whose values became part of the job.
        weights: one for each constant that the plan names.
        sources: files beside the plan's own that weights are in.
        passes: those of plugins that ran, in order.
        plan: what runs.
    """

    versions: Versions
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    fixed: tuple[Weight, ...]
    weights: tuple[Weight, ...]
    sources: tuple[Source, ...]
    passes: tuple[PassRun, ...]
    plan: Plan
