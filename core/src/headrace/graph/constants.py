"""Constants whose values are read or computed when somebody asks for them, once for all jobs.

Most weights of a model are looked at by nobody while a job is compiled: they are packed for a
device when all passes have run, or lie in the job as they are. A model that meets inputs of other
shapes has them in that form already. So a constant may be a ``LazyConstant``, which knows its spec
and what it is made of; ``MadeConstants`` knows those values that jobs hold by now.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial

from headrace import numpy_ops
from headrace.aligned import Empty, address_of, aligned, aligned_empty, whole
from headrace.graph.entries import OpEntry
from headrace.op_call import OpCall
from headrace.tensor_spec import Array, TensorSpec
from headrace.weak_arrays import WeakArrays

_VIEWS = ("identity", "reshape", "transpose")
_PARTS = (*_VIEWS, "slice")
_MOVES = (*_PARTS, "concat")
_EACH = ("cast", "add", "subtract", "multiply", "divide")
LAZY_OPS = frozenset((*_MOVES, *_EACH))
"""Ops whose results are lazy where what they read is: whether they can be computed is known from
their calls. So it is of those that ``folds_late``."""

AGAIN_BYTES = 8 << 20
"""So much is held that is made again and again."""

_MOST_MET = 1 << 14
"""So many names are remembered of what was made; then it begins anew."""

SMALL_BYTES = 1 << 12
"""What is no larger is told apart by its bytes."""

GROWN_BYTES = 1 << 20
GROWN = 16
"""What is so large, and so many times as large as all that it is made of, is made when somebody
asks for it. Exporters write places as grids, of which it may be enough to know the ranges."""


class MadeConstants:
    """Values of constants that somebody holds, by what they are made of. For any thread.

    What is made for a job after it was made for another, and let go of by that, is held here up to
    ``AGAIN_BYTES``: tables of which jobs of different shapes have different parts, say.

    Attributes:
        shared: gives an equal array in the place of one that lies row by row, aligned.
    """

    def __init__(self, shared: Callable[[Array], Array]) -> None:
        """Hold nothing; ``shared`` is kept."""
        self.shared = shared
        self._alive = WeakArrays()
        self._met: set[int] = set()  # hashes: one that is met by chance holds a value for nothing
        self._again: tuple[Array, ...] = ()

    def value(self, key: Hashable, make: Callable[[], Array]) -> Array:
        """The value called ``key``, made if nobody holds it; nobody can write to it."""
        known = self._alive.get(key)
        if known is None:
            known = make()
            known.flags.writeable = False
            self._alive.put(key, known)
            met = hash(key)
            if met in self._met and known.nbytes <= AGAIN_BYTES:
                self._hold(known)
            if len(self._met) >= _MOST_MET:
                self._met.clear()
            self._met.add(met)
        return known

    def _hold(self, value: Array) -> None:
        place = address_of(value)
        if any(address_of(held) == place for held in self._again):
            return  # a view of it, or what it is a view of; to make another one takes no time
        room = AGAIN_BYTES - value.nbytes
        nbytes = itertools.accumulate(held.nbytes for held in self._again)
        fit = sum(total <= room for total in nbytes)
        self._again = (value, *self._again[:fit])

    def settled(self, key: Hashable, make: Callable[[], Array]) -> Array:
        """As ``value``, row by row and aligned, and the one array of all that are equal."""
        return self.settled_of(key, lambda: self.value(key, make))

    def settled_of(self, key: Hashable, get: Callable[[], Array]) -> Array:
        """``settled``, where ``get`` gives the value that is called ``key`` here."""
        return self.value(("settled", key), lambda: self.shared(aligned(whole(get()))))


class _Recipe:
    """What a value is made of. Hashed once: what is made of the value has this in its own."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, *parts: Hashable) -> None:
        self._parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, _Recipe):
            return NotImplemented
        return self._hash == other._hash and self._parts == other._parts


