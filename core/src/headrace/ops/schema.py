"""What an op is: one declarative class that says what it takes, what it gives, and how to check it.

A family file (``elementwise.py``, ``conv.py``, ...) holds the classes of related ops and lists them
in ``OPS``. An op class is never instantiated; its methods are static or class methods over an
``OpCall``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NoReturn, Protocol, cast

from headrace.data_format import Order
from headrace.dtypes import ALL, DType, dtype_of, storage_only
from headrace.errors import DTypeError, OpError
from headrace.light_dataclass import dataclass, setters
from headrace.light_tuple import NamedTuple
from headrace.op_call import Attrs, AttrValue, OpCall
from headrace.ops.failure import fail
from headrace.sbp import Sbp
from headrace.sizes import Size, as_size
from headrace.tensor_spec import Array, TensorSpec

REQUIRED: Any = object()
"""Default of an attribute that must be given."""


class Input(NamedTuple):
    """A tensor that an op takes.

    Attributes:
        name: as users and messages say it.
        dtypes: the dtypes it may have.
        group: inputs of one group must have equal dtypes; empty means alone.
        optional: may be absent (None).
        variadic: stands last and takes one or more tensors.
    """

    name: str
    dtypes: frozenset[DType] = ALL
    group: str = "T"
    optional: bool = False
    variadic: bool = False


class Output(NamedTuple):
    """A tensor that an op gives. Optional ones stand last and are made when asked for."""

    name: str
    optional: bool = False


class Attr(NamedTuple):
    """A typed attribute.

    Attributes:
        name: as keyword of the user's function and in plans.
        type: ``bool``, ``int``, ``float``, ``str``, ``dtype``, ``ints``, ``floats`` or ``strs``.
        default: used when it is not given; ``REQUIRED`` when it must be.
        choices: for ``str``: the values allowed; empty means any.
    """

    name: str
    type: str
    default: Any = REQUIRED
    choices: tuple[str, ...] = ()


class SbpSignature(NamedTuple):
    """One way to lay an op's inputs and outputs over devices; absent inputs have an entry too."""

    inputs: tuple[Sbp, ...]
    outputs: tuple[Sbp, ...]

    def __str__(self) -> str:
        sides = (", ".join(map(str, side)) for side in (self.inputs, self.outputs))
        return " -> ".join(sides).strip()


