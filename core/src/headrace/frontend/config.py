"""``FunctionConfig``: how a job is compiled. Every field does something."""

from __future__ import annotations

from typing import NoReturn

from headrace.compiler.memory.options import MemoryOptions
from headrace.frontend.memory_options import memory_options_of
from headrace.frontend.scope import PlacementScope
from headrace.placement import Placement


class FunctionConfig:
    """Settings of a job; give it to ``global_function``.

    Attributes:
        placement: where ops run that no scope places; None means ``headrace.default_device()``
            when the job is compiled.
        fallback: what becomes of ops that their device cannot run: ``error``, ``warn`` or
            ``allow``; None means what ``HEADRACE_FALLBACK`` says, else ``error``.
        enable_inplace: outputs may lie on the memory of inputs; None means what
            ``HEADRACE_ENABLE_INPLACE`` says, else that they may.
        enable_reuse_mem: tensors that are not needed at the same time may lie on the same memory;
            None means what ``HEADRACE_ENABLE_REUSE_MEM`` says, else that they may. Of jobs that
            are compiled together, one that says no to either speaks for all.

    Example:
        >>> from headrace.frontend.scope import placement
        >>> config = FunctionConfig()
        >>> config.default_placement_scope(placement("cpu", "0:0"))
        >>> print(config.placement)
        cpu 0:0
    """

    # A field that does not exist cannot be set either.
    __slots__ = ("enable_inplace", "enable_reuse_mem", "fallback", "placement")

    def __init__(self) -> None:
        self.placement: Placement | None = None
        self.fallback: str | None = None
        self.enable_inplace: bool | None = None
        self.enable_reuse_mem: bool | None = None

    @property
    def memory(self) -> MemoryOptions:
        """What may be done to save memory.

        Raises:
            JobError: a variable of the environment is neither 0 nor 1.
        """
        return memory_options_of(self.enable_inplace, self.enable_reuse_mem)

    def default_placement_scope(self, scope: PlacementScope) -> None:
        """Place the job's ops where no ``with scope.placement(...)`` says otherwise."""
        self.placement = scope.placement

    def __getattr__(self, name: str) -> NoReturn:
        fields = ", ".join(n for n in dir(type(self)) if not n.startswith("_"))
        raise AttributeError(f"FunctionConfig has no field {name!r}; it has {fields}")