class LazyConstant:
    """A constant of one job, whose value is made when it is first asked for.

    Attributes:
        spec: of the value.
        origin: the op that makes it, and what of; None where it is read.
    """

    __slots__ = (
        "_empty", "_held", "_is_settled", "_is_view", "_key", "_made", "_make", "_sources",
        "origin", "spec",
    )  # fmt: skip

    def __init__(
        self,
        spec: TensorSpec,
        key: Hashable,
        make: Callable[[Empty], Array],
        made: MadeConstants,
        empty: Empty = aligned_empty,
        sources: Sequence[LazyConstant] = (),
        is_view: bool = False,
        is_settled: bool = False,
        origin: Origin | None = None,
    ) -> None:
        """A constant that nobody has asked for.

        Args:
            spec: of the value.
            key: equal for those whose values have the same bits, among all of ``made``.
            make: gives the value, each time anew, in memory that it is given.
            made: where it is looked for first.
            empty: gives that memory; used by one thread.
            sources: what ``make`` asks for.
            is_view: ``make`` gives a view of a source, which is not worth being looked for.
            is_settled: ``make`` gives an array in the memory that it is given, and all of that.
            origin: the op that makes it, and what of.
        """
        self.spec = spec
        self.origin = origin
        self._key = key
        self._make = make
        self._made = made
        self._empty = empty
        self._sources = sources
        self._is_view = is_view
        self._is_settled = is_settled
        self._held: Array | None = None

    @property
    def nbytes(self) -> int:
        """Of the value."""
        return self.spec.nbytes

    def again(self, empty: Empty) -> LazyConstant:
        """The same for another job, which holds its value for as long as that job is compiled."""
        return LazyConstant(
            self.spec,
            self._key,
            self._make,
            self._made,
            empty,
            self._sources,
            self._is_view,
            self._is_settled,
            self.origin,
        )

    def value(self) -> Array:
        """The value, which this holds from now on."""
        if self._held is None:
            self._held = self.passing()
        return self._held

    def passing(self) -> Array:
        """The value, which this does not hold because of that."""
        if self._held is not None:
            return self._held
        if self._is_view:
            view = self._make(self._empty)
            view.flags.writeable = False
            return view
        return self._made.value(self._key, lambda: self._make(self._empty))

    def settled(self) -> Array:
        """The value row by row and aligned, the same array for all jobs that hold it."""
        if self._is_settled:
            made = self._made
            return made.value(self._key, lambda: made.shared(self._make(self._empty)))
        return self._made.settled_of(self._key, self.passing)

    @staticmethod
    def computed(
        call: OpCall,
        inputs: Sequence[Entry | None],
        compute: Callable[[list[Array | None], Empty], Sequence[Array]],
        empty: Empty,
        made: MadeConstants | None = None,
    ) -> tuple[LazyConstant, ...] | None:
        """The outputs of ``call``, computed when they are asked for; None where that cannot be.

        Args:
            call: the complete call.
            inputs: what it is computed of.
            compute: computes them; gives the same bits each time, and does not fail. But for what
                may be a part of an input, it gives arrays in memory that it is given.
            empty: gives memory for them.
            made: where they are looked for first; None: where the first lazy input is.
        """
        sources = [entry for entry in inputs if isinstance(entry, LazyConstant)]
        if sources:
            made = sources[0]._made
        if made is None:
            return None
        keys: list[Hashable] = []
        for entry in inputs:
            if isinstance(entry, LazyConstant):
                keys.append(entry._key)
            elif entry is None:
                keys.append(None)
            elif entry.nbytes <= SMALL_BYTES:
                keys.append((TensorSpec.of(entry), entry.tobytes()))
            elif not sources:
                keys.append(object())  # nobody else has it
            else:
                return None
        take = _Computation(tuple(inputs), _common(sources), compute).take
        parts = (call.op, call.attrs.form, call.outputs, *keys)
        kind = call.op in _VIEWS, call.op not in _PARTS
        like = made, empty, sources, *kind, (call, tuple(inputs))
        outputs = [
            LazyConstant(spec, _Recipe(index, parts), partial(take, index), *like)
            for index, spec in enumerate(call.outputs)
        ]
        return tuple(outputs)


class _Computation:
    """What one op makes: all of it at once, and each output taken when it is asked for.

    Of two threads that ask at the same time, each may make all.
    """

    __slots__ = ("_common", "_compute", "_inputs", "_left")

    def __init__(
        self,
        inputs: Sequence[Entry | None],
        common: Sequence[LazyConstant],
        compute: Callable[[list[Array | None], Empty], Sequence[Array]],
    ) -> None:
        self._inputs = inputs
        self._common = common  # held meanwhile, or each input would have it made
        self._compute = compute
        self._left: dict[int, Array] = {}

    def take(self, index: int, empty: Empty) -> Array:
        """An output, which is not held here from now on."""
        taken = self._left.pop(index, None)
        if taken is None:
            held = [source.passing() for source in self._common]
            outputs = self._compute([_passing(entry) for entry in self._inputs], empty)
            del held
            left = dict(enumerate(outputs))
            taken, self._left = left.pop(index), left
        return taken


