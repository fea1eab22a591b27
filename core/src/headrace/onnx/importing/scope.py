"""``Scope``: the values that have a name at some place of a model while it is imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from onnx import AttributeProto

from headrace.errors import InvalidModelError
from headrace.onnx.file.attributes import Attributes
from headrace.onnx.file.text import quote
from headrace.onnx.importing.values import Value, tensors_of
from headrace.ops import Tensor

Brought = TypeVar("Brought")


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
        self._values: dict[str, Value | None] = {}
        # A constant is made when it is first read: models bring some that nothing reads.
        self._later: list[tuple[Mapping[str, Any], Callable[[Any], Tensor]]] = []
        self._alike: Mapping[str, str] = {}

    def bind(self, name: str, value: Value | None) -> None:
        """Give a value its name; None stands for an input that the caller left out."""
        self._values[name] = value

    def bind_later(self, brought: Mapping[str, Brought], make: Callable[[Brought], Tensor]) -> None:
        """Name tensors that ``make`` makes of what is ``brought`` when they are first read."""
        self._later.append((brought, make))

    def bind_alike(self, names: Mapping[str, str]) -> None:
        """Let each of these names stand for what another one stands for, which it is given with."""
        self._alike = names

    def computed(self) -> dict[str, Value]:
        """What has a value by now, by name, in the order in which names were given."""
        return {name: value for name, value in self._values.items() if value is not None}

    def tensors(self, names: Iterable[str]) -> list[Tensor]:
        """The tensors that have one of these names here, or are in sequences that have."""
        values, alike = self._values, self._alike
        found = [values.get(name if name in values else alike.get(name, name)) for name in names]
        return [tensor for value in found for tensor in tensors_of(value)]

    def get(self, name: str) -> Value | None:
        """The value called ``name``; None for "" and for an input left out.

        Raises:
            InvalidModelError: there is none.
        """
        scope: Scope | None = self
        while scope is not None:
            value = scope._values.get(name)
            if value is not None:
                return value
            if name in scope._values:
                return None
            other = scope._alike.get(name)
            if other is not None:
                value = scope._values[name] = scope.get(other)
                return value
            for brought, make in scope._later:
                if name in brought:
                    made = scope._values[name] = make(brought[name])
                    return made
            scope = scope._outer
        if not name:
            return None
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
