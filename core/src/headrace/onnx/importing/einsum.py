"""Einstein sums: an equation, read and checked, and expressed in matrix products.

Factors are multiplied two at a time, from left to right. What a label of the two has to do with the
rest of the equation says which role it plays in their product: it counts several matrices, rows,
columns, or what is summed up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from headrace.light_dataclass import dataclass
from headrace.onnx.importing.node import Node
from headrace.ops import Tensor

Labels = tuple[str, ...]
"""A label for each axis: a letter, or ``.N`` for the N-th axis from the end of an ellipsis."""

_TERM = re.compile(r"([A-Za-z]*)(\.\.\.)?([A-Za-z]*)")


@dataclass(frozen=True, slots=True)
class Equation:
    """The labels of each factor's axes, and of the result's."""

    factors: tuple[Labels, ...]
    result: Labels


@dataclass(frozen=True, slots=True)
class Factor:
    """A tensor and the labels of its axes, none of which it has twice."""

    tensor: Tensor
    labels: Labels

    def size(self, label: str) -> int:
        """The length of the axis of ``label``; 1 where it has none."""
        return self.tensor.spec.shape[self.labels.index(label)] if label in self.labels else 1


def read_equation(node: Node, text: str, ranks: Sequence[int]) -> Equation:
    """Read an equation as ONNX and numpy write it.

    Args:
        node: for messages.
        text: for example ``bij,bjk->bik`` or ``...ii``.
        ranks: of the factors.

    Raises:
        InvalidModelError: it is no equation, or does not fit the ranks.
    """
    plain = text.replace(" ", "")
    left, arrow, right = plain.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        node.invalid(f"equation {text!r} has {len(terms)} terms for {len(ranks)} inputs")
    factors = tuple(
        _labels(node, text, term, rank) for term, rank in zip(terms, ranks, strict=True)
    )
    known = [label for labels in factors for label in labels]
    dots = sorted({label for label in known if label[0] == "."}, key=_from_the_end, reverse=True)
    if arrow:
        result = _labels(node, text, right, len(right.replace("...", "")), dots)
    else:
        once = sorted(label for label in set(known) if label[0] != "." and known.count(label) == 1)
        result = (*dots, *once)
    for label in result:
        if label not in known or result.count(label) > 1:
            node.invalid(
                f"equation {text!r}: label {label!r} of the result must be in one of the terms, "
                "and once in the result"
            )
    return Equation(factors, result)


def _labels(
    node: Node, text: str, term: str, rank: int, dots: Sequence[str] | None = None
) -> Labels:
    """The labels of a term; an ellipsis is ``dots``, or what the rank leaves for it."""
    match = _TERM.fullmatch(term)
    if match is None:
        node.invalid(f"equation {text!r}: {term!r} is not letters and at most one ellipsis")
    before, ellipsis, after = match.groups()
    if dots is None:
        left = rank - len(before) - len(after)
        if left < 0 or (left and not ellipsis):
            node.invalid(f"equation {text!r}: term {term!r} does not fit an input of rank {rank}")
        dots = [f".{index}" for index in reversed(range(left))]
    return (*before, *(dots if ellipsis else ()), *after)


def _from_the_end(label: str) -> int:
    return int(label[1:])


def contract(node: Node, equation: Equation, inputs: Sequence[Tensor]) -> Tensor:
    """Add the ops that compute an equation.

    Raises:
        InvalidModelError: axes of one label have lengths that do not fit.
    """
    factors = [
        _diagonal(node, tensor, labels)
        for tensor, labels in zip(inputs, equation.factors, strict=True)
    ]
    _check_sizes(node, factors)
    product = _summed(node, factors[0], _wanted(factors[1:], equation))
    for index, factor in enumerate(factors[1:], 2):
        wanted = _wanted(factors[index:], equation)
        only = _summed(node, factor, {*product.labels, *wanted})
        product = _multiplied(node, _summed(node, product, {*only.labels, *wanted}), only, wanted)
    return _transposed(node, product, equation.result).tensor


def _wanted(rest: Iterable[Factor], equation: Equation) -> set[str]:
    return {*equation.result, *(label for factor in rest for label in factor.labels)}


def _check_sizes(node: Node, factors: Iterable[Factor]) -> None:
    sizes: dict[str, int] = {}
    for factor in factors:
        for label in factor.labels:
            size, known = factor.size(label), sizes.get(label, 1)
            if size != known and 1 not in (size, known):
                node.invalid(f"axes of label {label!r} have lengths {known} and {size}")
            sizes[label] = known if size == 1 else size


def _diagonal(node: Node, tensor: Tensor, labels: Labels) -> Factor:
    """Where a label stands twice, the elements whose indices there are equal."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            rest = [axis for axis in range(len(labels)) if axis not in (first, second)]
            shape = tensor.spec.shape
            size = shape[first]
            if shape[second] != size:
                node.invalid(f"axes of label {label!r} have lengths {size} and {shape[second]}")
            outer = tuple(shape[axis] for axis in rest)
            tensor = node.one("transpose", [tensor], perm=(*rest, first, second))
            # In a square laid out flat, one element of the diagonal follows the other in size + 1.
            tensor = node.one("reshape", [tensor], shape=(*outer, size * size))
            tensor = node.one(
                "slice",
                [tensor],
                starts=(0,),
                ends=(size * size,),
                axes=(len(rest),),
                steps=(size + 1,),
            )
            labels = (*(labels[axis] for axis in rest), label)
    return Factor(tensor, labels)