def _common(constants: Sequence[LazyConstant]) -> list[LazyConstant]:
    """What is among the sources of more than one of them, as a weight is of its gates."""
    if len(constants) < 2:
        return []
    met: set[Hashable] = set()
    common: dict[Hashable, LazyConstant] = {}
    for constant in constants:
        sources = {source._key: source for source in constant._sources}
        common |= {key: source for key, source in sources.items() if key in met}
        met |= sources.keys()
    return [*common.values()]


Entry = Array | LazyConstant
"""A constant as a graph has it."""

Origin = tuple[OpCall, tuple[Entry | None, ...]]
"""An op, and the constants that it is computed of."""


def _passing(entry: Entry | None) -> Array | None:
    return entry.passing() if isinstance(entry, LazyConstant) else entry


class Constants(Mapping[str, Array]):
    """Values by name; a lazy one is made when it is asked for, and held from then on. Immutable.

    Attributes:
        entries: the same, lazy ones as they are.
    """

    __slots__ = ("_specs", "entries")

    def __init__(
        self, entries: Mapping[str, Entry], specs: Mapping[str, TensorSpec] | None = None
    ) -> None:
        """Constants; ``specs`` has those of all of them, where somebody knows these already."""
        self.entries = entries
        self._specs: Mapping[str, TensorSpec] | None = None
        if specs is not None:
            self._specs = dict(zip(entries, map(specs.__getitem__, entries), strict=True))

    @property
    def specs(self) -> Mapping[str, TensorSpec]:
        """The spec of each; put together once, for all passes that look at a graph."""
        if self._specs is None:
            self._specs = {name: spec_of(entry) for name, entry in self.entries.items()}
        return self._specs

    def __getitem__(self, name: str) -> Array:
        entry = self.entries[name]
        return entry.value() if isinstance(entry, LazyConstant) else entry

    def __contains__(self, name: object) -> bool:  # Mapping's own would make the value
        return name in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


def entries_of(constants: Mapping[str, Array]) -> Mapping[str, Entry]:
    """The constants of a graph as they are, for who only looks at what they are like."""
    return constants.entries if isinstance(constants, Constants) else constants


def specs_of(constants: Mapping[str, Array]) -> Mapping[str, TensorSpec]:
    """The specs of the constants of a graph."""
    if isinstance(constants, Constants):
        return constants.specs
    return {name: TensorSpec.of(value) for name, value in constants.items()}


def spec_of(entry: Entry) -> TensorSpec:
    """The spec of a constant."""
    return entry.spec if isinstance(entry, LazyConstant) else TensorSpec.of(entry)


def settled(entry: Entry) -> Array:
    """The value row by row and aligned."""
    return entry.settled() if isinstance(entry, LazyConstant) else aligned(entry)


def folded(
    entry: OpEntry, empty: Empty, call: OpCall, inputs: Sequence[Entry | None]
) -> tuple[Entry, ...]:
    """What the op of ``entry`` makes of constants: computed later where that can be, else now."""
    later = folded_later(entry, empty, call, inputs)
    return folded_now(entry, empty, call, inputs) if later is None else later


def folded_later(
    entry: OpEntry, empty: Empty, call: OpCall, inputs: Sequence[Entry | None]
) -> tuple[LazyConstant, ...] | None:
    """What is computed when somebody asks for it; None where it has to be at once."""
    grows = call.op in (*LAZY_OPS, "expand") and _grows(call)
    if not (grows or entry.op.folds_late or call.op in LAZY_OPS):
        return None
    return LazyConstant.computed(
        call,
        inputs,
        lambda arrays, empty: numpy_ops.evaluate(call, arrays, entry.compute, empty),
        empty,
        MadeConstants(lambda array: array) if grows else None,
    )


def _grows(call: OpCall) -> bool:
    made = call.outputs[0].nbytes
    if made < GROWN_BYTES:
        return False
    return made >= GROWN * sum([spec.nbytes for spec in call.inputs if spec is not None])


def folded_now(
    entry: OpEntry, empty: Empty, call: OpCall, inputs: Sequence[Entry | None]
) -> tuple[Array, ...]:
    """What is computed at once."""
    arrays = [e.value() if isinstance(e, LazyConstant) else e for e in inputs]
    return tuple(map(read_only, numpy_ops.evaluate(call, arrays, entry.compute, empty)))


def read_only(array: Array) -> Array:
    """``array``, or a view that cannot be written; who has the array can, and must not."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view
