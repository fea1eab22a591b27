"""``Scope``: the values that have a name at some place of a model while it is imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from onnx import AttributeProto

from headrace.errors import InvalidModelError
from headrace.onnx.file.attributes import Attributes
from headrace.onnx.file.text import quote
from headrace.onnx.importing.values import Value, tensors_of
from headrace.ops import Tensor

_ABSENT: Any = object()


class Scope:
    """The names of one graph or function body; a graph inside a node also sees those around it.

    Attributes:
        where: file and function, for messages.
        opsets: version of each domain's operator set here.
        attributes: what attributes of a function's nodes may refer to.
        depth: how many calls and branches this one is inside of.
    """

    def __init__(
        self,
        where: str,
        opsets: Mapping[str, int],
        *,
        attributes: Mapping[str, AttributeProto] | None = None,
        outer: Scope | None = None,
        depth: int = 0,
    ) -> None:
        self.where = where
        self.opsets = opsets
        self.attributes: Attributes = attributes or {}
        self.depth = depth
        self._outer = outer
        # A constant is made when it is first read: models bring some that nothing reads.
        self._values: dict[str, Value | Callable[[], Tensor] | None] = {}
        # Of each tensor: it may have several, and be in sequences that have.
        self._names: dict[str, int] = {}

    def bind(self, name: str, value: Value | None) -> None:
        """Give a value its name; None stands for an input that the caller left out."""
        if name in self._values:
            self.release(name)
        self._values[name] = value
        if isinstance(value, Tensor):
            self._names[value.name] = self._names.get(value.name, 0) + 1
            return
        for tensor in tensors_of(value):
            self._names[tensor.name] = self._names.get(tensor.name, 0) + 1

    def bind_later(self, name: str, make: Callable[[], Tensor]) -> None:
        """Name a tensor that ``make`` makes when it is first read."""
        self._values[name] = make

    def computed(self) -> dict[str, Value]:
        """What has a value by now, by name, in the order in which names were given."""
        return {name: v for name, v in self._values.items() if v is not None and not callable(v)}

    def release(self, name: str) -> Tensor | None:
        """Let a name be nobody's; returns the tensor that had it, if that has no other one here."""
        value = self._values.pop(name, None)
        if value is None or callable(value):
            return None
        if isinstance(value, Tensor):
            self._names[value.name] = left = self._names[value.name] - 1
            return None if left else value
        for tensor in tensors_of(value):
            self._names[tensor.name] -= 1
        return None

    def get(self, name: str) -> Value | None:
        """The value called ``name``; None for "" and for an input left out.

        Raises:
            InvalidModelError: there is none.
        """
        if not name:
            return None
        scope: Scope | None = self
        while scope is not None:
            found: Value | Callable[[], Tensor] | None = scope._values.get(name, _ABSENT)
            if isinstance(found, Tensor):
                return found
            if found is not _ABSENT:
                if callable(found):
                    made = found()
                    del scope._values[name]
                    scope.bind(name, made)
                    return made
                return found
            scope = scope._outer
        raise InvalidModelError(f"{self.where}: {quote(name)} is read before it is made")

    def inside(self) -> Scope:
        """A scope for a graph inside a node of this one."""
        return Scope(
            self.where,
            self.opsets,
            attributes=self.attributes,
            outer=self,
            depth=self.depth + 1,
        )
