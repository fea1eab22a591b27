"""``FunctionConfig``: how a job is compiled. Every field does something."""

from __future__ import annotations

from typing import NoReturn

from headrace.compiler.concurrency import Concurrency
from headrace.compiler.memory.options import MemoryOptions
from headrace.errors import JobError
from headrace.frontend.compile_options import CompileOptions
from headrace.frontend.concurrency_options import concurrency_of
from headrace.frontend.memory_options import memory_options_of
from headrace.frontend.scope import LogicalView, PlacementScope, ViewScope
from headrace.placement import Placement


class FunctionConfig:
    """Settings of a job; give it to ``global_function``.

    Attributes:
        placement: where ops run that no scope places; None means ``headrace.default_device()``
            when the job is compiled.
        fallback: what becomes of ops that their device cannot run: ``error``, ``warn`` or
            ``allow``; None means what ``HEADRACE_FALLBACK`` says, else ``error``.
        logical_view: whether a tensor is one, or one on each device, where no scope says so.
        enable_inplace: outputs may lie on the memory of inputs; None means what
            ``HEADRACE_ENABLE_INPLACE`` says, else that they may.
        enable_reuse_mem: tensors that are not needed at the same time may lie on the same memory;
            None means what ``HEADRACE_ENABLE_REUSE_MEM`` says, else that they may. Of jobs that
            are compiled together, one that says no to either speaks for all.
        concurrency_width: how many calls of the job may be under way at once; who starts one more
            waits until one is over. 1, as it is by default, lets calls follow each other and needs
            memory for one. From 2 on, what goes from stream to stream has memory for two calls, so
            that copies of one overlap with the work of another, and calls run on threads of the
            streams even where they could run on the caller's.
        compute_streams: over how many streams of its device the ops of the job are spread, so that
            branches that do not wait for each other are worked on side by side. 1 by default; more
            also lets calls run on threads of the streams.

    Example:
        >>> from headrace.frontend.scope import placement
        >>> config = FunctionConfig()
        >>> config.default_placement_scope(placement("cpu", "0:0"))
        >>> print(config.placement)
        cpu 0:0
    """

    __slots__ = (
        "compute_streams",
        "concurrency_width",
        "enable_inplace",
        "enable_reuse_mem",
        "fallback",
        "logical_view",
        "placement",
    )

    def __init__(self) -> None:
        self.placement: Placement | None = None
        self.fallback: str | None = None
        self.logical_view = LogicalView.CONSISTENT
        self.enable_inplace: bool | None = None
        self.enable_reuse_mem: bool | None = None
        self.concurrency_width = 1
        self.compute_streams = 1

    @property
    def memory(self) -> MemoryOptions:
        """What may be done to save memory.

        Raises:
            JobError: an option is neither True, False nor None.
            SettingError: a variable of the environment is neither 0 nor 1.
        """
        return memory_options_of(self.enable_inplace, self.enable_reuse_mem)

    @property
    def concurrency(self) -> Concurrency:
        """What may happen at once.

        Raises:
            JobError: the number of calls or of streams is none.
        """
        return concurrency_of(self.concurrency_width, self.compute_streams)

    @property
    def options(self) -> CompileOptions:
        """How the job is compiled; raises as ``memory`` and ``concurrency``."""
        return CompileOptions(self.fallback, self.memory, self.concurrency)

    def default_placement_scope(self, scope: PlacementScope) -> None:
        """Place the job's ops where no ``with scope.placement(...)`` says otherwise.

        Raises:
            JobError: ``scope`` is no placement scope.
        """
        if not isinstance(scope, PlacementScope):
            raise JobError(
                f"default_placement_scope was given {scope!r}; give it a scope, for example "
                "headrace.scope.placement('cpu', '0:0')"
            )
        self.placement = scope.placement

    def default_logical_view(self, scope: ViewScope) -> None:
        """Take the view of the job's tensors where no ``with scope.mirrored_view()`` does.

        Raises:
            JobError: ``scope`` is no view.
        """
        if not isinstance(scope, ViewScope):
            raise JobError(
                f"default_logical_view was given {scope!r}; give it headrace.scope.mirrored_view() "
                "or headrace.scope.consistent_view()"
            )
        self.logical_view = scope.view

    def __getattr__(self, name: str) -> NoReturn:
        known = ", ".join(n for n in dir(type(self)) if not n.startswith("_"))
        raise AttributeError(f"FunctionConfig has no {name!r}; it has {known}")

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self.__slots__:
            fields = ", ".join(self.__slots__)
            raise AttributeError(f"FunctionConfig has no field {name!r}; its fields are {fields}")
        super().__setattr__(name, value)
