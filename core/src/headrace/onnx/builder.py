"""``BoundedBuilder``: builds the job of a model within the limits of ``headrace.onnx.limits``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from headrace.errors import ResourceLimitError
from headrace.graph import CORE_OPS, OpSource
from headrace.graph.job_graph import JobGraphBuilder
from headrace.onnx import limits
from headrace.ops import Tensor
from headrace.placement import Placement


class BoundedBuilder(JobGraphBuilder):
    """Refuses tensors, and sums of folded constants, that no useful model has.

    A file of a hundred bytes can ask for tensors of any size; the bound is checked on their
    specs, and nothing of that size has been allocated when it fails.
    """

    def __init__(self, name: str, placement: Placement, ops: OpSource = CORE_OPS) -> None:
        super().__init__(name, placement, ops=ops)
        self._folded = 0

    def op(
        self,
        op: str,
        inputs: Sequence[Tensor | None],
        *,
        outputs: int = 1,
        name: str | None = None,
        location: str = "",
        attrs: Mapping[str, object] = MappingProxyType({}),
        **more_attrs: object,
    ) -> tuple[Tensor, ...]:
        """As ``JobGraphBuilder.op``.

        Raises:
            ResourceLimitError: an output, or all folded constants together, are too large.
        """
        made = super().op(
            op,
            inputs,
            outputs=outputs,
            name=name,
            location=location,
            attrs={**attrs, **more_attrs},
        )
        for tensor in made:
            if tensor.spec.nbytes > limits.TENSOR_BYTES:
                raise ResourceLimitError(
                    f"{location}: {op} would make {tensor.spec}, {tensor.spec.nbytes} bytes; the "
                    f"limit for one tensor is {limits.TENSOR_BYTES}"
                )
            if self.value(tensor) is not None:
                self._folded += tensor.spec.nbytes
        if self._folded > limits.FOLDED_BYTES:
            raise ResourceLimitError(
                f"{location}: tensors that do not depend on the inputs take over "
                f"{limits.FOLDED_BYTES} bytes"
            )
        return made
