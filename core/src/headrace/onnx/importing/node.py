"""``Node``: one ONNX node while it is imported; everything that a converter sees and may do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from headrace.errors import HeadraceError, InvalidModelError, UnsupportedModelError
from headrace.onnx.file import attributes
from headrace.onnx.file.lists import Words
from headrace.onnx.importing.builder import BoundedBuilder
from headrace.onnx.importing.guesses import Assumption
from headrace.onnx.importing.measure import Compute, MeasureNeeded
from headrace.onnx.importing.site import Site
from headrace.onnx.importing.values import TensorSequence, Value
from headrace.op_call import OpCall
from headrace.ops import Tensor, get_op, make_call
from headrace.tensor_spec import Array, TensorSpec

if TYPE_CHECKING:
    from headrace.onnx.importing.written_regions import Run

REQUIRED: Any = object()


class ValueNeeded(HeadraceError):
    """The model's shapes depend on the value of ``tensor``, which is not known yet.

    Never reaches a user: the importer answers it by importing again with the values of the model
    inputs that the tensor is computed from, or with an error that names the node.

    Attributes:
        tensor: whose value it is.
        instead: where it is needed to write a loop out, how the loop runs without it.
    """

    def __init__(self, tensor: Tensor, reason: str) -> None:
        super().__init__(reason)
        self.tensor = tensor
        self.instead: MeasureNeeded | None = None


class Node:
    """A node, its inputs as values of the job under construction, and its attributes.

    Attributes:
        opset: version of the operator set that gives the node its meaning.
        inputs: None for an input left out.
        location: file and node.
        computed: for tensors that an earlier stage of the model has computed, what holds them now.
    """

    __slots__ = (
        "_attrs",
        "_builder",
        "_site",
        "computed",
        "inputs",
        "location",
        "opset",
    )

    def __init__(
        self, builder: BoundedBuilder, site: Site, opset: int, folder: Path | None
    ) -> None:
        """The node at ``site``; ``folder`` is where the model's file is.

        Raises:
            InvalidModelError, UnsupportedModelError: an attribute cannot be read.
        """
        self.opset = opset
        self.inputs = site.inputs
        self.location = site.where
        self.computed: dict[Tensor, Tensor] = {}
        self._builder = builder
        self._site = site
        self._attrs = attributes.values(site.resolved, site.where, folder)

    @property
    def op_type(self) -> str:
        """ONNX name, for example ``Conv``."""
        return self._site.wired.key[1]

    @property
    def output_count(self) -> int:
        """How many outputs are used, counted up to the last that is."""
        return self._site.used

    @property
    def declared_count(self) -> int:
        """How many outputs the node has, used or not."""
        return len(self._site.wired.outputs)

    def attr(self, name: str, default: Any = REQUIRED) -> Any:
        """The attribute as int, float, str, numpy array, or a list of these.

        Raises:
            InvalidModelError: it is required and absent, or has another type than the default.
        """
        value = self._attrs.get(name, default)
        if value is REQUIRED:
            self.invalid(f"attribute {name!r} is required and is absent")
        if name in self._site.resolved.lists and not isinstance(value, list):
            value = value.tolist()
        if default is REQUIRED or default is None or type(value) is type(default):
            return value
        if not isinstance(value, (list, tuple)) or not isinstance(default, (list, tuple)):
            self.invalid(f"attribute {name!r} should be {type(default).__name__}: {value!r}")
        return value

    def array(self, name: str, dtype: Any) -> Array:
        """The required attribute, a list or a tensor of numbers, as a new vector of ``dtype``.

        Raises:
            InvalidModelError: it is absent.
        """
        value = self._attrs.get(name)
        if value is None:
            self.invalid(f"attribute {name!r} is required and is absent")
        return np.array(value, dtype).reshape(-1)

    def words(self, name: str) -> Words:
        """The required attribute, a list of words of which there are few.

        Raises:
            InvalidModelError: it is absent.
        """
        value = self._attrs.get(name)
        if isinstance(value, Words):
            return value
        places: dict[str, int] = {}
        found = [places.setdefault(word, len(places)) for word in self.attr(name)]
        return Words(list(places), np.array(found, np.int64))

    def has_attr(self, name: str) -> bool:
        """True when the model gives the attribute."""
        return name in self._attrs

    def reading(self, *inputs: Value | None) -> Node:
        """This node with other inputs, for a converter of the op that has them so."""
        other = copy(self)
        other.inputs = inputs
        return other

    def input(self, index: int) -> Tensor:
        """The required input ``index``.

        Raises:
            InvalidModelError: it is absent, or no tensor.
        """
        value = self.inputs[index] if index < len(self.inputs) else None
        if not isinstance(value, Tensor):
            self._no_tensor(index, value)
        return value

    def optional(self, index: int) -> Tensor | None:
        """The input ``index``, or None when it is left out.

        Raises:
            InvalidModelError: it is no tensor.
        """
        value = self.inputs[index] if index < len(self.inputs) else None
        if value is not None and not isinstance(value, Tensor):
            self._no_tensor(index, value)
        return value

    def _no_tensor(self, index: int, value: Value | None) -> NoReturn:
        if value is None:
            self.invalid(f"input {index} is required and is absent")
        self.invalid(f"input {index} is {value}; it takes a tensor")

    def given(self, index: int) -> Value:
        """The required input ``index``, whatever it is.

        Raises:
            InvalidModelError: it is absent.
        """
        value = self.inputs[index] if index < len(self.inputs) else None
        if value is None:
            self.invalid(f"input {index} is required and is absent")
        return value

    def sequence(self, index: int) -> TensorSequence:
        """The required input ``index``, a sequence.

        Raises:
            InvalidModelError: it is absent, or no sequence.
        """
        value = self.given(index)
        if not isinstance(value, TensorSequence):
            self.invalid(f"input {index} is {getattr(value, 'spec', value)}; it takes a sequence")
        return value

    def value(self, index: int) -> Array:
        """The value of the required input ``index``, which must be known at import.

        Raises:
            ValueNeeded: it is computed from model inputs; the importer handles it.
            InvalidModelError: the input is absent.
        """
        tensor = self.input(index)
        value = self._builder.value(tensor)
        if value is None:
            raise ValueNeeded(tensor, f"{self}: needs the value of input {index} at compile time")
        return value

    def ints(self, index: int) -> tuple[int, ...] | None:
        """The value of input ``index``, integers, or None when it is left out.

        Some may be symbolic sizes.

        Raises:
            ValueNeeded: as ``value``.
        """
        tensor = self.optional(index)
        if tensor is None:
            return None
        known = self._builder.integers(tensor)
        integers = self.value(index) if known is None else known
        if integers.dtype.kind == "f":  # as some ops took them at first
            integers = integers.astype(np.int64)
        return tuple(integers.reshape(-1).tolist())

    def numbers(self, index: int) -> tuple[int, ...] | None:
        """The elements of input ``index`` if it is of a few integers that are known, else None.

        Some may be symbolic sizes, which ``value`` would pin to a number.
        """
        numbers = self._builder.numbers(self.input(index))
        return None if numbers is None else tuple(numbers.reshape(-1))

    def sizes(self, sizes: Sequence[int], shape: tuple[int, ...] | None = None) -> Tensor:
        """Add 64-bit integers, of which some may be symbolic sizes; by default as a vector."""
        return self._builder.sizes(sizes, (len(sizes),) if shape is None else shape)

    def measured(
        self, indices: Sequence[int], compute: Compute, outputs: int = 1
    ) -> tuple[Tensor, ...]:
        """What ``compute`` makes of the values of required inputs; its shapes depend on them.

        Where the values are not known at import a stage of the model ends here, and what follows
        reads these inputs as that stage has computed them.

        Args:
            indices: of the inputs.
            compute: makes ``outputs`` arrays of their values, on the host.
            outputs: how many.

        Raises:
            MeasureNeeded: they have not been computed yet; the importer handles it.
            InvalidModelError: an input is absent.
        """
        tensors = [self.input(index) for index in indices]
        reads, made = self.measured_of(tensors, compute, outputs)
        if reads != tensors:
            self.computed.update(zip(tensors, reads, strict=True))
        return made

    def measured_of(
        self, tensors: Sequence[Tensor], compute: Compute, outputs: int = 1
    ) -> tuple[Sequence[Tensor], tuple[Tensor, ...]]:
        """As ``measured``, of tensors that the converter has made; returns these as well.

        Raises:
            MeasureNeeded: they have not been computed yet; the importer handles it.
        """
        known = [self._builder.value(tensor) for tensor in tensors]
        if all(value is not None for value in known):
            return tensors, tuple(map(self.constant, compute(*known)))
        return self._builder.measured(tensors, compute, outputs, str(self))

    def likely(self, index: int) -> Array | None:
        """The value of the required input ``index`` where it is known, or guessed."""
        return self._builder.likely(self.input(index))

    def assume(self, indices: Sequence[int], holds: Callable[..., bool]) -> None:
        """Build the job for what holds of the values of required inputs, as they are guessed."""
        tensors = tuple(self.input(index) for index in indices)
        self._builder.assumptions.append(Assumption(tensors, holds))

    def drawn(self, kind: str, spec: TensorSpec, seed: float | None) -> Tensor:
        """Random numbers, of a distribution that ``headrace.onnx.importing.draws`` names.

        Args:
            kind: of distribution.
            spec: float32 or float64.
            seed: the numbers are a constant; None: each call of the job has others.
        """
        return self._builder.drawn(kind, spec, seed)

    def integers(self, index: int) -> Array | None:
        """The value of the required input ``index`` where it is known, an array of integers.

        An array of objects where some are symbolic sizes; None where these say how many there are.
        """
        return self._builder.integers(self.input(index))

    def progression(self, index: int) -> tuple[int, int, int] | None:
        """The first element of the required input ``index``, the step to the next, and the count.

        Only of an evenly spaced vector of symbolic size.
        """
        return self._builder.progression(self.input(index))

    def region(self, index: int) -> tuple[Run, ...] | None:
        """The region that the required input ``index`` says by the places of its elements.

        None where these are not known, or are no region.
        """
        return self._builder.region(self.input(index))

    def is_known(self, index: int) -> bool:
        """Whether the required input ``index`` has a value that is known at import."""
        return self._builder.is_known(self.input(index))

    def known(self, tensor: Tensor) -> Array | None:
        """The value of ``tensor`` when it is known at import, without asking for it."""
        return self._builder.value(tensor)

    def op(
        self, op: str, inputs: Sequence[Tensor | None], *, outputs: int = 1, **attrs: object
    ) -> tuple[Tensor, ...]:
        """Add a headrace op to the job; returns its outputs.

        Raises:
            OpError: the op does not take these inputs or attributes; names this node.
        """
        return self._builder.op(op, inputs, outputs=outputs, location=self.location, attrs=attrs)

    def one(self, op: str, inputs: Sequence[Tensor | None], **attrs: object) -> Tensor:
        """``op`` for an op with one output."""
        return self._builder.op(op, inputs, location=self.location, attrs=attrs)[0]

    def call(
        self, op: str, inputs: Sequence[Tensor | None], *, outputs: int = 1, **attrs: object
    ) -> OpCall:
        """What ``op`` would add, checked; nothing is added.

        Raises:
            OpError: as ``op``.
        """
        specs = [None if tensor is None else tensor.spec for tensor in inputs]
        place = self.location
        return make_call(get_op(op), place, specs, attrs, outputs=outputs, location=place)

    def has_kernel(self, call: OpCall) -> bool:
        """Whether the device that the job is for has a kernel for ``call``."""
        return self._builder.has_kernel(call)

    def constant(self, value: Array) -> Tensor:
        """Add a constant to the job."""
        return self._builder.constant(value)

    def invalid(self, reason: str) -> NoReturn:
        """Raise InvalidModelError: the model contradicts itself or the ONNX specification."""
        raise InvalidModelError(f"{self}: {reason}")

    def refuse(self, reason: str) -> NoReturn:
        """Raise UnsupportedModelError: the node is valid and headrace does not run it."""
        raise UnsupportedModelError(f"{self}: {reason}")

    def __str__(self) -> str:
        return f"{self.location} ({self.op_type}-{self.opset})"


Converter = Callable[[Node], Value | tuple[Value | None, ...]]
"""Turns a node into headrace ops; returns its used outputs in order, None for one it lacks."""
