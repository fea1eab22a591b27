"""``JobMaker``: a job for what is fed, out of the plan cache or compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from headrace.collector import collector_rests
from headrace.errors import PlanError
from headrace.frontend.ready_job import ReadyJob
from headrace.light_tuple import NamedTuple
from headrace.onnx.file import limits
from headrace.onnx.importing.draws import draws_of
from headrace.onnx.importing.guesses import Check
from headrace.onnx.kept import KeptPlans
from headrace.onnx.lazy import LazyFile, ParsedFile
from headrace.onnx.settings import ModelSettings
from headrace.tensor_spec import Array, TensorSpec

if TYPE_CHECKING:
    from headrace.compiler.pipeline import Compiled, Prepared
    from headrace.graph import JobGraph
    from headrace.onnx.file.read import ModelFile
    from headrace.onnx.importing.measure import Measure
    from headrace.onnx.importing.specialise import SpecialisedJob
    from headrace.onnx.jobs import JobCache
    from headrace.onnx.templates import Templates


class MadeJob(NamedTuple):
    """A job that is ready to run; its other fields are those of ``SpecialisedJob``."""

    job: ReadyJob
    fixed: tuple[str, ...]
    then: Measure | None = None
    checks: tuple[Check, ...] = ()
    supposed: Mapping[str, Array] = MappingProxyType({})


class JobMaker:
    """Makes jobs of one model on one placement. Used by one thread at a time."""

    def __init__(
        self,
        file: LazyFile | ParsedFile,
        settings: ModelSettings,
        kept: KeptPlans | None = None,
        most_fixed: int = limits.SPECIALISED_BYTES,
        guesses: bool = False,
    ) -> None:
        self.name = file.name
        self._file = file
        self._settings = settings
        self._kept = kept
        self._most_fixed = most_fixed
        self._guesses = guesses
        self._templates: Templates | None = None

    @collector_rests(lasting=True)
    def make(
        self,
        specs: Mapping[str, TensorSpec],
        arrays: Mapping[str, Array],
        fixed: tuple[str, ...],
        make_room: Callable[[], None],
    ) -> MadeJob:
        """A job that is ready to run.

        Args:
            specs: of every input that is fed, and of what earlier stages found.
            arrays: their values, as far as they are known.
            fixed: inputs known to decide shapes.
            make_room: called before devices are asked for memory.

        Raises:
            ModelError, DeviceError, UnsupportedError: the job cannot be made.
        """
        found = None if self._kept is None else self._kept.find(specs, arrays, self._file.made)
        if found is None or self._kept is None:
            return self._compile(specs, arrays, fixed, make_room)
        make_room()
        try:
            weights = self._file.shared.of(found.constants)
            registry = self._settings.registry
            job = ReadyJob(found.plan, registry, weights, lasting=True, passes=found.passes)
        except PlanError as error:
            self._kept.drop(specs, arrays, error)
            return self._compile(specs, arrays, fixed, make_room)
        return MadeJob(job, found.fixed)

    def _compile(
        self,
        specs: Mapping[str, TensorSpec],
        arrays: Mapping[str, Array],
        fixed: tuple[str, ...],
        make_room: Callable[[], None],
    ) -> MadeJob:
        # Not needed for plans that were kept, and neither is onnx.
        from headrace.frontend.compiled_job import CompiledJob

        _, registry, options = self._settings
        kept = self._kept
        made, given = self._imported(specs, arrays, fixed)
        make_room()
        # Weights are most of the memory. From here on nobody holds those of the file and of the
        # job but who compiles it, so that they are gone when passes have others in their place.
        if made.then is None:
            self._file.let_go()
        graphs = [given]
        del given
        made = made._replace(graph=made.graph.but(ops=(), constants={}))

        def keep(compiled: Compiled) -> None:
            # What is found between stages is computed by code, of which no plan can be kept.
            if kept is not None and made.then is None and not made.continues:
                values = {name: arrays[name] for name in made.fixed}
                kept.keep(specs, made, values, compiled, registry)

        job = CompiledJob(
            graphs.pop,
            registry,
            options,
            keep,
            lasting=True,  # what is in a model file is nobody's to write
            weights=self._file.shared,
        )
        return MadeJob(job, made.fixed, made.then, made.checks, made.supposed)

    def _imported(
        self,
        specs: Mapping[str, TensorSpec],
        arrays: Mapping[str, Array],
        fixed: tuple[str, ...],
    ) -> tuple[SpecialisedJob, JobGraph | Prepared]:
        """The job, and what is compiled: its graph, or what passes have made of it already."""
        from headrace.onnx.importing.specialise import Importing, SpecialisedJob, specialise
        from headrace.onnx.templates import Templates

        placement, registry, _ = self._settings
        templates = None
        if not (fixed or placement.parallel_num > 1):
            templates = self._templates = self._templates or Templates(
                self.name, self._file.shared.one
            )
            found = templates.find(specs) or templates.make(specs, self._prepared)
            if found is not None:
                return SpecialisedJob(found.graph, ()), found
        how = Importing(placement, registry, self._jobs_of_body, self._most_fixed, self._guesses)
        made = specialise(self._file.parsed(), how, specs, arrays, fixed)
        if templates is not None:
            templates.made_as_ever(specs, is_general=_is_general(made))
        return made, made.graph

    def _prepared(self, specs: Mapping[str, TensorSpec]) -> Prepared | None:
        """The job with symbolic sizes, after all passes; see ``Templates.make``."""
        from headrace.compiler.pipeline import prepare
        from headrace.onnx.importing.specialise import Importing, specialise

        placement, registry, _ = self._settings
        made = specialise(self._file.parsed(), Importing(placement, registry), specs, {})
        # Verified is what is filled in: whoever looks at all that there is decides by it.
        return prepare(made.graph, registry, verify=False) if _is_general(made) else None

    def _jobs_of_body(self, body: ModelFile, guesses: bool) -> JobCache:
        """Where the jobs of a loop's body are kept. Of what it is fed, only counters are fixed."""
        from headrace.onnx.jobs import JobCache

        maker = JobMaker(
            ParsedFile(body),
            self._settings,
            most_fixed=limits.UNROLLED_BYTES,
            guesses=guesses,
        )
        return JobCache(maker, limits.BODY_JOBS)


def _is_general(made: SpecialisedJob) -> bool:
    """Whether a job is made for shapes alone, and is all that the model runs."""
    depends = made.fixed or made.continues or made.checks or made.then is not None
    return not depends and not draws_of(tensor.name for tensor in made.graph.inputs)
