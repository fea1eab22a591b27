"""``load_plan`` and ``LoadedPlan``: a plan file, ready to run in a process that did not make it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from headrace.collector import collector_rests
from headrace.errors import DeviceUnavailableError, InputError, PlanError
from headrace.frontend import checkpoint
from headrace.frontend.closing import Closing
from headrace.frontend.feeds import as_feed
from headrace.frontend.future import Future
from headrace.frontend.plan_file import PlanFile, read_plan_file
from headrace.frontend.ready_job import ReadyJob
from headrace.frontend.versions import check_versions, devices_of, versions_for
from headrace.plan import Plan, check
from headrace.registry.registry import BackendRegistry, default_registry
from headrace.tensor_spec import Array, TensorSpec


class LoadedPlan(Closing):
    """A job out of a plan file, on its devices. A context manager; may be used from any thread.

    Its variables begin as their initializers say, and keep what calls give them until it is closed.

    Attributes:
        name: of the file, for messages.
        plan: what runs.
        inputs, outputs: what it takes and gives, in order.
        fixed: inputs of the model whose values became part of the plan. They need not be fed.
    """

    def __init__(self, name: str, file: PlanFile, registry: BackendRegistry) -> None:
        self.name = name
        self.plan: Plan = file.saved.plan
        self.inputs: Mapping[str, TensorSpec] = {p.name: p.spec for p in file.saved.inputs}
        self.outputs: Mapping[str, TensorSpec] = {p.name: p.spec for p in file.saved.outputs}
        self.fixed: Mapping[str, Array] = file.fixed
        self._job = ReadyJob(
            self.plan, registry, file.weights, lasting=True, passes=file.saved.passes
        )
        for variable in self._job.variables:
            self._job.initialize_variable(variable)

    @property
    def devices(self) -> tuple[str, ...]:
        """Where it runs, as ``TAG:INDEX``."""
        return tuple(f"{tag}:{index}" for tag, index in devices_of(self.plan))

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Run once.

        Args:
            feeds: an array for each input, by name, of the dtype and shape that it was compiled
                for.

        Returns:
            The outputs by name, in order; arrays of the caller's own.

        Raises:
            InputError: the feeds do not fit, or an input that became part of the plan is fed
                another value.
            RunError: the run stopped; the plan stays usable.
            SessionError: the plan was closed.
        """
        return self._job.run(self._feeds(feeds))

    def submit(self, feeds: Mapping[str, Array]) -> Future[dict[str, Array]]:
        """Start a run and return while it is under way; what was fed may be changed then.

        Blocks while as many are under way as the plan was compiled for.

        Args:
            feeds: as for ``run``.

        Raises:
            InputError, SessionError: as ``run``. That it stopped is raised by ``Future.result``.
        """
        call = self._job.submit(self._feeds(feeds))
        return Future(call, lambda made: {name: made[name] for name in self.outputs})

    def load_variables(self, values: Mapping[str, object], ignore_mismatch: bool = False) -> None:
        """Give variables other values than those that their initializers gave them.

        Each takes its value when the calls that began before are over; no other thread should begin
        any meanwhile, as it would find some variables new and others old.

        Args:
            values: arrays by the names of variables, as ``headrace.checkpoint.get`` returns them.
            ignore_mismatch: as for ``Session.load_variables``.

        Raises:
            CheckpointError: names, shapes or dtypes do not fit; then nothing was loaded.
            RunError: a device failed; some variables may have their new value already.
            SessionError: the plan was closed.
        """
        specs = {name: desc.variable.spec for name, desc in self._job.variables.items()}
        for name, value in checkpoint.fit(values, specs, ignore_mismatch).items():
            self._job.load_variable(name, value)

    def get_all_variables(self) -> dict[str, Array]:
        """What each variable holds, by name; raises as ``load_variables``, and no other thread
        should begin calls meanwhile.
        """
        return {name: self._job.save_variable(name) for name in self._job.variables}

    def _feeds(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        known = [*self.inputs, *self.fixed]
        missing = [name for name in self.inputs if name not in feeds]
        extra = [name for name in feeds if name not in known]
        if missing or extra:
            wrong = [f"no input is called {name!r}" for name in extra]
            wrong += [f"input {name!r} was not given" for name in missing]
            takes = ", ".join(f"{name!r}: {spec}" for name, spec in self.inputs.items()) or "none"
            raise InputError(f"{self.name}: {'; '.join(wrong)}; its inputs are {takes}")
        for name, value in self.fixed.items():
            if name in feeds:
                self._check_fixed(name, feeds[name], value)
        return {name: self._feed(name, feeds[name]) for name in self.inputs}

    def _feed(self, name: str, value: object) -> Array:
        return as_feed(f"{self.name}: input {name!r}", value, self.inputs[name])

    def _check_fixed(self, name: str, given: object, value: Array) -> None:
        fed = as_feed(f"{self.name}: input {name!r}", given, TensorSpec.of(value))
        if fed.tobytes() != value.tobytes():
            raise InputError(
                f"{self.name}: input {name!r} decided shapes when the plan was compiled, for the "
                f"value {np.array2string(value, threshold=8)}; compile one for the other value"
            )

    def close(self) -> None:
        """Give back devices and memory, when runs under way are over. Idempotent."""
        self._job.drain()
        self._job.close()

    def __repr__(self) -> str:
        takes = ", ".join(f"{name!r}: {spec}" for name, spec in self.inputs.items())
        gives = ", ".join(f"{name!r}: {spec}" for name, spec in self.outputs.items())
        return f"<LoadedPlan {self.name} on {', '.join(self.devices)}: ({takes}) -> ({gives})>"


@collector_rests(lasting=True)
def load_plan(
    path: str | os.PathLike[str], *, registry: BackendRegistry | None = None
) -> LoadedPlan:
    """Make ready what ``Session.save_plan``, ``Model.save_plan`` or ``headrace compile`` wrote.

    It runs on the devices that it was compiled for. Neither the model nor the package onnx is
    needed. Weights are mapped, not read: do not write to the file while the plan is open.

    Args:
        path: the file.
        registry: where devices come from; default: the installed plugins.

    Raises:
        PlanError: it is no plan file, is damaged, was compiled with another version of headrace or
            of a plugin, or names a kernel or a weight that is not there.
        DeviceUnavailableError: a device of the plan cannot be had.
        DeviceError: a device cannot be used, or has not enough memory.
    """
    registry = registry or default_registry()
    file = read_plan_file(path)
    plan = file.saved.plan
    with _about(path):
        check(plan)
        for tag, index in devices_of(plan):
            registry.check_index(tag, index)
        check_versions(file.saved.versions, versions_for(plan, registry))
        return LoadedPlan(Path(path).name, file, registry)


@contextmanager
def _about(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors say which file they are about."""
    try:
        yield
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from error
    except DeviceUnavailableError as error:
        error.args = (f"{path}: was compiled for a device that cannot be had: {error}",)
        raise
