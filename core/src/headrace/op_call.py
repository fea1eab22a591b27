"""``OpCall``: one application of an op, as inference, kernels and messages see it.

It stands below both ``headrace.ops`` (which checks and infers it) and ``headrace.device`` (whose
kernels are created for it), so that neither needs to know the other.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import TypeVar

from headrace.dtypes import DType
from headrace.light_dataclass import dataclass, setters
from headrace.tensor_spec import TensorSpec

AttrValue = bool | int | float | str | DType | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
"""What an attribute may hold. Lists are stored as tuples, dtypes as ``DType``."""

_Given = TypeVar("_Given")


class Attrs(Mapping[str, AttrValue]):
    """Attributes by name: immutable, hashable, in sorted order."""

    __slots__ = ("_form", "_values")

    def __init__(self, values: Mapping[str, AttrValue] | None = None) -> None:
        self._values = dict(sorted((values or {}).items()))
        self._form: str | None = None

    @classmethod
    def of_sorted(cls, values: dict[str, AttrValue]) -> Attrs:
        """Those of a dict that is sorted by name, and that nobody changes from now on."""
        attrs = cls.__new__(cls)
        attrs._values, attrs._form = values, None
        return attrs

    def __getitem__(self, name: str) -> AttrValue:
        return self._values[name]

    def __contains__(self, name: object) -> bool:  # Mapping's own raises and catches an error
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __or__(self, others: Mapping[str, _Given]) -> dict[str, AttrValue | _Given]:
        """These, and ``others`` in the place of those of the same name."""
        return {**self._values, **others}

    def items(self) -> ItemsView[str, AttrValue]:
        return self._values.items()

    def values(self) -> ValuesView[AttrValue]:
        return self._values.values()

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Attrs) and self._values == other._values

    @property
    def form(self) -> str:
        """What they print, made once: the same only for the same types, where ``1 == True``."""
        if self._form is None:
            self._form = repr(self._values)
        return self._form

    def __repr__(self) -> str:
        return f"Attrs({', '.join(f'{k}={v!r}' for k, v in self._values.items())})"


_NO_ATTRS = Attrs()


@dataclass(frozen=True, slots=True)
class OpCall:
    """An op, what it is applied to, and where.

    Attributes:
        op: name of the op, for example ``conv``.
        name: name of this node in its job; unique there.
        inputs: specs in schema order; an absent optional input is None; a variadic input comes
            last, flattened.
        outputs: specs in schema order; empty while they are being inferred.
        attrs: complete: every attribute of the schema has a value.
        output_count: how many outputs are wanted; only trailing optional ones may be left out.
        location: where the user wrote it (``model.onnx: node 'conv1'`` or ``job.py:12``).
    """

    op: str
    name: str
    inputs: tuple[TensorSpec | None, ...]
    outputs: tuple[TensorSpec, ...] = ()
    attrs: Attrs = _NO_ATTRS
    output_count: int = 1
    location: str = ""

    def __init__(
        self,
        op: str,
        name: str,
        inputs: tuple[TensorSpec | None, ...],
        outputs: tuple[TensorSpec, ...] = (),
        attrs: Attrs = _NO_ATTRS,
        output_count: int = 1,
        location: str = "",
    ) -> None:
        _put_op(self, op)
        _put_name(self, name)
        _put_inputs(self, inputs)
        _put_outputs(self, outputs)
        _put_attrs(self, attrs)
        _put_output_count(self, output_count)
        _put_location(self, location)

    def named(self, name: str, location: str) -> OpCall:
        """The same call of another node."""
        return OpCall(
            self.op, name, self.inputs, self.outputs, self.attrs, self.output_count, location
        )

    def inferred(self, outputs: tuple[TensorSpec, ...]) -> OpCall:
        """Itself, now with its outputs; for whoever made it and let nobody have it yet."""
        _put_outputs(self, outputs)
        return self

    def input(self, index: int) -> TensorSpec:
        """The spec of a required input."""
        spec = self.inputs[index]
        assert spec is not None, f"input {index} of {self} is absent"
        return spec

    def has_input(self, index: int) -> bool:
        """True when the optional input ``index`` is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    # Typed access to attributes: the schema has checked the types, so a mismatch is a bug. They are
    # asked for thousands of times while a model is compiled, so not by way of the mapping.

    def int_attr(self, name: str) -> int:
        """The integer attribute ``name``."""
        value = self.attrs._values[name]
        assert isinstance(value, int), name
        return value

    def float_attr(self, name: str) -> float:
        """The float attribute ``name``."""
        value = self.attrs._values[name]
        assert isinstance(value, (float, int)), name
        return float(value)

    def flag_attr(self, name: str) -> bool:
        """The boolean attribute ``name``."""
        return bool(self.attrs._values[name])

    def str_attr(self, name: str) -> str:
        """The string attribute ``name``."""
        value = self.attrs._values[name]
        assert isinstance(value, str), name
        return value

    def ints_attr(self, name: str) -> tuple[int, ...]:
        """The list-of-integers attribute ``name``."""
        value = self.attrs._values[name]
        assert isinstance(value, tuple), name
        return value  # type: ignore[return-value]

    def floats_attr(self, name: str) -> tuple[float, ...]:
        """The list-of-floats attribute ``name``."""
        value = self.attrs._values[name]
        assert isinstance(value, tuple), name
        return value  # type: ignore[return-value]

    def strs_attr(self, name: str) -> tuple[str, ...]:
        """The list-of-strings attribute ``name``."""
        value = self.attrs._values[name]
        assert isinstance(value, tuple), name
        return value  # type: ignore[return-value]

    def dtype_attr(self, name: str) -> DType:
        """The dtype attribute ``name``."""
        value = self.attrs._values[name]
        assert isinstance(value, DType), name
        return value

    def __str__(self) -> str:
        where = f" ({self.location})" if self.location else ""
        return f"{self.op} {self.name!r}{where}"


(
    _put_op,
    _put_name,
    _put_inputs,
    _put_outputs,
    _put_attrs,
    _put_output_count,
    _put_location,
) = setters(OpCall)
