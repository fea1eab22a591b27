"""What has a name in a model while it is imported: a tensor, or what is made of tensors.

Sequences and optional values are there only while a model is imported: how many tensors a sequence
has, and whether an optional value is one, is known by then, and its tensors are those of the job.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnx import TypeProto

from headrace.dtypes import DType
from headrace.light_dataclass import dataclass
from headrace.ops import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class TensorSequence:
    """Tensors in order.

    Attributes:
        dtype: of all of them.
    """

    tensors: tuple[Tensor, ...]
    dtype: DType

    def __str__(self) -> str:
        return f"a sequence of {len(self.tensors)} tensors"


@dataclass(frozen=True, slots=True, eq=False)
class Nothing:
    """An optional value that is none; one that is something is that itself."""

    def __str__(self) -> str:
        return "an optional value that is none"


Value = Tensor | TensorSequence | Nothing
"""What a name may stand for."""

Given = Sequence[Value | None]
"""Values by position; None for one left out."""


def is_list(kind: TypeProto) -> bool:
    """True for the type of a sequence, or of an optional value."""
    return kind.WhichOneof("value") in ("sequence_type", "optional_type")


def tensors_of(value: Value | None) -> tuple[Tensor, ...]:
    """The tensors that a value is made of."""
    if isinstance(value, Tensor):
        return (value,)
    return value.tensors if isinstance(value, TensorSequence) else ()