def _summed(node: Node, factor: Factor, wanted: set[str]) -> Factor:
    """The sum over the labels that nobody wants."""
    axes = tuple(i for i, label in enumerate(factor.labels) if label not in wanted)
    if not axes:
        return factor
    tensor = node.one("reduce_sum", [factor.tensor], axes=axes, keep_dims=False)
    return Factor(tensor, tuple(label for label in factor.labels if label in wanted))


def _multiplied(node: Node, a: Factor, b: Factor, wanted: set[str]) -> Factor:
    """The product of two factors, summed over the labels of both that nobody wants."""
    both = [label for label in a.labels if label in b.labels]
    batch = tuple(label for label in both if label in wanted)
    inner = tuple(label for label in both if label not in wanted)
    rows = tuple(label for label in a.labels if label not in both)
    columns = tuple(label for label in b.labels if label not in both)
    if not inner:  # nothing is summed: elements meet elements
        labels = (*batch, *rows, *columns)
        spread = [_spread(node, factor, labels) for factor in (a, b)]
        return Factor(node.one("multiply", spread), labels)
    sizes = {label: max(a.size(label), b.size(label)) for label in inner}
    left = _matrices(node, a, batch, rows, inner, sizes)
    right = _matrices(node, b, batch, inner, columns, sizes)
    product = node.one("matmul", [left, right])
    shape = (
        *product.spec.shape[: len(batch)],
        *map(a.size, rows),
        *map(b.size, columns),
    )
    product = node.one("reshape", [product], shape=shape)
    return Factor(product, (*batch, *rows, *columns))


def _matrices(
    node: Node,
    factor: Factor,
    batch: Labels,
    rows: Labels,
    columns: Labels,
    sizes: dict[str, int],
) -> Tensor:
    """A factor as matrices: axes of ``batch``, then one of all rows and one of all columns."""
    lying = _transposed(node, factor, (*batch, *rows, *columns))
    shape = lying.tensor.spec.shape
    full = tuple(sizes.get(label, size) for label, size in zip(lying.labels, shape, strict=True))
    tensor = lying.tensor
    if full != shape:
        tensor = node.one("expand", [tensor], shape=full)
    heights, widths = full[len(batch) : len(batch) + len(rows)], full[len(batch) + len(rows) :]
    matrix = (*full[: len(batch)], math.prod(heights), math.prod(widths))
    return node.one("reshape", [tensor], shape=matrix)


def _spread(node: Node, factor: Factor, labels: Labels) -> Tensor:
    """A factor with an axis for each of ``labels``, of length 1 where it has none."""
    own = tuple(label for label in labels if label in factor.labels)
    shape = tuple(factor.size(label) for label in labels)
    return node.one("reshape", [_transposed(node, factor, own).tensor], shape=shape)


def _transposed(node: Node, factor: Factor, labels: Labels) -> Factor:
    """The factor with its axes in the order of ``labels``."""
    if factor.labels == labels:
        return factor
    perm = tuple(factor.labels.index(label) for label in labels)
    return Factor(node.one("transpose", [factor.tensor], perm=perm), labels)