class Reordered(NamedTuple):
    """How a call is said on tensors whose axes are in another order.

    Attributes:
        attrs: all attributes of that call.
        inputs: the order in which it takes each input; None for one that it takes as it is. An
            order longer than the input's rank gives it leading axes of one element first.
        outputs: the order in which it makes each output.
    """

    attrs: Mapping[str, AttrValue]
    inputs: tuple[Order | None, ...]
    outputs: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a graph under construction: its name there and its spec."""

    name: str
    spec: TensorSpec

    def __init__(self, name: str, spec: TensorSpec) -> None:
        _put_name(self, name)
        _put_spec(self, spec)


_put_name, _put_spec = setters(Tensor)


class GraphBuilder(Protocol):
    """What ``decompose`` (and importers, and tracing) build graphs with."""

    def op(
        self, op: str, inputs: Sequence[Tensor | None], *, outputs: int = 1, **attrs: object
    ) -> tuple[Tensor, ...]:
        """Add an op; returns its ``outputs`` first outputs."""

    def constant(self, value: Array) -> Tensor:
        """Add a constant tensor."""


class Op:
    """Base of all ops: override the class variables and ``infer``; the rest has defaults."""

    name: ClassVar[str]
    inputs: ClassVar[tuple[Input, ...]] = ()
    outputs: ClassVar[tuple[Output, ...]] = (Output("y"),)
    attrs: ClassVar[tuple[Attr, ...]] = ()
    folds_late: ClassVar[bool] = False
    """Constants are not folded by it as it is added, but when passes of plugins have run: first
    those that ask for quantized numbers, to whom a constant tells more than what is made of it;
    then the others. For what packs weights, too: they are then packed one by one, and each is let
    go of as it is packed."""

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        """Specs of the ``call.output_count`` first outputs; raises OpError when it cannot be."""
        raise NotImplementedError(cls.name)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        """Ways to run over several devices, besides all-Broadcast, which is always added."""
        return ()

    @classmethod
    def part_attrs(cls, call: OpCall, outputs: Sequence[TensorSpec]) -> Mapping[str, AttrValue]:
        """Attributes with which a device makes ``outputs``, its parts of what ``call`` makes.

        Those of the whole, unless some say what the whole looks like.
        """
        return call.attrs

    @classmethod
    def decompose_part(
        cls,
        call: OpCall,
        boxes: Sequence[tuple[tuple[int, int], ...] | None],
        inputs: Sequence[Tensor | None],
        builder: GraphBuilder,
    ) -> tuple[Tensor, ...] | None:
        """Say in ops what a device makes of its parts; None when the op itself makes it of them.

        Args:
            call: of the whole.
            boxes: where the part of each input lies in the whole: a range for each axis.
            inputs: the parts.
            builder: what the ops are added to.
        """
        return None

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        """(input, output) index pairs that may be the same memory while the op runs.

        One pair at a time, and the memory is that of no other input.
        """
        return ()

    @classmethod
    def view(cls, call: OpCall) -> int | None:
        """Where in the first input the only output begins, if it is bytes of it as they lie there.

        Then nothing need run. None when something must: when elements are computed, or moved.
        """
        return None

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        """The call that makes the same elements of tensors whose axes are in ``order``.

        Args:
            call: the checked call.
            order: of the axes of its inputs of the highest rank.

        None when there is none: when the order of the axes is what the op is about.
        """
        return None

    @classmethod
    def widens(cls, call: OpCall) -> bool:
        """True when what it makes of integers is what it makes of them as wider ones, cut again."""
        return False

    @classmethod
    def products(cls, call: OpCall) -> int:
        """How many products of two numbers it adds up: what it takes besides its bytes."""
        return 0

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...] | None:
        """Say the call in simpler ops; None when this op is primitive."""
        return None


def make_call(
    op: type[Op],
    name: str,
    inputs: Sequence[TensorSpec | None],
    attrs: Mapping[str, object],
    *,
    outputs: int = 1,
    location: str = "",
) -> OpCall:
    """Check inputs and attributes against the schema, infer outputs, return the complete call.

    Args:
        op: the op class.
        name: node name for messages; unique in its job.
        inputs: specs in schema order; None for an absent optional input; trailing ones may be
            left out.
        attrs: given attributes; lists are accepted for tuples, names for dtypes.
        outputs: how many outputs are wanted.
        location: where the user wrote it.

    Raises:
        OpError, ShapeError, DTypeError: the call is not legal; the message names the node, the
            argument and the values.
    """
    form = _form(op, inputs, attrs, outputs)
    checked = None if form is None else _checked.get(form)
    if checked is None:
        who = _Who(op.name, name, location)
        complete = _complete_inputs(op, who, inputs)
        if outputs != len(op.outputs):
            needed = sum(not output.optional for output in op.outputs)
            if not needed <= outputs <= len(op.outputs):
                who.fails(f"gives {needed} to {len(op.outputs)} outputs, not {outputs}", OpError)
        values = _complete_attrs(op, who, attrs)
        specs = tuple(op.infer(OpCall(op.name, name, complete, (), values, outputs, location)))
        assert len(specs) == outputs, f"{op.name} inferred {len(specs)} of {outputs} outputs"
        checked = complete, specs, values
        if form is not None:
            _remember(form, checked)
    complete, specs, values = checked
    return OpCall(op.name, name, complete, specs, values, outputs, location)


class _Who(NamedTuple):
    """Of which call messages are, before there is one."""

    op: str
    name: str
    location: str

    def fails(self, message: str, kind: type[OpError]) -> NoReturn:
        """Raise ``kind`` as ``fail`` does."""
        fail(OpCall(self.op, self.name, (), location=self.location), message, kind)


_Checked = tuple[tuple[TensorSpec | None, ...], tuple[TensorSpec, ...], Attrs]

# Nets repeat themselves, and passes make the calls anew that were there before.
_checked: dict[object, _Checked] = {}
_MOST_CHECKED = 4096


def _remember(form: object, checked: _Checked) -> None:
    if len(_checked) >= _MOST_CHECKED:
        _checked.clear()
    _checked[form] = checked


def _form(
    op: type[Op], inputs: Sequence[TensorSpec | None], attrs: Mapping[str, object], outputs: int
) -> object:
    """What inference depends on, as a key; None when that cannot be told.

    Attributes count by their types and what they print: 1 equals True and 1.0, and 0.0 equals -0.0.
    """
    values: list[object] = [op, outputs]
    for spec in inputs:  # what a spec is made of: names and tuples of numbers are hashed natively
        values += (None,) if spec is None else (spec.shape, spec.dtype.name)
    if type(attrs) is Attrs:
        values.append(attrs.form)  # sizes print what they are made of
        return tuple(values)
    for name, value in attrs.items():
        kind = type(value)
        if kind in _EQUAL:
            values += name, kind, value
        elif isinstance(value, (tuple, list)):
            if _INT.issuperset(map(type, value)):  # as most are: themselves, not what they print
                values += name, kind, tuple(value)
            elif _PLAIN.issuperset(map(type, value)):
                values += name, kind, repr(value)
            else:
                return None
        elif kind in _PLAIN:
            values += name, kind, repr(value)
        else:
            return None
    return tuple(values)


_INT = frozenset({int})
_EQUAL = frozenset({bool, int, str})
"""Types of which equal values are the same."""
_PLAIN = frozenset({bool, int, float, str, DType, Size})


def _complete_inputs(
    op: type[Op], who: _Who, given: Sequence[TensorSpec | None]
) -> tuple[TensorSpec | None, ...]:
    padded, args = tuple(given), op.inputs
    if len(padded) > len(args):
        if not args or not args[-1].variadic:
            names = ", ".join(i.name for i in args) or "none"
            who.fails(f"takes {len(args)} inputs ({names}); {len(padded)} were given", OpError)
        args += args[-1:] * (len(padded) - len(args))
    elif len(padded) < len(args):
        padded += (None,) * (len(args) - len(padded))
    groups: dict[str, tuple[str, DType]] = {}
    for (name, dtypes, group, optional, _), spec in zip(args, padded, strict=True):
        if spec is None:
            if not optional:
                who.fails(f"input {name!r} is required and was not given", OpError)
            continue
        dtype = spec.dtype
        if dtype not in dtypes:
            allowed = ", ".join(d.name for d in sorted(dtypes) if not storage_only(d))
            who.fails(f"input {name!r} is {spec}; its dtype may be {allowed}", DTypeError)
        if group:
            first, one = groups.setdefault(group, (name, dtype))
            if one is not dtype:
                both = f"inputs {first!r} and {name!r}"
                who.fails(f"{both} must have one dtype; they are {one} and {dtype}", DTypeError)
    return padded


def _complete_attrs(op: type[Op], who: _Who, given: Mapping[str, object]) -> Attrs:
    known, usual, required = _attrs_known.get(op) or _attrs_of(op, who)
    values = dict(usual)
    for name, value in given.items():
        attr = known.get(name)
        if attr is None:
            names = ", ".join(known) or "none"
            who.fails(f"has no attribute {name!r}; attributes are {names}", OpError)
        values[name] = _attr_value(who, attr, value)
    for name in required:
        if name not in given:
            who.fails(f"attribute {name!r} is required and was not given", OpError)
    return Attrs.of_sorted(values)


class _Known(NamedTuple):
    """What is known of the attributes of an op.

    Attributes:
        attrs: all of them.
        usual: what each is where it is not given, sorted by name; of the required ones anything.
        required: those that must be given.
    """

    attrs: Mapping[str, Attr]
    usual: Mapping[str, Any]
    required: tuple[str, ...]


_attrs_known: dict[type[Op], _Known] = {}


def _attrs_of(op: type[Op], who: _Who) -> _Known:
    attrs = {attr.name: attr for attr in op.attrs}
    required = tuple(attr.name for attr in op.attrs if attr.default is REQUIRED)
    usual = {
        name: REQUIRED if name in required else _attr_value(who, attr, attr.default)
        for name, attr in sorted(attrs.items())
    }
    known = _attrs_known[op] = _Known(attrs, usual, required)
    return known


def _attr_value(who: _Who, attr: Attr, value: Any) -> AttrValue:
    if not attr.choices and type(value) is _EXACT.get(attr.type):
        return cast("AttrValue", value)
    try:
        result = _CONVERTERS[attr.type](value)
    except DTypeError as error:
        who.fails(f"attribute {attr.name!r}: {error}", DTypeError)
    except (TypeError, ValueError, AttributeError):
        who.fails(f"attribute {attr.name!r} must be {attr.type}; got {value!r}", OpError)
    if attr.choices and result not in attr.choices:
        choices = ", ".join(attr.choices)
        who.fails(f"attribute {attr.name!r} must be one of {choices}; got {value!r}", OpError)
    return result


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _int(value: Any) -> int:
    return operator.index(value) if as_size(value) is None else value


def _ints(value: Any) -> tuple[int, ...]:
    values = tuple(value)
    return values if _INT.issuperset(map(type, values)) else tuple(map(_int, values))


def _bool(value: Any) -> bool:
    if value not in (0, 1):
        raise ValueError
    return bool(value)


_EXACT: Mapping[str, type] = {"bool": bool, "int": int, "float": float, "str": str, "dtype": DType}
"""What has this type is taken as it is."""

_CONVERTERS: Mapping[str, Callable[[Any], AttrValue]] = {
    "bool": _bool,
    "int": _int,
    "float": float,
    "str": _text,
    "dtype": dtype_of,
    "ints": _ints,
    "floats": lambda value: tuple(map(float, value)),
    "strs": lambda value: tuple(map(_text, value)),
}
