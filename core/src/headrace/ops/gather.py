"""Elements chosen by index tensors, or by their order.

An index counts from the end when it is negative. One that is outside is an error when the op runs
(or is folded): it never reads or writes something else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.dtypes import BOOL, FLOATS, NUMBERS, int32, int64
from headrace.errors import DTypeError, OpError
from headrace.op_call import OpCall
from headrace.ops.elementwise import split_along
from headrace.ops.failure import fail
from headrace.ops.schema import Attr, GraphBuilder, Input, Op, Output, SbpSignature, Tensor
from headrace.ops.shapes import addressable, normal_axis
from headrace.sbp import Split
from headrace.tensor_spec import TensorSpec

_INDICES = Input("indices", frozenset({int32, int64}), group="")

_REDUCTION = Attr("reduction", "str", "none", ("none", "add", "mul", "min", "max"))


class Gather(Op):
    """Whole slices of ``x`` along ``axis``, which the axes of ``indices`` replace."""

    name = "gather"
    inputs = (Input("x"), _INDICES)
    attrs = (Attr("axis", "int", 0),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, indices = call.input(0), call.input(1)
        axis = normal_axis(call, call.int_attr("axis"), x.rank)
        shape = x.shape[:axis] + indices.shape + x.shape[axis + 1 :]
        return (addressable(call, x.with_shape(shape)),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        x, indices = call.input(0), call.input(1)
        axis = call.int_attr("axis") % x.rank
        moved = indices.rank - 1  # how far the axes of x after the gathered one move
        return split_along(
            *(((None, n), axis + n) for n, dim in enumerate(indices.shape) if dim > 1),
            *(
                ((n, None), n + moved * (n > axis))
                for n, dim in enumerate(x.shape)
                if n != axis and dim > 1
            ),
        )


class GatherElements(Op):
    """``y[i, j, ...] = x[i, indices[i, j, ...], ...]`` with the index in place of ``axis``.

    ``indices`` has the rank of ``x`` and is nowhere longer, except along ``axis``.
    """

    name = "gather_elements"
    inputs = (Input("x"), _INDICES)
    attrs = (Attr("axis", "int", 0),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, indices = call.input(0), call.input(1)
        axis = normal_axis(call, call.int_attr("axis"), x.rank)
        _check_elements(call, x, indices, axis)
        return (x.with_shape(indices.shape),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        x, indices = call.input(0), call.input(1)
        axis = call.int_attr("axis") % x.rank
        common = (((n, n), n) for n in _common_axes(call) if n != axis)
        along = [((None, axis), axis)] if indices.shape[axis] > 1 else []
        return split_along(*common, *along)


class GatherNd(Op):
    """``y[b, i...] = x[b, indices[b, i..., 0], indices[b, i..., 1], ...]``.

    The last axis of ``indices`` holds one index for each of the first axes of ``x`` that come after
    the ``batch_dims`` common ones; what is left of ``x`` is taken whole.
    """

    name = "gather_nd"
    inputs = (Input("x"), _INDICES)
    attrs = (Attr("batch_dims", "int", 0),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, indices, batch = call.input(0), call.input(1), call.int_attr("batch_dims")
        if not 0 <= batch < max(indices.rank, 1) or batch > x.rank:
            fail(call, f"batch_dims {batch} do not fit {x} and indices {indices}")
        if x.shape[:batch] != indices.shape[:batch]:
            fail(call, f"the first {batch} dimensions of {x} and indices {indices} differ")
        depth = index_depth(call, x.rank - batch)
        shape = indices.shape[:-1] + x.shape[batch + depth :]
        return (addressable(call, x.with_shape(shape)),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        x, indices, batch = call.input(0), call.input(1), call.int_attr("batch_dims")
        taken = batch + index_depth(call, x.rank - batch)
        return split_along(
            *(
                ((n if n < batch else None, n), n)
                for n, dim in enumerate(indices.shape[:-1])
                if dim > 1
            ),
            *(
                ((n, None), indices.rank - 1 + n - taken)
                for n in range(taken, x.rank)
                if x.shape[n] > 1
            ),
        )


class ScatterElements(Op):
    """A copy of ``x`` in which ``gather_elements`` would find ``updates`` at ``indices``.

    With a ``reduction`` updates are combined with what is there. Without one, which of several
    updates of one element stays is the last in row-major order.
    """

    name = "scatter_elements"
    inputs = (Input("x"), _INDICES, Input("updates"))
    attrs = (Attr("axis", "int", 0), _REDUCTION)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, indices, updates = call.input(0), call.input(1), call.input(2)
        axis = normal_axis(call, call.int_attr("axis"), x.rank)
        _check_elements(call, x, indices, axis)
        if updates.shape != indices.shape:
            fail(call, f"updates {updates} must have the shape of indices {indices}")
        _check_reduction(call)
        return (x,)

    @classmethod
    def widens(cls, call: OpCall) -> bool:
        return call.str_attr("reduction") != "none"

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        axis = call.int_attr("axis") % call.input(0).rank
        return split_along(*(((n, n, n), n) for n in _common_axes(call) if n != axis))


class ScatterNd(Op):
    """A copy of ``x`` in which ``gather_nd`` would find ``updates`` at ``indices``.

    Several updates of one element are treated as ``scatter_elements`` treats them.
    """

    name = "scatter_nd"
    inputs = (Input("x"), _INDICES, Input("updates"))
    attrs = (_REDUCTION,)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, indices, updates = call.input(0), call.input(1), call.input(2)
        depth = index_depth(call, x.rank)
        if depth == 0:
            fail(call, f"indices {indices} hold no index: their last axis is empty")
        shape = indices.shape[:-1] + x.shape[depth:]
        if updates.shape != shape:
            fail(call, f"updates {updates} of {x} at indices {indices} must have shape {shape}")
        _check_reduction(call)
        return (x,)

    @classmethod
    def widens(cls, call: OpCall) -> bool:
        return call.str_attr("reduction") != "none"

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        x, indices = call.input(0), call.input(1)
        depth = index_depth(call, x.rank)
        moved = indices.rank - 1 - depth
        whole = (n for n in range(depth, x.rank) if x.shape[n] > 1)
        return split_along(*(((n, None, n + moved), n) for n in whole))


class TopK(Op):
    """The ``k`` largest (or smallest) elements along ``axis``, best first, and their indices.

    Of equal elements the one with the lower index comes first. NaN counts as larger than all.
    """

    name = "top_k"
    inputs = (Input("x", NUMBERS),)
    outputs = (Output("values"), Output("indices"))
    attrs = (Attr("k", "int"), Attr("axis", "int", -1), Attr("largest", "bool", True))

    @classmethod
    def widens(cls, call: OpCall) -> bool:
        return True

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, k = call.input(0), call.int_attr("k")
        axis = normal_axis(call, call.int_attr("axis"), x.rank)
        if not 0 <= k <= x.shape[axis]:
            fail(call, f"k {k} is outside 0..{x.shape[axis]}, the elements of {x} along {axis}")
        values = x.with_shape((*x.shape[:axis], k, *x.shape[axis + 1 :]))
        return values, values.with_dtype(int64)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        x = call.input(0)
        line = call.int_attr("axis") % x.rank
        return tuple(
            SbpSignature((Split(axis),), (Split(axis),) * call.output_count)
            for axis, dim in enumerate(x.shape)
            if axis != line and dim > 1
        )


_COMPARISONS = ("less_equal", "less", "greater_equal", "greater", "equal", "not_equal")


class TreeEnsemble(Op):
    """What decision trees say of each row of ``x``, over all trees: ``[batch, targets]``.

    ``x`` is ``[batch, features]``; a tree is entered at each of ``roots`` and left after ``depth``
    steps. A step goes from node ``n`` to ``yes[n]`` where ``x[row, features[n]]`` compares with
    ``splits[n]`` as ``comparisons[modes[n]]`` says, or is NaN and ``nans[n]`` is set, and else to
    ``no[n]``; what leads to itself is a leaf. Where a row ends, ``weights[n]`` is what the tree
    says: ``weights`` is ``[nodes, targets]``, the other tables are ``[nodes]``. These are summed
    over the trees, or the smallest or the largest is taken.
    """

    name = "tree_ensemble"
    inputs = (
        Input("x", FLOATS),
        Input("roots", frozenset({int32}), group=""),
        Input("modes", frozenset({int32}), group=""),
        Input("features", frozenset({int32}), group=""),
        Input("splits", FLOATS),
        Input("yes", frozenset({int32}), group=""),
        Input("no", frozenset({int32}), group=""),
        Input("weights", FLOATS),
        Input("nans", BOOL, group="", optional=True),
    )
    attrs = (
        Attr("comparisons", "strs"),
        Attr("depth", "int"),
        Attr("aggregate", "str", "sum", ("sum", "min", "max")),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, roots, weights = call.input(0), call.input(1), call.input(7)
        if x.rank != 2 or roots.rank != 1 or weights.rank != 2:
            fail(
                call,
                f"x {x}, roots {roots} and weights {weights} must have 2, 1 and 2 axes",
            )
        tables = [call.input(index) for index in (2, 3, 4, 5, 6)]
        tables += [call.input(8)] if call.has_input(8) else []
        if any(table.shape != weights.shape[:1] for table in tables):
            fail(call, f"each table must have an element for each row of weights {weights}")
        comparisons = call.strs_attr("comparisons")
        unknown = [name for name in comparisons if name not in _COMPARISONS]
        if unknown or not comparisons:
            fail(call, f"comparisons {comparisons} must be some of {_COMPARISONS}", OpError)
        if call.int_attr("depth") < 0:
            fail(call, f"depth {call.int_attr('depth')} is negative", OpError)
        if not roots.elements and call.str_attr("aggregate") != "sum":
            fail(call, "there is no tree, of which the smallest or largest could be taken")
        return (x.with_shape((x.shape[0], weights.shape[1])),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        rows = (0, *(None,) * (len(call.inputs) - 1))
        return split_along((rows, 0)) if call.input(0).shape[0] > 1 else ()

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        x, roots, modes, features, splits, yes, no, weights, nans = inputs
        comparisons = call.strs_attr("comparisons")
        assert roots is not None

        def of(table: Tensor | None, at: Tensor) -> Tensor:
            return builder.op("gather", [table, at], axis=0)[0]

        def compared(comparison: str, number: Tensor, split: Tensor) -> Tensor:
            if comparison == "not_equal":
                return builder.op("logical_not", builder.op("equal", [number, split]))[0]
            return builder.op(comparison, [number, split])[0]

        shape = (call.input(0).shape[0], roots.spec.elements)
        (at,) = builder.op("expand", [roots], shape=shape)
        for _ in range(call.int_attr("depth")):
            (number,) = builder.op("gather_elements", [x, of(features, at)], axis=1)
            split = of(splits, at)
            met = compared(comparisons[0], number, split)
            for mode, comparison in enumerate(comparisons[1:], 1):
                kind = builder.constant(np.array(mode, np.int32))
                (is_kind,) = builder.op("equal", [of(modes, at), kind])
                (met,) = builder.op("where", [is_kind, compared(comparison, number, split), met])
            if nans is not None:
                (is_nan,) = builder.op("is_nan", [number])
                (tracked,) = builder.op("logical_and", [is_nan, of(nans, at)])
                (met,) = builder.op("logical_or", [met, tracked])
            (at,) = builder.op("where", [met, of(yes, at), of(no, at)])
        said = of(weights, at)
        fold = f"reduce_{call.str_attr('aggregate')}"
        return builder.op(fold, [said], axes=(1,), keep_dims=False)


def index_depth(call: OpCall, axes: int) -> int:
    """How many of ``axes`` axes the last axis of ``indices`` indexes in a ``gather_nd``.

    Raises:
        ShapeError: there is no last axis, or it is longer.
    """
    indices = call.input(1)
    if indices.rank == 0 or indices.shape[-1] > axes:
        fail(call, f"the last axis of indices {indices} must index at most {axes} axes of the data")
    return indices.shape[-1]


def _common_axes(call: OpCall) -> list[int]:
    """Axes along which ``x`` and ``indices`` are equally long, and longer than 1."""
    lengths = zip(call.input(0).shape, call.input(1).shape, strict=True)
    return [axis for axis, (x, indices) in enumerate(lengths) if x == indices > 1]


def _check_elements(call: OpCall, x: TensorSpec, indices: TensorSpec, axis: int) -> None:
    fits = indices.rank == x.rank and all(
        have <= most or at == axis
        for at, (have, most) in enumerate(zip(indices.shape, x.shape, strict=True))
    )
    if not fits:
        fail(call, f"indices {indices} must fit inside {x} but for axis {axis}")


def _check_reduction(call: OpCall) -> None:
    dtype, reduction = call.input(0).dtype, call.str_attr("reduction")
    if reduction != "none" and dtype not in NUMBERS | BOOL:
        fail(call, f"reduction {reduction!r} does not compute in {dtype}", DTypeError)


OPS: tuple[type[Op], ...] = (
    Gather,
    GatherElements,
    GatherNd,
    ScatterElements,
    ScatterNd,
    TopK,
    TreeEnsemble,
)
