"""``ModelSettings``: what the jobs of a model are compiled for, and how."""

from __future__ import annotations

from headrace.frontend.compile_options import CompileOptions
from headrace.light_tuple import NamedTuple
from headrace.placement import Placement
from headrace.registry import BackendRegistry


class ModelSettings(NamedTuple):
    """What was asked for when a model was loaded; the same for each of its jobs.

    Attributes:
        placement: where the model runs.
        registry: where devices come from.
        options: how they are compiled.
    """

    placement: Placement
    registry: BackendRegistry
    options: CompileOptions
