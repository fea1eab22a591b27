"""Variables: tensors that outlive calls, and are shared by the jobs of a session that name them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.initializer import Initializer
from headrace.light_dataclass import dataclass
from headrace.placement import Placement
from headrace.sbp import NdSbp
from headrace.tensor_spec import TensorSpec

if TYPE_CHECKING:  # a plan has variables, and no ops
    from headrace.ops import Tensor


@dataclass(frozen=True, slots=True)
class Variable:
    """What all jobs that name a variable must say of it alike.

    Attributes:
        name: its own among the variables of a session.
        spec: the whole of it.
        placement: the devices that hold it.
        sbp: how it lies over them: split or whole along each axis of their hierarchy.
        initializer: what it begins with.
        seed: of the initializer, 0 to 2**32 - 1.
        trainable: whether an optimizer may change it.
    """

    name: str
    spec: TensorSpec
    placement: Placement
    sbp: NdSbp
    initializer: Initializer
    seed: int = 0
    trainable: bool = True

    def differences(self, other: Variable) -> Iterator[tuple[str, object, object]]:
        """(what, here, there) for each thing that the two do not say alike."""
        for what, here, there in (
            ("shape", list(self.spec.shape), list(other.spec.shape)),
            ("dtype", self.spec.dtype, other.spec.dtype),
            ("placement", self.placement, other.placement),
            ("distribute", self.sbp, other.sbp),
            ("initializer", self.initializer, other.initializer),
            ("random_seed", self.seed, other.seed),
            ("trainable", self.trainable, other.trainable),
        ):
            if here != there:
                yield what, here, there


@dataclass(frozen=True, slots=True)
class VariablePart:
    """A tensor of a job that is a variable, or what one device holds of it.

    A job reads what the variable holds when the call begins.

    Attributes:
        tensor: its name in the job, and its own spec.
        variable: what it is or is part of.
        part: which part; 0 for the whole.
        placement: where it lies.
    """

    tensor: Tensor
    variable: Variable
    part: int
    placement: Placement
