"""Ensembles of decision trees.

All trees are one table, which has a row for each node of any tree; leaves lead to themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from headrace.dtypes import float16, float32, float64
from headrace.light_dataclass import dataclass
from headrace.onnx.importing.converters.ml.scores import (
    TRANSFORMS,
    both,
    chosen,
    greatest,
    labels_of,
    transformed,
)
from headrace.onnx.importing.formula import cast, scalar, with_number
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor
from headrace.tensor_spec import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER")
_COMPARISONS = ("less_equal", "less", "greater_equal", "greater", "equal", "not_equal")
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


@dataclass(slots=True, eq=False)
class _Trees:
    """Trees as one table; each array has an element for each node.

    Attributes:
        roots: first node of each tree.
        modes: how a number is compared, by its place in ``_MODES``; of leaves any.
        features: which number is.
        splits: what it is compared with.
        yes, no: where it goes on; a leaf goes on to itself.
        nans: NaN goes where ``yes`` says.
        weights: what a leaf adds, ``[nodes, targets]``.
        has: which targets it adds to.
    """

    roots: Array
    modes: Array
    features: Array
    splits: Array
    yes: Array
    no: Array
    nans: Array
    weights: Array
    has: Array

    def depth(self, node: Node) -> int:
        """How many steps the longest way down has."""
        level, depth = _distinct(self.roots), 0
        while True:
            level = level[(self.yes[level] != level) | (self.no[level] != level)]
            if not level.size:
                return depth
            if depth > self.yes.size:
                node.invalid("its trees lead in a circle")
            level, depth = _distinct([self.yes[level], self.no[level]]), depth + 1


def _said(node: Node, trees: _Trees, x: Tensor, aggregate: str) -> Tensor:
    """What the trees say of each target, ``[batch, targets]``."""
    width = x.spec.shape[1]
    for places, end in ((trees.yes, trees.yes.size), (trees.no, trees.yes.size)):
        if places.size and not 0 <= places.min() <= places.max() < end:
            node.invalid("its trees lead to nodes that there are not")
    if trees.features.size and not 0 <= trees.features.min() <= trees.features.max() < width:
        node.invalid(f"its trees ask for feature {trees.features.max()}; the input is {x.spec}")
    own = np.arange(trees.yes.size)
    inner = (trees.yes != own) | (trees.no != own)
    asked, modes = np.unique(np.where(inner, trees.modes, -1), return_inverse=True)
    known = [_COMPARISONS[mode] for mode in asked.tolist() if mode >= 0]
    is_extreme, weights = aggregate in ("MIN", "MAX"), trees.weights
    if is_extreme:
        weights = np.where(trees.has, weights, np.inf if aggregate == "MIN" else -np.inf)
    tables = [
        trees.roots,
        np.maximum(modes - (len(asked) - len(known)), 0),
        trees.features,
        trees.splits.astype(x.spec.dtype.numpy),
        trees.yes,
        trees.no,
        weights.astype(x.spec.dtype.numpy),
    ]
    if trees.nans[inner].any():
        tables.append(trees.nans & inner)
    narrow = (table.astype(np.int32) if table.dtype == np.int64 else table for table in tables)
    y = node.one(
        "tree_ensemble",
        [x, *map(node.constant, narrow)],
        comparisons=known or _COMPARISONS[:1],
        depth=trees.depth(node),
        aggregate=aggregate.lower() if is_extreme else "sum",
    )
    if is_extreme:  # a target of which no tree says anything is 0
        return node.one("where", [node.one("is_inf", [y]), scalar(node, 0, y), y])
    return with_number(node, "divide", y, trees.roots.size) if aggregate == "AVERAGE" else y


def _distinct(values: ArrayLike) -> Array:
    """What ``values`` has, in order, each once."""
    # Asked for nothing else, numpy imports its masked arrays, which takes longer than to compile a
    # model of a few trees.
    return np.unique(values, return_index=True)[0]


def _input(node: Node) -> Tensor:
    x = node.input(0)
    if x.spec.rank == 1:
        x = node.one("reshape", [x], shape=(1, -1))
    if x.spec.rank != 2:
        node.invalid(f"input 0 is {x.spec}; it must be [batch, features]")
    return x if x.spec.dtype in (float32, float64, float16) else cast(node, x, float32)


def _numbers(node: Node, name: str) -> Array:
    """An attribute that may be a tensor, for float64, or a list."""
    given = node.attr(f"{name}_as_tensor", None)
    return np.asarray(node.attr(name, []) if given is None else given)


def _of_lists(node: Node, x: Tensor, kind: str, targets: int) -> _Trees:
    """The trees of the older ops, whose nodes are numbered tree by tree.

    Args:
        node: the node.
        x: what is compared.
        kind: how the attributes of leaves begin.
        targets: how many there are.
    """
    tree, number = (np.array(node.attr(n), np.int64) for n in ("nodes_treeids", "nodes_nodeids"))
    names = node.attr("nodes_modes")
    count = len(names)
    yes, no, features = (
        np.array(node.attr(f"nodes_{n}"), np.int64)
        for n in ("truenodeids", "falsenodeids", "featureids")
    )
    splits = _numbers(node, "nodes_values")
    nans = np.array(node.attr("nodes_missing_value_tracks_true", []) or [0] * count, bool)
    if any(part.size != count for part in (tree, number, yes, no, features, splits, nans)):
        node.invalid("the lists of its nodes are not equally long")
    row = {
        pair: index for index, pair in enumerate(zip(tree.tolist(), number.tolist(), strict=True))
    }
    leaf = np.array([name == "LEAF" for name in names], bool)
    modes = np.array([_mode(node, name) for name in names], np.int64)

    def rows(trees: Array, numbers: Array) -> Array:
        try:
            pairs = zip(trees.tolist(), numbers.tolist(), strict=True)
            return np.array([row[pair] for pair in pairs], np.int64)
        except KeyError as error:
            node.invalid(f"tree and node {error} are named, and there is none")

    own = np.arange(count)
    yes, no = (np.where(leaf, own, rows(tree, np.where(leaf, number, to))) for to in (yes, no))
    weights, has = np.zeros((count, targets)), np.zeros((count, targets), bool)
    ids = np.array(node.attr(f"{kind}_ids"), np.int64)
    at = rows(*(np.array(node.attr(f"{kind}_{n}"), np.int64) for n in ("treeids", "nodeids")))
    if ids.size and not 0 <= ids.min() <= ids.max() < targets:
        node.invalid(f"its leaves speak of target {ids.max()}, and there are {targets}")
    np.add.at(weights, (at, ids), _numbers(node, f"{kind}_weights"))
    has[at, ids] = True
    # The first node of a tree that is listed is its root.
    roots = np.sort(np.unique(tree, return_index=True)[1])
    features = np.where(leaf, 0, features)
    return _Trees(
        roots, modes, features, splits.astype(x.spec.dtype.numpy), yes, no, nans, weights, has
    )


def _mode(node: Node, name: str) -> int:
    short = name.removeprefix("BRANCH_")
    if name == "LEAF":
        return 0
    if short not in _MODES[:-1]:
        node.invalid(f"a node is of mode {name!r}")
    return _MODES.index(short)


def _regressor(node: Node) -> Tensor:
    x, targets = _input(node), node.attr("n_targets", 1)
    trees = _of_lists(node, x, "target", targets)
    y = _said(node, trees, x, node.attr("aggregate_function", "SUM"))
    base = _numbers(node, "base_values")
    if base.size:
        y = node.one("add", [y, node.constant(base.astype(y.spec.dtype.numpy))])
    return cast(node, transformed(node, y, node.attr("post_transform", "NONE")), float32)


def _classifier(node: Node) -> tuple[Tensor, ...]:
    x, labels = _input(node), labels_of(node, "classlabels_int64s")
    trees = _of_lists(node, x, "class", len(labels))
    scores = _said(node, trees, x, "SUM")
    base, transform = _numbers(node, "base_values"), node.attr("post_transform", "NONE")
    ids = _distinct(node.attr("class_ids"))
    if base.size == 1 and len(labels) == 2:  # of the first, and of nobody if no leaf speaks of it
        base = np.array([base.item() if 0 in ids else 0, 0])
    if base.size:
        scores = node.one("add", [scores, node.constant(base.astype(scores.spec.dtype.numpy))])
    if len(labels) != 2 or ids.size != 1:
        made = transformed(node, scores, transform)
        return (greatest(node, scores, labels), cast(node, made, float32))[: node.output_count]
    # Leaves speak of one class only: what they say is of the second.
    (only,) = ids.tolist()
    score = node.one("slice", [scores], starts=(only,), ends=(only + 1,), axes=(1,))
    of_one = bool(trees.weights.min() >= 0)
    label = chosen(node, with_number(node, "greater", score, 0.5 if of_one else 0), labels)
    if only:
        made = transformed(node, scores, transform)
    else:
        made = both(node, score, transform, of_one=of_one)
    return (label, cast(node, made, float32))[: node.output_count]


def _ensemble(node: Node) -> Tensor:
    """The newer op, whose leaves are apart from the other nodes."""
    x = _input(node)
    yes, no, yes_ends, no_ends, features, roots, ids = (
        np.array(node.attr(name), np.int64)
        for name in (
            "nodes_truenodeids",
            "nodes_falsenodeids",
            "nodes_trueleafs",
            "nodes_falseleafs",
            "nodes_featureids",
            "tree_roots",
            "leaf_targetids",
        )
    )
    inner, leaves, targets = yes.size, ids.size, node.attr("n_targets", 1)
    modes = np.asarray(node.attr("nodes_modes")).reshape(-1).astype(np.int64)
    if modes.size and modes.max() >= len(_MODES):
        node.invalid(f"a node is of mode {modes.max()}")
    nans = np.array(node.attr("nodes_missing_value_tracks_true", []) or [0] * inner, bool)
    own = inner + np.arange(leaves)

    def whole(part: Array, rest: Array | int) -> Array:
        return np.concatenate([part, np.broadcast_to(np.asarray(rest, part.dtype), leaves)])

    # A tree that is a leaf is a node both ways out of which lead to the same leaf.
    yes = whole(np.where(yes_ends, yes + inner, yes), own)
    no = whole(np.where(no_ends, no + inner, no), own)
    if ids.size and not 0 <= ids.min() <= ids.max() < targets:
        node.invalid(f"its leaves speak of target {ids.max()}, and there are {targets}")
    weights, has = np.zeros((inner + leaves, targets)), np.zeros((inner + leaves, targets), bool)
    weights[own, ids], has[own, ids] = np.asarray(node.attr("leaf_weights")).reshape(-1), True
    splits = np.asarray(node.attr("nodes_splits")).reshape(-1)
    trees = _Trees(
        roots, whole(modes, 0), whole(features, 0), whole(splits, 0), yes, no, whole(nans, 0),
        weights, has,
    )  # fmt: skip
    trees = _with_sets_spelled_out(node, trees, modes)
    aggregate, transform = node.attr("aggregate_function", 1), node.attr("post_transform", 0)
    if not 0 <= aggregate < len(_AGGREGATES) or not 0 <= transform < len(TRANSFORMS):
        node.invalid(f"aggregate_function is {aggregate} and post_transform {transform}")
    y = _said(node, trees, x, _AGGREGATES[aggregate])
    return transformed(node, y, TRANSFORMS[transform])


def _with_sets_spelled_out(node: Node, trees: _Trees, modes: Array) -> _Trees:
    """A node that asks for a set as one that asks for its first number, and one for each other.

    The sets are one list, a NaN after each.
    """
    asking = np.flatnonzero(modes == _MODES.index("MEMBER"))
    if not asking.size:
        return trees
    given = np.asarray(node.attr("membership_values")).reshape(-1)
    parts: Sequence[Array] = np.split(given, np.flatnonzero(np.isnan(given)) + 1)
    sets = [part[~np.isnan(part)] for part in parts if part.size]
    if len(sets) != asking.size:
        node.invalid(f"{asking.size} nodes ask for a set, and there are {len(sets)}")
    rows = [np.arange(trees.yes.size)]
    splits, no = [trees.splits.copy()], [trees.no.copy()]
    for at, numbers in zip(asking, sets, strict=True):
        more = sum(map(len, rows)) + np.arange(max(numbers.size - 1, 0))
        splits[0][at] = numbers[0] if numbers.size else np.nan
        no[0][at] = more[0] if more.size else trees.no[at]
        rows.append(np.full(more.size, at))
        splits.append(numbers[1:])
        no.append(np.append(more[1:], trees.no[at])[: more.size])
    row = np.concatenate(rows)
    equal = _MODES.index("EQ")
    return replace(
        trees,
        modes=np.where(trees.modes == _MODES.index("MEMBER"), equal, trees.modes)[row],
        features=trees.features[row],
        splits=np.concatenate(splits).astype(trees.splits.dtype),
        yes=trees.yes[row],
        no=np.concatenate(no),
        nans=trees.nans[row],
        weights=trees.weights[row],
        has=trees.has[row],
    )


CONVERTERS: Mapping[str, Converter] = {
    "TreeEnsemble": _ensemble,
    "TreeEnsembleRegressor": _regressor,
    "TreeEnsembleClassifier": _classifier,
}
