"""``load`` and ``Model``: a model file that runs on a device."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import TracebackType

from onnx import ModelProto

from headrace.compiler.decision import PassRun
from headrace.errors import InputError
from headrace.frontend.default_device import default_device
from headrace.frontend.explain import explain_graph
from headrace.frontend.stages import Stage, stages_of
from headrace.graph import JobGraph
from headrace.onnx import limits
from headrace.onnx.explain import ExplainedModel, explain_nodes
from headrace.onnx.jobs import JobCache
from headrace.onnx.read import ModelFile, read_model
from headrace.onnx.signature import (
    check_array,
    check_names,
    check_spec,
    inputs_of,
    outputs_of,
)
from headrace.onnx.specialise import specialise
from headrace.onnx.support import check_support
from headrace.onnx.text import quote
from headrace.placement import Placement
from headrace.plan import Plan
from headrace.registry import BackendRegistry, default_registry
from headrace.tensor_spec import Array, TensorSpec


class Model:
    """A loaded model on a device; made by ``load``. A context manager.

    It may be used from several threads at once. The first run with new shapes compiles a job for
    them; the last ``jobs`` of these are kept.

    Attributes:
        name: of the file, for messages.
        device: where it runs, as ``TAG:INDEX``.
        inputs: what it takes, required inputs first.
        outputs: what it gives.
    """

    def __init__(
        self,
        file: ModelFile,
        placement: Placement,
        registry: BackendRegistry,
        jobs: int,
        fallback: str | None = None,
    ) -> None:
        self.name = file.name
        self.device = f"{placement.tag}:{placement.devices[0][1]}"
        self.inputs = inputs_of(file)
        self.outputs = outputs_of(file)
        self._file = file
        self._placement = placement
        self._registry = registry
        self._fallback = fallback
        self._jobs = JobCache(file, placement, registry, jobs, fallback)

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Run the model once.

        Args:
            feeds: an array for each input, by name; optional inputs may be left out. Any byte
                order and memory layout will do; the dtype must be the input's.

        Returns:
            The outputs by name, in the model's order; arrays of the caller's own.

        Raises:
            InputError: the feeds do not fit the model's inputs.
            ModelError: the model cannot be run with these shapes or values.
            RunError: the run stopped; the model stays usable.
            SessionError: the model was closed.
        """
        infos = check_names(feeds, self.inputs, self.name)
        arrays = {name: check_array(feeds[name], info, self.name) for name, info in infos.items()}
        specs = {name: TensorSpec.of(array) for name, array in arrays.items()}
        with self._jobs.lease(specs, arrays) as leased:
            fed = {name: arrays[name] for name in arrays if name not in leased.fixed}
            return leased.job.run(fed)

    def plan_for(self, feeds: Mapping[str, TensorSpec | Array]) -> Plan:
        """The plan that would run for these inputs; compiles it if need be.

        Args:
            feeds: a spec for each input by name, or an array where its value decides shapes.

        Raises:
            InputError, ModelError, SessionError: as ``run``.
        """
        with self._jobs.lease(*self._specs(feeds)) as leased:
            return leased.job.plan

    def passes_for(self, feeds: Mapping[str, TensorSpec | Array]) -> tuple[PassRun, ...]:
        """The passes of plugins that made the plan for these inputs, in the order they ran.

        Args:
            feeds: as for ``plan_for``.

        Raises:
            InputError, ModelError, SessionError: as ``run``.
        """
        with self._jobs.lease(*self._specs(feeds)) as leased:
            return leased.job.passes

    def explain(self, feeds: Mapping[str, TensorSpec | Array]) -> ExplainedModel:
        """Where each node would run for these inputs, by which kernel and why. Nothing runs.

        Args:
            feeds: as for ``plan_for``.

        Raises:
            InputError, ModelError: as ``run``. What the device cannot run is in the answer.
        """
        job = explain_graph(self._graph(feeds), self._registry, self._fallback)
        return explain_nodes(self._file, self.device, job)

    def stages_for(self, feeds: Mapping[str, TensorSpec | Array]) -> tuple[Stage, ...]:
        """What each stage of compiling the model for these inputs makes. No device is opened.

        Args:
            feeds: as for ``plan_for``.

        Raises:
            InputError, ModelError, DeviceError, UnsupportedError: as compiling it for ``run``.
        """
        return stages_of(self._graph(feeds), self._registry, self._fallback)

    def _graph(self, feeds: Mapping[str, TensorSpec | Array]) -> JobGraph:
        specs, arrays = self._specs(feeds)
        return specialise(self._file, self._placement, specs, arrays, ops=self._registry).graph

    def _specs(
        self, feeds: Mapping[str, TensorSpec | Array]
    ) -> tuple[dict[str, TensorSpec], dict[str, Array]]:
        """The specs of what is fed, and the values as far as they are given."""
        specs: dict[str, TensorSpec] = {}
        arrays: dict[str, Array] = {}
        for name, info in check_names(feeds, self.inputs, self.name).items():
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

    def __enter__(self) -> Model:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        takes = ", ".join(f"{quote(i.name)}: {i}" for i in self.inputs if not i.optional)
        gives = ", ".join(f"{quote(o.name)}: {o}" for o in self.outputs)
        return f"<Model {self.name} on {self.device}: ({takes}) -> ({gives})>"


def load(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | ModelProto,
    device: str | None = None,
    *,
    jobs: int = limits.JOBS,
    registry: BackendRegistry | None = None,
    fallback: str | None = None,
) -> Model:
    """Load an ONNX model onto a device.

    Args:
        source: the path of a model file, its bytes, or a ``ModelProto``. External data is read
            from the folder of the path only, and never through links.
        device: ``TAG`` or ``TAG:INDEX``; None means ``headrace.default_device()``.
        jobs: how many compiled jobs the model keeps, one for each set of input shapes; 1 or more.
        registry: where devices come from; default: the installed plugins.
        fallback: what becomes of ops that the device cannot run: ``error``, ``warn`` or ``allow``;
            None means what ``HEADRACE_FALLBACK`` says, else ``error``.

    Raises:
        InvalidModelError: it is not a model, is damaged, or contradicts itself.
        UnsupportedModelError: it uses something that headrace does not run; all ops that are
            missing are named at once.
        ResourceLimitError: it is larger than a stated limit.
        DeviceError: the device is not there.

    Example:
        ``headrace.onnx.load("model.onnx", device="cpu").run({"x": array})["y"]``
    """
    if jobs < 1:
        raise InputError(f"a model keeps at least 1 compiled job, not {jobs}")
    placement = default_device() if device is None else Placement.of_device(device)
    registry = registry or default_registry()
    registry.check_index(placement.tag, placement.devices[0][1])
    file = read_model(source, {record.tag for record in registry.records()})
    check_support(file, registry)
    return Model(file, placement, registry, jobs, fallback)
