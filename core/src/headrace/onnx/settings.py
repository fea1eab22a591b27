"""``ModelSettings``: what the jobs of a model are compiled for, and how."""

from __future__ import annotations

from headrace.compiler.concurrency import Concurrency
from headrace.compiler.memory.options import MemoryOptions
from headrace.light_tuple import NamedTuple
from headrace.placement import Placement
from headrace.registry import BackendRegistry


class ModelSettings(NamedTuple):
    """What was asked for when a model was loaded; the same for each of its jobs.

    Attributes:
        placement: where the model runs.
        registry: where devices come from.
        fallback: what becomes of ops that the device cannot run; None: what the environment says.
        memory: how memory is planned.
        concurrency: how many runs are under way at once, and on how many streams.
    """

    placement: Placement
    registry: BackendRegistry
    fallback: str | None
    memory: MemoryOptions
    concurrency: Concurrency
