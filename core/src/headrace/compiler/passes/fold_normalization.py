"""Fold a batch norm into the convolution or the product of matrices before it."""

from __future__ import annotations

import numpy as np

from headrace.aligned import Region
from headrace.dtypes import float32, float64
from headrace.graph.constants import entries_of
from headrace.graph.job_graph import JobGraph, JobOp
from headrace.graph.rewriter import GraphRewriter, replace_ops
from headrace.light_dataclass import dataclass
from headrace.numpy_ops import scaled
from headrace.ops import Tensor
from headrace.ops.channels import channel_axis
from headrace.ops.matmul import matrix_axes
from headrace.tensor_spec import Array

_CONVOLUTIONS = ("conv", "conv_transpose")

FOLDED = (float32, float64)
"""Dtypes of weights that are folded: 16 bits would round the product of weight and scale."""


def fold_normalization(graph: JobGraph) -> JobGraph:
    """Replace ``normalization(conv(x, w, b))`` by ``conv(x, w', b')``, and so for ``matmul``.

    Before: any ops. After: no normalization reads a convolution with constant weights along its
    channels, nor a product with constant columns along these, with or without a constant added,
    where its own vectors are constant too and nobody else reads what lies between. With
    ``s = gamma / sqrt(variance + epsilon)``, w' is ``w * s`` and b' is ``(b - mean) * s + beta``,
    both computed in float64. Where one of these tensors has a hint, nothing is folded: it would
    not be there to lie so. Nor where a number is not finite, or would not be: infinity times a
    weight of zero is another result than infinity times the sum.
    """
    if not graph.of_kind("normalization"):
        return graph
    folds = _Finder(graph).folds()
    gone = {op.call.name for fold in folds.values() for op in (fold.product, *fold.added)}
    return replace_ops(graph, folds, lambda op, new: folds[op.call.name].build(new), gone=gone)


@dataclass(frozen=True, slots=True, eq=False)
class _Fold:
    """A normalization, the ops before it that go into one with it, and their numbers."""

    norm: JobOp
    added: tuple[JobOp, ...]  # the op that adds a constant to a product, if there is one
    product: JobOp
    weight: Array
    bias: Array

    def build(self, new: GraphRewriter) -> tuple[Tensor, ...]:
        call, (x, *_) = self.product.call, self.product.inputs
        assert x is not None
        read, bias = [new.tensor(x), new.constant(self.weight)], new.constant(self.bias)
        name, location, attrs = self.norm.call.name, call.location, call.attrs
        if call.op in _CONVOLUTIONS:
            return new.op(call.op, [*read, bias], name=name, location=location, attrs=attrs)
        (y,) = new.op("matmul", read, name=call.name, location=location, attrs=attrs)
        return new.op("add", [y, bias], name=name, location=self.norm.call.location)


class _Finder:
    """Looks for what can be folded in one graph."""

    def __init__(self, graph: JobGraph) -> None:
        self._graph = graph
        self._makers, self._readers = graph.index.makers, graph.index.readers
        self._kept = {tensor.name for _, tensor in graph.results} | graph.hints.keys()
        products = graph.of_kind(*_CONVOLUTIONS, "matmul")
        weights = {op.inputs[1] or "" for op in products} & graph.constants.keys()
        entries = entries_of(graph.constants)
        self._memory = Region(sum(entries[name].nbytes for name in weights))

    def folds(self) -> dict[str, _Fold]:
        """What is folded, by the name of the normalization."""
        norms = self._graph.of_kind("normalization")
        found = {op.call.name: self._fold(op) for op in norms}
        return {name: fold for name, fold in found.items() if fold is not None}

    def _fold(self, norm: JobOp) -> _Fold | None:
        before = self._only_read_by(norm, 0)
        if before is None or not all(map(self._is_constant, norm.inputs[1:])):
            return None
        if before.call.op in _CONVOLUTIONS:
            return self._into(norm, (), before, before.inputs[2])
        if before.call.op == "matmul":
            return self._into(norm, (), before, None)
        if before.call.op == "add":
            for index, bias in enumerate(reversed(before.inputs)):
                product = self._only_read_by(before, index)
                if product is None or product.call.op != "matmul":
                    continue
                if product.call.outputs == before.call.outputs:  # or the sum stretches it
                    return self._into(norm, (before,), product, bias)
        return None

    def _only_read_by(self, op: JobOp, index: int) -> JobOp | None:
        """What makes input ``index`` of ``op``, beside it, for nobody else."""
        name = op.inputs[index]
        made_by = self._makers.get(name or "")
        if made_by is None or name in self._kept:
            return None
        if self._readers[name] != (op,) or op.inputs.count(name) > 1:
            return None
        return made_by if made_by.placement == op.placement else None

    def _is_constant(self, name: str | None) -> bool:
        return name in self._graph.constants and name not in self._graph.hints

    def _into(
        self, norm: JobOp, added: tuple[JobOp, ...], product: JobOp, bias: str | None
    ) -> _Fold | None:
        weight, shape = product.inputs[1], _scale_shape(product)
        axis = norm.call.int_attr("axis") % norm.call.input(0).rank
        if (
            shape is None
            or axis != _channels(product)
            or product.call.input(1).dtype not in FOLDED
            or not (self._is_constant(weight) and (bias is None or self._is_constant(bias)))
        ):
            return None
        assert weight is not None
        w = self._graph.passing(weight)
        mean, variance, gamma, beta = map(self._wide, norm.inputs[1:])
        b = np.zeros(()) if bias is None else self._wide(bias)
        dtype = product.call.input(1).dtype.numpy
        with np.errstate(all="ignore"):  # what comes of it is looked at below
            scale = gamma / np.sqrt(variance + norm.call.float_attr("epsilon"))
            folded_weight = scaled(w, scale.reshape(shape), self._memory.empty)
            folded_bias = ((b - mean) * scale + beta).astype(dtype)
        if not all(np.isfinite(a).all() for a in (scale, folded_weight, folded_bias)):
            return None
        return _Fold(norm, added, product, folded_weight, folded_bias)

    def _wide(self, name: str | None) -> Array:
        assert name is not None
        return self._graph.constants[name].astype(np.float64)


def _channels(product: JobOp) -> int:
    """The axis of what is made that has an index for each number of the scale."""
    if product.call.op in _CONVOLUTIONS:
        return channel_axis(product.call)
    return product.call.outputs[0].rank - 1


def _scale_shape(product: JobOp) -> tuple[int, ...] | None:
    """The shape in which the scale meets the weights; None where these have no columns."""
    call, rank = product.call, product.call.input(1).rank
    axis: int | None
    if call.op == "conv":
        axis = 0
    elif call.op == "conv_transpose":  # whose groups have the same columns, for other results
        axis = channel_axis(call) if call.int_attr("groups") == 1 else None
    else:
        axis, _ = matrix_axes(product.call, 1)
    return None if axis is None else tuple(-1 if i == axis else 1 for i in range(rank))
