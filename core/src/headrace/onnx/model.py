"""``load`` and ``Model``: a model file that runs on a device.

A model whose plans were kept by an earlier process runs without the compiler and without a look
into the file. Functions that need the compiler, or the package onnx, import them when they are
called: that takes longer than all the rest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.errors import InputError, SessionError, UnsupportedModelError
from headrace.frontend.closing import Closing
from headrace.frontend.compile_options import CompileOptions
from headrace.frontend.concurrency_options import concurrency_of
from headrace.frontend.default_device import default_device
from headrace.frontend.future import Future
from headrace.frontend.gate import Visit
from headrace.frontend.memory_options import memory_options_of
from headrace.frontend.plan_cache import plan_store
from headrace.onnx.file.source import open_model
from headrace.onnx.file.text import quote
from headrace.onnx.importing.draws import draw
from headrace.onnx.jobs import JobCache, LeasedJob
from headrace.onnx.kept import KeptPlans
from headrace.onnx.lazy import LazyFile
from headrace.onnx.make_job import JobMaker
from headrace.onnx.settings import ModelSettings
from headrace.onnx.signature import TensorInfo, check_array, check_names, check_spec
from headrace.placement import Placement
from headrace.plan import Plan
from headrace.plan.saved import PassRun
from headrace.registry import BackendRegistry, default_registry
from headrace.tensor_spec import Array, TensorSpec

if TYPE_CHECKING:
    from onnx import ModelProto

    from headrace.frontend.stages import Stage
    from headrace.frontend.trace import Trace
    from headrace.graph import JobGraph
    from headrace.onnx.explain import ExplainedModel
    from headrace.onnx.importing.measure import Measure
    from headrace.onnx.importing.specialise import SpecialisedJob


class Model(Closing):
    """A loaded model on a device; made by ``load``. A context manager.

    It may be used from several threads at once. The first run with new shapes compiles a job for
    them; the last ``jobs`` of these are kept. Where shapes depend on what is computed (which boxes
    are left, how many numbers are not zero), a run is one of several jobs, one after another, with
    the host between them.

    Attributes:
        name: of the file, for messages.
        device: where it runs, as ``TAG:INDEX`` or ``TAG:FIRST-LAST``.
        inputs: what it takes, required inputs first.
        outputs: what it gives.
    """

    def __init__(
        self,
        file: LazyFile,
        inputs: tuple[TensorInfo, ...],
        outputs: tuple[TensorInfo, ...],
        settings: ModelSettings,
        jobs: int | None,
        kept: KeptPlans | None = None,
    ) -> None:
        self.name = file.name
        self.device = settings.placement.name
        self.inputs = inputs
        self.outputs = outputs
        self._takes = inputs  # of the device's job: a model with hosted values says others to users
        self._file = file
        self._settings = settings
        self._jobs = JobCache(JobMaker(file, settings, kept), jobs)

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Run the model once.

        Args:
            feeds: an array for each input, by name; optional inputs may be left out. Any byte
                order and memory layout will do; the dtype must be the input's.

        Returns:
            The outputs by name, in the model's order, one that is listed twice at its first place;
            arrays of the caller's own.

        Raises:
            InputError: the feeds do not fit the model's inputs.
            ModelError: the model cannot be run with these shapes or values.
            RunError: the run stopped; the model stays usable.
            SessionError: the model was closed.
        """
        last = self._jobs.last_for(feeds)
        if last is not None:
            try:
                return last.job.run(feeds)
            except SessionError:
                if not last.dropped:
                    raise
            finally:
                if last.dropped:
                    self._jobs.close_dropped()
        visit = Visit()
        with visit:
            leased, fed = self._last_stage(feeds, visit)
            try:
                return leased.job.run(fed)
            finally:
                leased.leave(visit)

    def submit(self, feeds: Mapping[str, Array]) -> Future[dict[str, Array]]:
        """Start a run and return while it is under way; what was fed may be changed then.

        Blocks while as many runs with these shapes are under way as ``concurrency_width`` says.
        Where runs are on the caller's thread, which is so on ``cpu`` with a width of 1, it is over
        on return. Of a model that runs in stages, all but the last are over.

        Args:
            feeds: as for ``run``.

        Raises:
            InputError, ModelError, SessionError: as ``run``. That it stopped is raised by
                ``Future.result``.
        """
        names = [info.name for info in self.outputs]
        return self._submitted(feeds, lambda made: {name: made[name] for name in names})

    def _submitted(
        self, feeds: Mapping[str, Array], finish: Callable[[Mapping[str, Array]], dict[str, Array]]
    ) -> Future[dict[str, Array]]:
        visit = Visit()
        with visit:
            leased, fed = self._last_stage(feeds, visit)
            try:
                call = leased.job.submit(fed)
            finally:
                leased.leave(visit)
        return Future(call, finish)

    def _last_stage(
        self, feeds: Mapping[str, Array], visit: Visit
    ) -> tuple[LeasedJob, dict[str, Array]]:
        """The job that gives the results, and what is fed to it; stages before it are run."""
        first = self._jobs.lease_again(feeds, visit) if type(feeds) is dict else None
        arrays = feeds if first else self._arrays(feeds)
        return self._jobs.last_stage(arrays, visit, first)

    def _arrays(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """What is fed to the device, checked."""
        infos = check_names(feeds, self._takes, self.name)
        return {name: check_array(feeds[name], info, self.name) for name, info in infos.items()}

    def prepare(self, feeds: Mapping[str, TensorSpec | Array]) -> None:
        """Compile what a run with these inputs begins with, if need be, so that it is ready.

        That is all of the run, but of a model that runs in stages only the first of them.

        Args:
            feeds: a spec for each input by name, or an array where its value decides shapes.

        Raises:
            InputError, ModelError, SessionError: as ``run``.

        Example:
            ``model.prepare({"x": headrace.TensorSpec((1, 3), "float32")})``
        """
        visit = Visit()
        with visit:
            self._jobs.lease(*self._specs(feeds), visit).leave(visit)

    def plan_for(self, feeds: Mapping[str, TensorSpec | Array]) -> Plan:
        """The plan that would run for these inputs; compiles it if need be.

        Args:
            feeds: as for ``prepare``.

        Raises:
            InputError, ModelError, SessionError: as ``run``.
            UnsupportedModelError: it runs in stages.
        """
        with self._lease_only(feeds) as leased:
            return leased.job.plan

    def passes_for(self, feeds: Mapping[str, TensorSpec | Array]) -> tuple[PassRun, ...]:
        """The passes of plugins that made the plan for these inputs, in the order they ran.

        Args:
            feeds: as for ``plan_for``.

        Raises:
            InputError, ModelError, SessionError: as ``run``.
        """
        with self._lease_only(feeds) as leased:
            return leased.job.passes

    def save_plan(
        self, path: str | os.PathLike[str], feeds: Mapping[str, TensorSpec | Array]
    ) -> None:
        """Compile the model into a file that ``headrace.load_plan`` makes ready in any process.

        That needs neither the model nor the package onnx. No device is opened. Random numbers that
        the model draws without a seed are inputs of the plan, named by their distribution.

        Args:
            path: where to; what is there is replaced, whole or not at all.
            feeds: as for ``plan_for``: the file is for inputs of these shapes. An input whose value
                decides shapes is needed as an array; its value becomes part of the file.

        Raises:
            InputError, ModelError: as ``run``.
            UnsupportedError, DeviceError: it cannot be compiled.
            PlanError: the file cannot be written.
        """
        from headrace.frontend.save_plan import save_plan

        specs, arrays = self._specs(feeds)
        made = self._specialised(specs, arrays)
        fixed = {name: arrays[name] for name in made.fixed}
        _, registry, options = self._settings
        save_plan(path, made.graph, registry, options, fixed)

    def explain(self, feeds: Mapping[str, TensorSpec | Array]) -> ExplainedModel:
        """Where each node would run for these inputs, by which kernel and why. Nothing runs.

        Args:
            feeds: as for ``plan_for``.

        Raises:
            InputError, ModelError: as ``run``. What the device cannot run is in the answer.
        """
        from headrace.frontend.explain import explain_graph
        from headrace.onnx.explain import explain_nodes

        job = explain_graph(*self._compiled_with(feeds))
        return explain_nodes(self._file.parsed(), self.device, job)

    def stages_for(self, feeds: Mapping[str, TensorSpec | Array]) -> tuple[Stage, ...]:
        """What each stage of compiling the model for these inputs makes. No device is opened.

        Args:
            feeds: as for ``plan_for``.

        Raises:
            InputError, ModelError, DeviceError, UnsupportedError: as compiling it for ``run``.
        """
        from headrace.frontend.stages import stages_of

        return stages_of(*self._compiled_with(feeds))

    def plan_page(self, feeds: Mapping[str, TensorSpec | Array]) -> str:
        """The plan for these inputs as one HTML document: ops, streams, memory.

        It needs no network and no other file. No device is opened; equal models and inputs give
        equal texts.

        Args:
            feeds: as for ``plan_for``.

        Raises:
            InputError, ModelError, DeviceError, UnsupportedError: as compiling it for ``run``.

        Example:
            ``Path("plan.html").write_text(model.plan_page({"x": array}), "utf-8")``
        """
        from headrace.frontend.plan_page import plan_page

        return plan_page(*self._compiled_with(feeds))

    def trace(
        self,
        feeds: Mapping[str, Array],
        calls: int = 1,
        *,
        after_each: Callable[[], object] = lambda: None,
    ) -> Trace:
        """Run the model once to warm up, then record when each task of ``calls`` runs was done.

        Args:
            feeds: as for ``run``; fed in every call.
            calls: how many are recorded.
            after_each: called when a run is over.

        Raises:
            InputError, ModelError, RunError, DeviceError, UnsupportedError: as ``run``.

        Example:
            ``model.trace({"x": array}, calls=10).save_page(Path("timeline.html"))``
        """
        from headrace.frontend.trace import record_job

        specs, arrays = self._specs(feeds)
        made = self._specialised(specs, arrays)
        fed = {name: array for name, array in arrays.items() if name not in made.fixed}
        draw((tensor.name for tensor in made.graph.inputs), fed)
        _, registry, options = self._settings
        return record_job(made.graph, registry, fed, calls, options=options, after_each=after_each)

    def _compiled_with(
        self, feeds: Mapping[str, TensorSpec | Array]
    ) -> tuple[JobGraph, BackendRegistry, CompileOptions]:
        graph = self._specialised(*self._specs(feeds)).graph
        return graph, self._settings.registry, self._settings.options

    def _specialised(
        self, specs: Mapping[str, TensorSpec], arrays: Mapping[str, Array]
    ) -> SpecialisedJob:
        from headrace.onnx.importing.specialise import Importing, specialise

        placement, registry, _ = self._settings
        made = specialise(self._file.parsed(), Importing(placement, registry), specs, arrays)
        self._check_is_one(made.then)
        return made

    @contextmanager
    def _lease_only(self, feeds: Mapping[str, TensorSpec | Array]) -> Iterator[LeasedJob]:
        """The job for what is fed, of a model that is one; it stays open within the block.

        Raises:
            UnsupportedModelError: it runs in stages.
        """
        visit = Visit()
        with visit:
            leased = self._jobs.lease(*self._specs(feeds), visit)
            try:
                self._check_is_one(leased.then)
                yield leased
            finally:
                leased.leave(visit)

    def _check_is_one(self, then: Measure | None) -> None:
        if then is not None:
            raise UnsupportedModelError(
                f"{then.why}: what is computed there decides shapes, so the model runs in stages, "
                "of which only the first can be compiled before it has run; `headrace run`, "
                "`Model.run` and `Model.submit` run it"
            )

    def _specs(
        self, feeds: Mapping[str, TensorSpec | Array]
    ) -> tuple[dict[str, TensorSpec], dict[str, Array]]:
        """The specs of what is fed, and the values as far as they are given."""
        specs: dict[str, TensorSpec] = {}
        arrays: dict[str, Array] = {}
        for name, info in check_names(feeds, self._takes, self.name).items():
            value = feeds[name]
            if isinstance(value, TensorSpec):
                check_spec(value, info, self.name)
                specs[name] = value
            else:
                arrays[name] = check_array(value, info, self.name)
                specs[name] = TensorSpec.of(arrays[name])
        return specs, arrays

    def close(self) -> None:
        """Give back devices and memory. Idempotent; runs under way end first."""
        self._jobs.close()

    def __repr__(self) -> str:
        takes = ", ".join(f"{quote(i.name)}: {i}" for i in self.inputs if not i.optional)
        gives = ", ".join(f"{quote(o.name)}: {o}" for o in self.outputs)
        return f"<Model {self.name} on {self.device}: ({takes}) -> ({gives})>"


Signature = tuple[tuple[TensorInfo, ...], tuple[TensorInfo, ...]]
"""The inputs and the outputs of a model."""


def load(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | ModelProto,
    device: str | None = None,
    *,
    jobs: int | None = None,
    registry: BackendRegistry | None = None,
    fallback: str | None = None,
    enable_inplace: bool | None = None,
    enable_reuse_mem: bool | None = None,
    plan_cache: bool = True,
    concurrency_width: int = 1,
    compute_streams: int = 1,
) -> Model:
    """Load an ONNX model onto a device.

    Args:
        source: the path of a model file, its bytes, or a ``ModelProto``. External data is read
            from the folder of the path only, and never through links.
        device: ``TAG``, ``TAG:INDEX``, or ``TAG:FIRST-LAST`` for several, which share the batch:
            the first axis of every input is split over them, where it is long enough, and weights
            are on each. None means ``headrace.default_device()``.
        jobs: how many compiled jobs the model keeps, one for each set of input shapes; 1 or more.
            Of a model that runs in stages, all those of one run count as one. None: 16, and up to
            128 as long as they hold no more than 256 MiB together, weights apart that all share.
        registry: where devices come from; default: the installed plugins.
        fallback: what becomes of ops that the device cannot run: ``error``, ``warn`` or ``allow``;
            None means what ``HEADRACE_FALLBACK`` says, else ``error``.
        enable_inplace, enable_reuse_mem: as in ``FunctionConfig``.
        plan_cache: keep plans of a model that is given by its path, for the next process that loads
            it, and use those that were kept; ``HEADRACE_PLAN_CACHE=0`` does neither.
        concurrency_width, compute_streams: as in ``FunctionConfig``; the width is for each set of
            input shapes.

    Raises:
        InvalidModelError: it is not a model, is damaged, or contradicts itself.
        UnsupportedModelError: it uses something that headrace does not run; all ops that are
            missing are named at once.
        ResourceLimitError: it is larger than a stated limit.
        DeviceError: the device is not there.
        PlacementError: ``device`` is no device's text.
        InputError: ``jobs`` is less than 1.
        JobError, SettingError: another argument, or a variable, has a value that it cannot have.

    Example:
        ``headrace.onnx.load("model.onnx", device="cpu").run({"x": array})["y"]``
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"a model keeps at least 1 compiled job, not {jobs}")
    placement = default_device() if device is None else Placement.of_devices(device)
    registry = registry or default_registry()
    for _, index in placement.devices:
        registry.check_index(placement.tag, index)
    settings = ModelSettings(
        placement,
        registry,
        CompileOptions(
            fallback,
            memory_options_of(enable_inplace, enable_reuse_mem),
            concurrency_of(concurrency_width, compute_streams),
        ),
    )
    given = open_model(source)
    kept = KeptPlans.of(given, settings, plan_store() if plan_cache else None)
    file = LazyFile(given, registry)
    try:
        inputs, outputs = _signature(file, kept)
    except UnsupportedModelError as error:
        from headrace.onnx.file.hosted_error import HostedValuesError

        if not isinstance(error, HostedValuesError):
            raise
    else:
        return Model(file, inputs, outputs, settings, jobs, kept)
    # Out of reach of the error, which holds what was read until then.
    from headrace.onnx.hosted.model import HostedModel

    return HostedModel.of(given, settings, jobs)


def _signature(file: LazyFile, kept: KeptPlans | None) -> Signature:
    """What the model takes and gives: as it was kept, else as the file says, which then is kept."""
    if kept is not None and kept.inputs is not None and kept.outputs is not None:
        return kept.inputs, kept.outputs
    parsed = file.parsed()
    from headrace.onnx.declared import inputs_of, outputs_of

    inputs, outputs = inputs_of(parsed), outputs_of(parsed)
    if kept is not None:
        kept.keep_model(parsed, inputs, outputs)
    return inputs, outputs
