"""Ensembles of decision trees.

All trees are one table, which has a row for each node of any tree; leaves lead to themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from headrace.dtypes import DType, float16, float32, float64
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
        targets: how many there are.
        places: of the table ``[nodes, targets]``, those where a leaf adds to a target; in order.
        weights: what it adds there.
    """

    roots: Array
    modes: Array
    features: Array
    splits: Array
    yes: Array
    no: Array
    nans: Array
    targets: int
    places: Array
    weights: Array

    def said(self, dtype: DType, rest: float) -> Array:
        """The table ``[nodes, targets]`` of what is added, ``rest`` where nothing is."""
        table = np.full(self.yes.size * self.targets, rest, dtype.numpy)
        table[self.places] = self.weights
        return table.reshape(-1, self.targets)

    def depth(self, node: Node) -> int:
        """How many steps the longest way down has."""
        level, depth, met = _distinct(self.roots), 0, 0
        while True:
            level = level[(self.yes[level] != level) | (self.no[level] != level)]
            if not level.size:
                return depth
            if depth > self.yes.size:
                node.invalid("its trees lead in a circle")
            met += level.size
            level, depth = np.concatenate([self.yes[level], self.no[level]]), depth + 1
            if met > self.yes.size:  # trees meet each node once; else ways would double in number
                level = _distinct(level)


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
    asked = np.flatnonzero(np.bincount(trees.modes[inner], minlength=len(_MODES)))
    known = [_COMPARISONS[mode] for mode in asked.tolist()]
    rank = np.zeros(len(_MODES), np.int32)
    rank[asked] = np.arange(asked.size)
    is_extreme = aggregate in ("MIN", "MAX")
    nothing = (np.inf if aggregate == "MIN" else -np.inf) if is_extreme else 0
    tables = [
        trees.roots,
        np.where(inner, rank[trees.modes], 0),
        trees.features,
        trees.splits.astype(x.spec.dtype.numpy),
        trees.yes,
        trees.no,
        trees.said(x.spec.dtype, nothing),
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
    if given is not None:
        return np.asarray(given).reshape(-1)
    return node.array(name, np.float64) if node.has_attr(name) else np.zeros(0)


def _of_lists(node: Node, x: Tensor, kind: str, targets: int) -> _Trees:
    """The trees of the older ops, whose nodes are numbered tree by tree.

    Args:
        node: the node.
        x: what is compared.
        kind: how the attributes of leaves begin.
        targets: how many there are.
    """
    names = "treeids nodeids truenodeids falsenodeids featureids"
    tree, number, yes, no, features = (
        node.array(f"nodes_{name}", np.int64) for name in names.split()
    )
    words, said = node.words("nodes_modes")
    count = said.size
    splits, nans = _numbers(node, "nodes_values"), _nans(node, count)
    if any(part.size != count for part in (tree, number, yes, no, features, splits, nans)):
        node.invalid("the lists of its nodes are not equally long")
    leaf = np.array([word == "LEAF" for word in words], bool)[said]
    modes = np.array([_mode(node, word) for word in words], np.int8)[said]
    listed = _Listed(node, tree, number)
    yes, no = (listed.rows(tree, np.where(leaf, number, to)) for to in (yes, no))
    speaking, numbers, ids = (
        node.array(f"{kind}_{name}", np.int64) for name in ("treeids", "nodeids", "ids")
    )
    weights = _numbers(node, f"{kind}_weights")
    if any(part.size != ids.size for part in (speaking, numbers, weights)):
        node.invalid("the lists of its leaves are not equally long")
    _check_targets(node, ids, targets)
    places, entries = np.unique(listed.rows(speaking, numbers) * targets + ids, return_inverse=True)
    return _Trees(
        listed.roots(),
        modes,
        np.where(leaf, 0, features),
        splits.astype(x.spec.dtype.numpy),
        yes,
        no,
        nans,
        targets,
        places,
        np.bincount(entries, weights, places.size),
    )


class _Listed:
    """Where the nodes of trees are listed, by tree and number."""

    def __init__(self, node: Node, tree: Array, number: Array) -> None:
        self._node, self._tree, self._number = node, tree, number
        self._trees, self._first, which = np.unique(tree, return_index=True, return_inverse=True)
        self._numbers = np.unique(number)
        keys = which * self._numbers.size + np.searchsorted(self._numbers, number)
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        twice = self._order[1:][self._keys[1:] == self._keys[:-1]]
        if twice.size:
            pair = int(tree[twice[0]]), int(number[twice[0]])
            node.invalid(f"tree and node {pair} are listed twice")

    def rows(self, tree: Array, number: Array) -> Array:
        """The places of some nodes; fails where there are none."""
        if not self._keys.size and tree.size:
            self._missing(tree[0], number[0])
        keys = np.searchsorted(self._trees, tree) * self._numbers.size
        keys += np.searchsorted(self._numbers, number)
        at = self._order[np.minimum(np.searchsorted(self._keys, keys), self._keys.size - 1)]
        other = np.flatnonzero((self._tree[at] != tree) | (self._number[at] != number))
        if other.size:
            self._missing(tree[other[0]], number[other[0]])
        return at

    def _missing(self, tree: int, number: int) -> NoReturn:
        pair = int(tree), int(number)
        self._node.invalid(f"tree and node {pair} are named, and there is none")

    def roots(self) -> Array:
        """The first node of each tree that is listed."""
        return np.sort(self._first)


def _nans(node: Node, count: int) -> Array:
    name = "nodes_missing_value_tracks_true"
    given = node.array(name, bool) if node.has_attr(name) else np.zeros(0, bool)
    return given if given.size else np.zeros(count, bool)


def _check_targets(node: Node, ids: Array, targets: int) -> None:
    if ids.size and not 0 <= ids.min() <= ids.max() < targets:
        node.invalid(f"its leaves speak of target {ids.max()}, and there are {targets}")


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
    ids = _distinct(trees.places % len(labels))
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
        node.array(name, np.int64)
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
    modes, nans = node.array("nodes_modes", np.int64), _nans(node, inner)
    if modes.size and not 0 <= modes.min() <= modes.max() < len(_MODES):
        node.invalid(f"a node is of mode {modes.max()}")
    weights, splits = (
        np.asarray(node.attr(name)).reshape(-1) for name in ("leaf_weights", "nodes_splits")
    )
    if any(part.size != inner for part in (no, yes_ends, no_ends, features, modes, nans, splits)):
        node.invalid("the lists of its nodes are not equally long")
    if weights.size != leaves:
        node.invalid("the lists of its leaves are not equally long")
    own = inner + np.arange(leaves)

    def whole(part: Array, rest: Array | int) -> Array:
        return np.concatenate([part, np.broadcast_to(np.asarray(rest, part.dtype), leaves)])

    # A tree that is a leaf is a node both ways out of which lead to the same leaf.
    yes = whole(np.where(yes_ends, yes + inner, yes), own)
    no = whole(np.where(no_ends, no + inner, no), own)
    _check_targets(node, ids, targets)
    trees = _Trees(
        roots, whole(modes, 0), whole(features, 0), whole(splits, 0), yes, no, whole(nans, 0),
        targets, own * targets + ids, weights,
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
    )


CONVERTERS: Mapping[str, Converter] = {
    "TreeEnsemble": _ensemble,
    "TreeEnsembleRegressor": _regressor,
    "TreeEnsembleClassifier": _classifier,
}
