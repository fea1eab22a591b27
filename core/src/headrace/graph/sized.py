"""Constants that are computed of symbolic sizes (``headrace.sizes``).

A ``SizedConstant`` is made when it is *filled in*, for given sizes, by the ops that a builder would
have folded. Of a few integers it is known besides what each is as a size, or as a number: that is
what shapes are computed of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from headrace.aligned import Empty, aligned_empty
from headrace.dtypes import BOOL, INTS
from headrace.graph.constants import Entry, LazyConstant, MadeConstants
from headrace.op_call import Attrs, AttrValue, OpCall
from headrace.ops.axes import permutation
from headrace.ops.shapes import normal_axis
from headrace.sizes import MARK, Scope, Values, Whole, as_size, has_sizes
from headrace.tensor_spec import Array, TensorSpec

MOST_NUMBERS = 64
"""Of so many elements it is known what each is."""

Fold = Callable[[OpCall, Sequence[Entry | None]], tuple[Entry, ...]]
"""Computes an op of constants."""


class SizedConstant(LazyConstant):
    """A constant that is made when its sizes are known.

    Attributes:
        spec: of the value; its shape may have sizes.
        numbers: what each element is, in an array of objects; None where that is not known.
    """

    __slots__ = ("_call", "_fold", "_index", "_inputs", "_scope", "numbers")

    def __init__(
        self,
        spec: TensorSpec,
        scope: Scope,
        numbers: Array | None,
        call: OpCall | None = None,
        inputs: Sequence[Entry | None] = (),
        index: int = 0,
        fold: Fold | None = None,
    ) -> None:
        """A constant.

        Args:
            spec: of the value.
            scope: of the sizes.
            numbers: what each element is, if that is known.
            call, inputs, index: else the op that makes it, what that reads, and which output it is.
            fold: how the op is computed.
        """
        origin = None if call is None or numbers is not None else (call, tuple(inputs))
        super().__init__(spec, (), _refuse, _NOTHING, origin=origin)
        self.numbers = numbers
        self._scope = scope
        self._call = call
        self._inputs = tuple(inputs)
        self._index = index
        self._fold = fold

    def filled(self, values: Values, known: dict[int, Entry]) -> Entry:
        """The constant for given sizes.

        Args:
            values: what sizes are.
            known: what was filled in for them, by the constant's ``id``.
        """
        entry = known.get(id(self))
        if entry is None:
            entry = known[id(self)] = self._filled(values, known)
        return entry

    def _filled(self, values: Values, known: dict[int, Entry]) -> Entry:
        if self.numbers is not None:
            flat = [values.of(number) for number in self.numbers.reshape(-1)]
            value = np.array(flat, self.spec.dtype.numpy).reshape(self.numbers.shape)
            value.flags.writeable = False
            return value
        assert self._call is not None and self._fold is not None
        read = [
            entry.filled(values, known)
            if isinstance(entry, SizedConstant)
            else entry.again(aligned_empty)
            if isinstance(entry, LazyConstant)
            else entry
            for entry in self._inputs
        ]
        made = self._fold(filled_call(self._call, values), read)
        return made[self._index]

    @property
    def progression(self) -> tuple[int, int, int] | None:
        """The first element, the step, and how many, of an ``arange`` of more than are known."""
        if self._call is None or self._call.op != "arange":
            return None
        first, step = map(numbers_of, self._inputs)
        if first is None or step is None:
            return None
        return first.item(), step.item(), self._call.int_attr("size")

    # Who asks for the value as that of any constant is told that of the examples.

    def again(self, empty: Empty) -> LazyConstant:
        """Itself."""
        return self

    def passing(self) -> Array:
        """As ``value``."""
        return self.value()

    def settled(self) -> Array:
        """As ``value``."""
        return self.value()

    def value(self) -> Array:
        """The value for the examples; what it depends on is pinned to these."""
        if self._held is None:
            if self.numbers is not None:
                for number in self.numbers.reshape(-1):
                    if as_size(number) is not None:
                        self._scope.pin(number)
            else:
                for size in self._scope.unknowns:
                    self._scope.pin(size)
            made = self.filled(self._scope.examples, {})
            self._held = made.value() if isinstance(made, LazyConstant) else made
        return self._held

    def held_bytes(self) -> int:
        """Of the arrays that it is made of."""
        return sum(
            entry.held_bytes()
            if isinstance(entry, SizedConstant)
            else 0
            if entry is None or isinstance(entry, LazyConstant)
            else entry.nbytes
            for entry in self._inputs
        )


def _refuse(empty: Empty) -> Array:
    raise AssertionError("sizes are not known")


_NOTHING = MadeConstants(lambda array: array)


def call_has_sizes(call: OpCall) -> bool:
    """Whether a symbolic size is in a call."""
    specs = (*call.inputs, *call.outputs)
    if any(spec is not None and has_sizes(spec.shape) for spec in specs):
        return True
    return _attrs_scope(call.attrs) is not None


def _attrs_scope(attrs: Attrs) -> Scope | None:
    """The scope of the sizes in attributes; None where there is none."""
    if MARK not in attrs.form:
        return None
    for value in attrs.values():
        items = value if isinstance(value, tuple) else (value,)
        for size in map(as_size, items):
            if size is not None:
                return size.scope
    return None


def filled_spec(spec: TensorSpec, values: Values) -> TensorSpec:
    """The spec for given sizes."""
    if not has_sizes(spec.shape):
        return spec
    return TensorSpec(tuple(map(values.of, spec.shape)), spec.dtype)


def _filled_attrs(attrs: Attrs, values: Values) -> Attrs:
    filled: dict[str, AttrValue] = {}
    for name, value in attrs.items():
        if as_size(value) is not None:
            filled[name] = values.of(value)
        elif isinstance(value, tuple) and has_sizes(value):
            filled[name] = tuple(map(values.of, value))
    return Attrs({**attrs, **filled}) if filled else attrs


def filled_call(call: OpCall, values: Values) -> OpCall:
    """The call for given sizes."""
    return OpCall(
        call.op,
        call.name,
        tuple([None if spec is None else filled_spec(spec, values) for spec in call.inputs]),
        tuple([filled_spec(spec, values) for spec in call.outputs]),
        _filled_attrs(call.attrs, values),
        call.output_count,
        call.location,
    )


def fold_sized(
    call: OpCall, inputs: Sequence[Entry | None], fold: Fold
) -> tuple[Entry, ...] | None:
    """What a call makes of constants and of sizes; None where it has to do with no size.

    Args:
        call: the complete call.
        inputs: what it is computed of.
        fold: computes it when sizes are said.
    """
    # A shape has sizes where they are in what it is computed of: attributes, and other constants.
    scopes = [entry._scope for entry in inputs if isinstance(entry, SizedConstant)]
    scope = scopes[0] if scopes else _attrs_scope(call.attrs)
    if scope is None:
        return None
    numbers = _numbers_made(call, inputs)
    if numbers is not None:
        if not has_sizes(numbers.reshape(-1)):
            return (numbers.astype(call.outputs[0].dtype.numpy),)
        return (SizedConstant(call.outputs[0], scope, numbers),)
    # Not those of the graph, which hold values that somebody has asked for.
    read = [e.again(aligned_empty) if isinstance(e, LazyConstant) else e for e in inputs]
    return tuple(
        SizedConstant(spec, scope, None, call, read, index, fold)
        for index, spec in enumerate(call.outputs)
    )


def numbers_of(entry: Entry | None) -> Array | None:
    """What each element of a constant of a few integers is, as an array of objects."""
    if isinstance(entry, SizedConstant):
        return entry.numbers
    if entry is None or entry.nbytes > 8 * MOST_NUMBERS:
        return None
    value = entry.value() if isinstance(entry, LazyConstant) else entry
    return value.astype(object) if value.dtype.kind in "iub" else None


def _numbers_made(call: OpCall, inputs: Sequence[Entry | None]) -> Array | None:
    """The elements of what a call makes of a few integers, if it is one that shapes need."""
    compute = _COMPUTED.get(call.op)
    made = call.outputs[0]
    if compute is None or len(call.outputs) != 1 or made.dtype not in INTS | BOOL:
        return None
    if has_sizes(made.shape) or made.elements > MOST_NUMBERS:
        return None
    given = []
    for entry in inputs:
        if entry is None:
            continue
        numbers = numbers_of(entry)
        if numbers is None:
            return None
        given.append(numbers)
    numbers = compute(call, *given)
    if numbers is None:
        return None
    made_numbers = np.empty(made.shape, object)
    made_numbers[...] = numbers
    if made.dtype in INTS:
        limits = np.iinfo(made.dtype.numpy)
        for number in made_numbers.reshape(-1):
            if not limits.min <= number <= limits.max:
                return None  # it wraps around
    return made_numbers


def _each(compute: Callable[..., Whole]) -> Callable[..., Array]:
    def computed(call: OpCall, *given: Array) -> Array:
        made = np.empty(np.broadcast_shapes(*(array.shape for array in given)), object)
        flat = made.reshape(-1)
        sources = [np.broadcast_to(array, made.shape).reshape(-1) for array in given]
        for place, numbers in enumerate(zip(*sources, strict=True)):
            flat[place] = compute(*numbers)
        return made

    return computed


def _divided(a: Whole, b: Whole) -> Whole:
    """As integers are divided by ops: cut towards 0; of no one's concern by 0."""
    if b == 0:
        return 0
    sign = -1 if (a < 0) != (b < 0) else 1
    return sign * (abs(a) // abs(b))


def _remainder(call: OpCall, a: Array, b: Array) -> Array | None:
    if any(number == 0 for number in b.reshape(-1)) or call.flag_attr("fmod"):
        return None
    made: Array = _each(lambda x, y: x % y)(call, a, b)
    return made


def _cast(call: OpCall, x: Array) -> Array | None:
    if call.outputs[0].dtype in BOOL:
        made: Array = _each(bool)(call, x)
        return made
    return _each(lambda number: int(number) if type(number) is bool else number)(call, x)


def _gather(call: OpCall, x: Array, indices: Array) -> Array:
    axis = normal_axis(call, call.int_attr("axis"), x.ndim)
    return np.asarray(np.take(x, indices.astype(np.int64), axis), object)


def _slice(call: OpCall, x: Array) -> Array:
    starts, ends = call.ints_attr("starts"), call.ints_attr("ends")
    axes = call.ints_attr("axes") or tuple(range(len(starts)))
    steps = call.ints_attr("steps") or (1,) * len(starts)
    cut = [slice(None)] * x.ndim
    for axis, *bounds in zip(axes, starts, ends, steps, strict=True):
        cut[axis] = slice(*bounds)
    return x[tuple(cut)]


def _reduced(compute: Callable[[Whole, Whole], Whole], start: int) -> Callable[..., Array | None]:
    def computed(call: OpCall, x: Array) -> Array | None:
        axes = tuple(axis % max(x.ndim, 1) for axis in call.ints_attr("axes")) or tuple(
            range(x.ndim)
        )
        if set(axes) != set(range(x.ndim)):
            return None
        total: Whole = start
        for number in x.reshape(-1):
            total = compute(total, number)
        made = np.empty((), object)
        made[()] = total
        return made.reshape(call.outputs[0].shape)

    return computed


def _arange(call: OpCall, start: Array, step: Array) -> Array:
    first, by = start.reshape(-1)[0], step.reshape(-1)[0]
    made = np.empty(call.outputs[0].shape, object)
    for place in range(len(made)):
        made[place] = first + place * by
    return made


_COMPUTED: Mapping[str, Callable[..., Array | None]] = {
    "identity": lambda call, x: x,
    "reshape": lambda call, x: x.reshape(call.outputs[0].shape),
    "transpose": lambda call, x: x.transpose(permutation(call)),
    "expand": lambda call, x: np.broadcast_to(x, call.outputs[0].shape),
    "concat": lambda call, *xs: np.concatenate(xs, call.int_attr("axis")),
    "slice": _slice,
    "gather": _gather,
    "cast": _cast,
    "arange": _arange,
    "add": _each(lambda a, b: a + b),
    "subtract": _each(lambda a, b: a - b),
    "multiply": _each(lambda a, b: a * b),
    "divide": _each(_divided),
    "mod": _remainder,
    "maximum": _each(lambda a, b: max(a, b)),
    "minimum": _each(lambda a, b: min(a, b)),
    "negative": _each(lambda a: -a),
    "abs": _each(abs),
    "equal": _each(lambda a, b: a == b),
    "less": _each(lambda a, b: a < b),
    "less_equal": _each(lambda a, b: a <= b),
    "greater": _each(lambda a, b: a > b),
    "greater_equal": _each(lambda a, b: a >= b),
    "logical_not": _each(lambda a: not a),
    "logical_and": _each(lambda a, b: bool(a) and bool(b)),
    "logical_or": _each(lambda a, b: bool(a) or bool(b)),
    "where": _each(lambda chosen, a, b: a if chosen else b),
    "reduce_sum": _reduced(lambda a, b: a + b, 0),
    "reduce_prod": _reduced(lambda a, b: a * b, 1),
}
"""Of the elements of a few integers, by op."""
