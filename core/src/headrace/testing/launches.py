"""A registry of one backend that counts launches, to tell what was refused before any was made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from headrace.device import Buffer, DeviceContext, Kernel, KernelEntry, Launch, OpCall
from headrace.registry import Backend, BackendRegistry
from headrace.registry.discover import InstalledBackend
from headrace.registry.tables import KernelTable


class CountingRegistry(BackendRegistry):
    """A registry of exactly one backend, whatever the environment says.

    What it gives passed all checks: it counts behind them, so that they see the plugin as it is.

    Attributes:
        launches: how many launches the backend's kernels were asked for.
    """

    def __init__(self, installed: InstalledBackend) -> None:
        super().__init__([installed], allow=[installed.tag], block=())
        self.launches = 0

    def backend(self, tag: str) -> Backend:
        backend = super().backend(tag)
        kernels = backend.kernels
        counted = [self._counted(e) for op in kernels.ops() for e in kernels.entries(op)]
        return replace(backend, kernels=KernelTable(counted))

    def _counted(self, entry: KernelEntry) -> KernelEntry:
        def create(call: OpCall) -> Kernel:
            return _CountedKernel(entry.create(call), self._count)

        return replace(entry, create=create)

    def _count(self) -> None:
        self.launches += 1


class _CountedKernel(Kernel):
    """A kernel of the backend; each launch is told of before it is made."""

    def __init__(self, kernel: Kernel, tell: Callable[[], None]) -> None:
        self._kernel = kernel
        self._tell = tell

    def workspace_bytes(self) -> int:
        return self._kernel.workspace_bytes()

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        launch: object = self._kernel.bind(context, inputs, outputs, workspace)
        if not callable(launch):
            return launch  # type: ignore[return-value]  # for core to refuse

        def counted() -> None:
            self._tell()
            launch()

        return counted
