"""Mirrored tensors: one on each device of a placement, independent of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.dtypes import DType
from headrace.errors import JobError, SbpError
from headrace.frontend.tracing import Symbol, SymbolLike, as_tensor
from headrace.graph import JobGraphBuilder
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.sbp import Broadcast, PartialSum, Split
from headrace.tensor_spec import TensorSpec


class MirroredSymbol(Symbol):
    """A tensor for each device, as jobs see them in ``scope.mirrored_view()``.

    Attributes:
        parts: them, as symbols of the consistent view: each on one device, and all of one shape
            and dtype. ``headrace.concat(x.parts, axis=0)`` or ``headrace.add_n(x.parts)`` makes
            one tensor of them.
    """

    def __init__(self, parts: tuple[Symbol, ...]) -> None:
        self.parts = parts

    @property
    def shape(self) -> tuple[int, ...]:
        """Dimensions of each part."""
        return self.parts[0].shape

    @property
    def dtype(self) -> DType:
        """Element type of each part."""
        return self.parts[0].dtype

    def tensor_in(self, builder: JobGraphBuilder) -> Tensor:
        """There is no one tensor.

        Raises:
            JobError: always.
        """
        raise JobError(
            f"{self!r} is mirrored, and is wanted here as one tensor; use it in "
            "scope.mirrored_view(), or make one tensor of its parts, for example by "
            "headrace.concat(x.parts, axis=0)"
        )

    def __repr__(self) -> str:
        spec = TensorSpec(self.shape, self.dtype)
        return f"<MirroredSymbol {self.parts[0].name} and others: {len(self.parts)} x {spec}>"


Add = Callable[[Sequence[Tensor | None], str | None], Sequence[Tensor]]
"""Adds the op with these inputs, under this name or one of the builder's choice."""


def apply_mirrored(
    builder: JobGraphBuilder,
    op: str,
    inputs: Sequence[SymbolLike | None],
    name: str | None,
    placement: Placement,
    add: Add,
) -> tuple[MirroredSymbol, ...]:
    """Add one op for each device of ``placement``; those of a named op are ``name_0``, ``name_1``.

    Raises:
        JobError: an input is mirrored over another number of devices.
        SbpError: an input is distributed in a way that has no part for each device.
    """
    count = placement.parallel_num
    dtype = next((item.dtype for item in inputs if isinstance(item, Symbol)), None)
    given = [_on_each(builder, op, item, dtype, placement) for item in inputs]
    made = []
    for index in range(count):
        with builder.placed(placement.device(index)):
            named = None if name is None else f"{name}_{index}"
            made.append(add([tensors[index] for tensors in given], named))
    return tuple(
        MirroredSymbol(tuple(Symbol(part, builder) for part in parts))
        for parts in zip(*made, strict=True)
    )


def _on_each(
    builder: JobGraphBuilder,
    op: str,
    item: SymbolLike | None,
    dtype: DType | None,
    placement: Placement,
) -> Sequence[Tensor | None]:
    """What each device reads of an input."""
    count = placement.parallel_num
    if isinstance(item, MirroredSymbol):
        if len(item.parts) != count:
            raise JobError(
                f"{op} runs mirrored on '{placement}', {count} devices, and reads {item!r}"
            )
        return [part.tensor_in(builder) for part in item.parts]
    tensor = as_tensor(builder, item, dtype)
    if not isinstance(item, Symbol) or tensor is None:
        return [tensor] * count
    match builder.hint_of(tensor):
        case None | (Broadcast(),):
            return [tensor] * count
        case (Split(axis),) if tensor.spec.shape[axis] % count == 0:
            return _split(builder, tensor, axis, placement)
        case (Split(axis),):
            why = f"its axis {axis} does not divide by {count}, and mirrored parts are alike"
        case (PartialSum(),):
            why = "its parts are terms, of which no device has what the tensor is"
        case _:
            why = "a mirrored tensor lies over one axis of devices"
    raise SbpError(
        f"{op} runs mirrored on '{placement}' and reads {item!r}, which cannot be given to each "
        f"device as it was distributed: {why}"
    )


def _split(
    builder: JobGraphBuilder, tensor: Tensor, axis: int, placement: Placement
) -> Sequence[Tensor]:
    """Equal parts, cut on the first device, from where others take theirs."""
    count = placement.parallel_num
    size = tensor.spec.shape[axis] // count
    with builder.placed(placement.device(0)):
        return [
            builder.op("slice", [tensor], axes=(axis,), starts=(i * size,), ends=((i + 1) * size,))[
                0
            ]
            for i in range(count)
        ]
