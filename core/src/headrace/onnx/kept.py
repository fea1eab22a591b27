"""``KeptPlans``: what of a model is kept on disk, and how the next process finds it.

Of a model a note is kept, which says what it takes and gives and which other files it reads, and a
plan for each set of input shapes. Their keys are digests of the model's bytes and name, of the
placement and the options, of the code and settings that plans depend on (``identity_of``), and,
for a plan, of the other files, the shapes, and the values of inputs that are part of it. Which
inputs these are is learnt by compiling; a note under the key without them says so.

Weights that are in the model's files are not stored a second time: a plan says where they lie in
bytes that the key vouches for. Only what the compiler made (folded, cast) is in the plan's file,
and of the plans that one process keeps, or finds, in the file of the first: the others say so.

Models that are given as bytes are not kept: who decrypts a model in memory wants no trace of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.compiler.decision import Fallback, How
from headrace.digest import digest_of
from headrace.dtypes import dtype_of
from headrace.errors import HeadraceError, InvalidModelError, PlanError
from headrace.frontend.fallback import fallback_of
from headrace.frontend.plan_cache import PlanStore, identity_of
from headrace.frontend.plan_file import WeightPacker, array_in
from headrace.graph.constants import MadeConstants
from headrace.ids import HOST_TAG
from headrace.light_tuple import NamedTuple
from headrace.onnx.file import limits
from headrace.onnx.file.content import Content, Extent, PartContent
from headrace.onnx.file.source import GivenModel
from headrace.onnx.placed_weights import PlacedWeights
from headrace.onnx.settings import ModelSettings
from headrace.onnx.signature import TensorInfo
from headrace.plan import Plan
from headrace.plan.saved import PassRun, Source, Weight
from headrace.registry import BackendRegistry
from headrace.tensor_spec import Array, TensorSpec

if TYPE_CHECKING:
    from headrace.compiler.pipeline import Compiled
    from headrace.onnx.file.read import ModelFile
    from headrace.onnx.file.stored import StoredBytes
    from headrace.onnx.importing.specialise import SpecialisedJob

_FORMAT = 3


class KeptPlan(NamedTuple):
    """A plan from an earlier process.

    Attributes:
        plan: what runs.
        constants: values of its weights; nobody writes to them.
        fixed: inputs of the model that are part of it.
        passes: those of plugins that ran.
    """

    plan: Plan
    constants: Mapping[str, Array]
    fixed: tuple[str, ...]
    passes: tuple[PassRun, ...]


class KeptPlans:
    """The plans of one model on one placement. Used under the lock of its user.

    Attributes:
        inputs, outputs: what the model takes and gives; None when it was not kept.
    """

    def __init__(
        self, store: PlanStore, given: GivenModel, settings: str, policy: Fallback
    ) -> None:
        self._store = store
        self._policy = policy
        self._content = given.content
        self._folder = given.folder
        self._model = Source("", 0, len(given.content), given.content.digest())
        self._settings = _digest(settings, given.name, self._model.digest)
        self._externals: tuple[Source, ...] = ()
        self._read: tuple[Extent, ...] | None = None  # where these lie, while plans may be found
        self._placed = PlacedWeights()
        self._based: tuple[str, Mapping[int, Array]] | None = None  # the base that was read last
        self._count = 0  # of plans that were kept
        self.inputs: tuple[TensorInfo, ...] | None = None
        self.outputs: tuple[TensorInfo, ...] | None = None
        self._load_note()

    @staticmethod
    def of(given: GivenModel, settings: ModelSettings, store: PlanStore | None) -> KeptPlans | None:
        """The plans of a model; None when none are kept of it.

        Raises:
            DeviceUnavailableError: the device cannot be had.
            JobError: ``fallback`` is none.
        """
        if store is None or given.path is None:
            return None
        placement, registry, options = settings
        policy = fallback_of(options.fallback)
        tags = {placement.tag} if policy is Fallback.ERROR else {placement.tag, HOST_TAG}
        identity = identity_of(registry, tags)
        if identity is None:
            return None
        _, memory, concurrency = options
        text = f"{identity}\n{placement}\n{policy}\n{memory}\n{concurrency}\n{_FORMAT}"
        return KeptPlans(store, given, text, policy)

    def find(
        self, specs: Mapping[str, TensorSpec], arrays: Mapping[str, Array], made: MadeConstants
    ) -> KeptPlan | None:
        """The plan for what is fed, if it was kept; of its weights, those that jobs hold by now."""
        if self.inputs is None or self._read is None:
            return None
        key = self._keys(specs, arrays)[-1]
        file = self._store.plan(key)
        if file is None:
            return None
        saved, own = file.saved, (self._model, *self._externals)
        try:
            if saved.sources[: len(own)] != own:
                return None
            constants = {
                weight.name: file.weights[weight.name]
                if weight.source is None
                else self._of_base(weight, saved.sources[weight.source].location)
                if weight.source >= len(own)
                else self._stored(weight, weight.source, made)
                for weight in saved.weights
            }
        except (HeadraceError, LookupError) as error:
            self._store.drop_plan(key, error)
            return None
        if len(saved.sources) == len(own):
            self._placed.learn(key, [(w, constants[w.name]) for w in saved.weights])
        return KeptPlan(saved.plan, constants, tuple(w.name for w in saved.fixed), saved.passes)

    def drop(
        self, specs: Mapping[str, TensorSpec], arrays: Mapping[str, Array], reason: Exception
    ) -> None:
        """Forget the plan for what is fed: it turned out not to be usable."""
        self._store.drop_plan(self._keys(specs, arrays)[-1], reason)

    def keep_model(
        self,
        file: ModelFile,
        inputs: Sequence[TensorInfo],
        outputs: Sequence[TensorInfo],
    ) -> None:
        """Keep what the model takes and gives."""
        self._read = None
        if file.externals is None:
            return
        try:
            ranges = dict.fromkeys(file.externals)
            parts = self._parts((p.location, p.offset, p.nbytes) for p in ranges)
        except HeadraceError:  # a file was changed since it was read
            return
        self._externals = tuple(source for source, _ in parts)
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        value = {
            "inputs": [_described(info) for info in inputs],
            "outputs": [_described(info) for info in outputs],
            "files": [[s.location, s.offset, s.nbytes, s.digest.hex()] for s in self._externals],
        }
        self._store.keep_note(_digest(self._settings, "model"), value)

    def keep(
        self,
        specs: Mapping[str, TensorSpec],
        made: SpecialisedJob,
        fixed: Mapping[str, Array],
        compiled: Compiled,
        registry: BackendRegistry,
    ) -> None:
        """Keep a plan that was just compiled; not any more when many were.

        Args:
            specs: of every input that is fed.
            made: the job.
            fixed: values of the inputs that are part of it.
            compiled: what it became.
            registry: what it was compiled with.
        """
        from headrace.frontend.plan_cache.kernel_names import with_kernel_names
        from headrace.frontend.save_plan import pack

        if self.inputs is None or self._warned(compiled) or self._count >= limits.KEPT_PLANS:
            return
        sources = [self._model, *self._externals]
        if self._placed.base is not None:
            sources.append(Source(self._placed.base, 0, 0, b""))
        try:
            read = self._parts((s.location, s.offset, s.nbytes) for s in self._externals)
            if tuple(source for source, _ in read) != self._externals:
                return  # a file was changed since it was read
            files = [self._content, *(PartContent(part) for _, part in read)]
            packer = WeightPacker(_Finder(self._placed, files).find)
            saved = pack(packer, made.graph, compiled, registry, fixed)
        except InvalidModelError:
            return  # of the model itself, this is how it is told
        named = with_kernel_names(saved.plan, registry)
        saved = saved._replace(sources=tuple(sources), plan=named)
        keys = self._keys(specs, fixed, made.fixed)
        self._store.keep_plan(keys[-1], saved, packer.blobs)
        self._count += 1
        if self._placed.base is None:
            constants = compiled.constants
            self._placed.learn(keys[-1], [(w, constants[w.name]) for w in saved.weights])

    def _of_base(self, weight: Weight, key: str) -> Array:
        """A weight that is in the file of another plan.

        Raises:
            PlanError: it is there no more.
        """
        if self._based is None or self._based[0] != key:
            file = self._store.plan(key)
            if file is None:
                raise PlanError("the plan that was kept with its weights is there no more")
            held = [w for w in file.saved.weights if w.source is None]
            self._based = key, {w.offset: file.weights[w.name] for w in held}
            self._placed.learn(key, [(w, file.weights[w.name]) for w in held])
        found = self._based[1][weight.offset]
        if TensorSpec.of(found) != weight.spec:
            raise PlanError(f"weight {weight.name!r} is another in the plan kept with its weights")
        return found

    def _stored(self, weight: Weight, source: int, made: MadeConstants) -> Array:
        """A weight that is in one of the model's files, aligned and in memory of its own."""
        assert self._read is not None
        file = self._read[source - 1] if source else Extent(self._content, 0, len(self._content))
        start = file.start + weight.offset
        place = file._replace(start=start, end=start + weight.spec.nbytes)
        if place.end > file.end:
            raise PlanError(f"weight {weight.name!r} ends behind the file that it lies in")
        return made.settled(
            place.key(weight.spec), lambda: array_in(place.array().data, weight._replace(offset=0))
        )

    def _warned(self, compiled: Compiled) -> bool:
        """True when compiling warned of something, which it should do in the next process too."""
        moved = any(decision.how is How.FALLBACK for decision in compiled.decisions)
        return moved and self._policy is Fallback.WARN

    def _keys(
        self,
        specs: Mapping[str, TensorSpec],
        arrays: Mapping[str, Array],
        learnt: tuple[str, ...] = (),
    ) -> list[str]:
        """The key without values of inputs, then with those that notes say are part of the plan.

        Args:
            specs: of every input that is fed.
            arrays: values of inputs, as far as they are known.
            learnt: inputs whose values are part of a new plan; notes are written to lead to it.
        """
        fixed: tuple[str, ...] = ()
        keys: list[str] = []
        while True:
            values = [(name, arrays[name].tobytes()) for name in sorted(fixed)]
            shapes = [(name, str(spec)) for name, spec in specs.items()]
            sources = [source.digest for source in self._externals]
            keys.append(_digest(self._settings, "plan", shapes, values, sources))
            if learnt and set(fixed) == set(learnt):
                return keys
            noted = self._store.note(keys[-1])
            names = tuple(map(str, noted)) if isinstance(noted, list) else ()
            if learnt and not set(fixed) < set(names) <= set(learnt):
                names = learnt
                self._store.keep_note(keys[-1], list(names))
            if not set(fixed) < set(names) <= set(arrays):
                return keys
            fixed = names

    def _load_note(self) -> None:
        key = _digest(self._settings, "model")
        note: Any = self._store.note(key)
        if note is None:
            return
        try:
            inputs = tuple(map(_info, note["inputs"]))
            outputs = tuple(map(_info, note["outputs"]))
            files = [(part, bytes.fromhex(digest)) for *part, digest in note["files"]]
            parts = self._parts(part for part, _ in files)
        except (HeadraceError, KeyError, TypeError, ValueError):
            return  # the model is parsed, which says what is wrong with its files
        if any(source.digest != said for (source, _), (_, said) in zip(parts, files, strict=True)):
            return
        self._externals = tuple(source for source, _ in parts)
        self._read = tuple(part for _, part in parts)
        self.inputs, self.outputs = inputs, outputs

    def _parts(self, ranges: Iterable[Sequence[Any]]) -> list[tuple[Source, Extent]]:
        """What is at (location, offset, nbytes) beside the model."""
        ranges = tuple(ranges)
        if not ranges:  # as of most models
            return []
        from headrace.onnx.file.external import ExternalFiles, ExternalRange

        files = ExternalFiles(self._folder)
        parts = [files.find(ExternalRange(*part), "external data") for part in ranges]
        total = sum(part.nbytes for part in parts)
        return [
            (Source(part.location, part.start, part.nbytes, part.digest(total)), part)
            for part in parts
        ]


