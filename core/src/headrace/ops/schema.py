"""What an op is: one declarative class that says what it takes, what it gives, and how to check it.

A family file (``elementwise.py``, ``conv.py``, ...) holds the classes of related ops and lists them
in ``OPS``. An op class is never instantiated; its methods are static or class methods over an
``OpCall``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from headrace.data_format import Order
from headrace.dtypes import ALL, DType, dtype_of, storage_only
from headrace.errors import DTypeError, OpError
from headrace.light_dataclass import dataclass, setters
from headrace.light_tuple import NamedTuple
from headrace.op_call import Attrs, AttrValue, OpCall
from headrace.sbp import Sbp
from headrace.sizes import Size
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

        Returns:
            None when there is no such call: when the order of the axes is what the op is about.
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
    known = _known.get(op) or _know(op)
    try:
        values = _complete_attrs(known, op, attrs)
        form = (op, outputs, *inputs, *values.values())
        if known.has_floats:
            form += (values.form,)  # 0.0 equals -0.0, and prints something else
        checked = _checked.get(form)
        if checked is not None:
            complete, specs, values = checked
            return OpCall(op.name, name, complete, specs, values, outputs, location)
        complete = _complete_inputs(known, op, inputs, outputs)
    except OpError as error:
        raise type(error)(f"{OpCall(op.name, name, (), location=location)}: {error}") from None
    call = OpCall(op.name, name, complete, (), values, outputs, location)
    specs = tuple(op.infer(call))
    assert len(specs) == outputs, f"{op.name} inferred {len(specs)} of {outputs} outputs"
    _remember(form, (complete, specs, values))
    return call.inferred(specs)


_Checked = tuple[tuple[TensorSpec | None, ...], tuple[TensorSpec, ...], Attrs]

# Nets repeat themselves, and passes make the calls anew that were there before. The key is what
# inference depends on: the op, how many outputs, the inputs, and the value of every attribute.
_checked: dict[tuple[object, ...], _Checked] = {}
_MOST_CHECKED = 4096


def _remember(form: tuple[object, ...], checked: _Checked) -> None:
    if len(_checked) >= _MOST_CHECKED:
        _checked.clear()
    _checked[form] = checked


class _Known(NamedTuple):
    """What calls of an op need of its schema, found once.

    Attributes:
        converters: make of what is given for an attribute what is kept.
        usual: what each attribute is where it is not given, sorted by name; of the required ones
            anything.
        required: the attributes that must be given.
        has_floats: whether floats are among them.
        legal: how many outputs, of inputs of which dtypes, were found to be legal.
    """

    converters: Mapping[str, Callable[[Any], AttrValue]]
    usual: Mapping[str, Any]
    required: tuple[str, ...]
    has_floats: bool
    legal: set[tuple[int | DType | None, ...]]


_known: dict[type[Op], _Known] = {}


def _know(op: type[Op]) -> _Known:
    converters: dict[str, Callable[[Any], AttrValue]] = {}
    usual = {}
    for name, kind, default, choices in sorted(op.attrs):
        convert = converters[name] = _one_of(choices) if choices else _CONVERTERS[kind]
        usual[name] = REQUIRED if default is REQUIRED else convert(default)
    required = tuple([attr.name for attr in op.attrs if attr.default is REQUIRED])
    has_floats = not {"float", "floats"}.isdisjoint([attr.type for attr in op.attrs])
    known = _known[op] = _Known(converters, usual, required, has_floats, set())
    return known


def _complete_inputs(
    known: _Known, op: type[Op], given: Sequence[TensorSpec | None], outputs: int
) -> tuple[TensorSpec | None, ...]:
    padded = tuple(given)
    if len(padded) < len(op.inputs):
        padded += (None,) * (len(op.inputs) - len(padded))
    kind = (outputs, *[None if spec is None else spec.dtype for spec in padded])
    if kind not in known.legal:
        _check_inputs(op, padded)
        _check_outputs(op, outputs)
        known.legal.add(kind)
    return padded


def _check_inputs(op: type[Op], given: tuple[TensorSpec | None, ...]) -> None:
    args = op.inputs
    if len(given) > len(args):
        if not args or not args[-1].variadic:
            names = ", ".join(i.name for i in args) or "none"
            raise OpError(f"takes {len(args)} inputs ({names}); {len(given)} were given")
        args += args[-1:] * (len(given) - len(args))
    groups: dict[str, tuple[str, DType]] = {}
    for (name, dtypes, group, optional, _), spec in zip(args, given, strict=True):
        if spec is None:
            if not optional:
                raise OpError(f"input {name!r} is required and was not given")
            continue
        dtype = spec.dtype
        if dtype not in dtypes:
            allowed = ", ".join(d.name for d in sorted(dtypes) if not storage_only(d))
            raise DTypeError(f"input {name!r} is {spec}; its dtype may be {allowed}")
        if group:
            first, one = groups.setdefault(group, (name, dtype))
            if one is not dtype:
                both = f"inputs {first!r} and {name!r}"
                raise DTypeError(f"{both} must have one dtype; they are {one} and {dtype}")


def _check_outputs(op: type[Op], wanted: int) -> None:
    if wanted != len(op.outputs):
        needed = sum(not output.optional for output in op.outputs)
        if not needed <= wanted <= len(op.outputs):
            raise OpError(f"gives {needed} to {len(op.outputs)} outputs, not {wanted}")


def _complete_attrs(known: _Known, op: type[Op], given: Mapping[str, object]) -> Attrs:
    converters, values = known.converters, dict(known.usual)
    try:
        for name, value in given.items():
            values[name] = converters[name](value)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _refusal(op, name, value, error) from None
    for name in known.required:
        if name not in given:
            raise OpError(f"attribute {name!r} is required and was not given")
    return Attrs.of_sorted(values)


def _refusal(op: type[Op], name: str, value: object, error: Exception) -> OpError:
    """Of an attribute that there is not, or whose converter raised ``error``."""
    attr = next((attr for attr in op.attrs if attr.name == name), None)
    if attr is None:
        names = ", ".join(attr.name for attr in op.attrs) or "none"
        return OpError(f"has no attribute {name!r}; attributes are {names}")
    if isinstance(error, DTypeError):
        return DTypeError(f"attribute {name!r}: {error}")
    wanted = f"one of {', '.join(attr.choices)}" if attr.choices else attr.type
    return OpError(f"attribute {name!r} must be {wanted}; got {value!r}")


def _one_of(choices: tuple[str, ...]) -> Callable[[Any], str]:
    def chosen(value: str) -> str:
        if value not in choices:
            raise ValueError
        return value

    return chosen


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _int(value: Any) -> int:
    kind = type(value)
    return value if kind is int or kind is Size else int(operator.index(value))


def _ints(value: Any) -> tuple[int, ...]:
    values = tuple(value)
    return values if _INT.issuperset(map(type, values)) else tuple(map(_int, values))


_INT = frozenset({int})


def _bool(value: Any) -> bool:
    if value not in (0, 1):
        raise ValueError
    return bool(value)


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