class _Finder:
    """Finds arrays where they are known to lie, else by their bytes in the model's files."""

    def __init__(self, placed: PlacedWeights, files: Sequence[Content]) -> None:
        self._placed = placed
        self._files = files
        self._stored: StoredBytes | None = None

    def find(self, array: Array) -> tuple[int, int] | None:
        """(source, offset) of the bytes of ``array``; raises as ``StoredBytes.find``."""
        from headrace.onnx.file.stored import LEAST_BYTES, StoredBytes

        known = self._placed.find(array, len(self._files))
        if known is not None or array.nbytes < LEAST_BYTES:
            return known
        if self._stored is None:
            self._stored = StoredBytes(self._files)
        return self._stored.find(array)


def _digest(*parts: object) -> str:
    return digest_of("\0".join(map(repr, parts)).encode()).hex()


def _described(info: TensorInfo) -> list[object]:
    dtype = None if info.dtype is None else info.dtype.name
    shape = None if info.shape is None else list(info.shape)
    return [info.name, dtype, shape, info.optional]


def _info(described: Sequence[Any]) -> TensorInfo:
    name, dtype, shape, optional = described
    return TensorInfo(
        name,
        None if dtype is None else dtype_of(dtype),
        None if shape is None else tuple(shape),
        optional,
    )
