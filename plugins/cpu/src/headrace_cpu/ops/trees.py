"""cpu.lay_trees and cpu.tree_ensemble: decision trees with what is asked of a node side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.dtypes import bool_, float32, float64, int32, uint8
from headrace.numpy_ops import evaluate
from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Attr, Input, Op, get_op, make_call
from headrace.ops.failure import fail
from headrace.tensor_spec import Array, TensorSpec

FEATURE_BITS, MODE_BITS = 28, 3
"""A question: the feature in the lowest bits, then the mode, then whether NaN is met."""

_FLOATS = frozenset({float32, float64})
_INTS = frozenset({int32})


class LayTrees(Op):
    """What is asked of each node of a ``tree_ensemble``, side by side.

    modes, features, splits, yes, no and nans are as there, no index being negative. nodes: uint8 of
    16 bytes for each node, or 24 if splits are float64: the split, the question, no, yes.
    """

    name = "cpu.lay_trees"
    folds_late = True
    inputs = (
        Input("modes", _INTS, group=""),
        Input("features", _INTS, group=""),
        Input("splits", _FLOATS),
        Input("yes", _INTS, group=""),
        Input("no", _INTS, group=""),
        Input("nans", frozenset({bool_}), group="", optional=True),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        splits = call.input(2)
        if any(spec is not None and spec.shape != splits.shape for spec in call.inputs):
            fail(call, f"each table must have one axis, as long as that of splits {splits}")
        return (TensorSpec((splits.elements, _node(splits.dtype.numpy).itemsize), uint8),)


class LaidTreeEnsemble(Op):
    """``tree_ensemble`` whose nodes ``cpu.lay_trees`` laid; ``nans`` if some are met by NaN."""

    name = "cpu.tree_ensemble"
    inputs = (
        Input("x", _FLOATS),
        Input("roots", _INTS, group=""),
        Input("nodes", frozenset({uint8}), group=""),
        Input("weights", _FLOATS),
    )
    attrs = (*get_op("tree_ensemble").attrs, Attr("nans", "bool", False))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, nodes, weights = call.input(0), call.input(2), call.input(3)
        wanted = (weights.shape[0], _node(x.dtype.numpy).itemsize)
        if x.rank != 2 or weights.rank != 2 or nodes.shape != wanted:
            fail(call, f"x {x}, nodes {nodes} and weights {weights} do not fit")
        return (x.with_shape((x.shape[0], weights.shape[1])),)


def _node(split: np.dtype[np.generic]) -> np.dtype[np.void]:
    fields = [("split", split), ("question", np.uint32), ("no", np.int32), ("yes", np.int32)]
    return np.dtype(fields, align=True)


def lay_trees(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.lay_trees``."""
    modes, features, splits, yes, no = (given(inputs, index) for index in range(5))
    nodes = outputs[0].view(_node(splits.dtype))[:, 0]
    outputs[0][...] = 0  # of which some bytes are in no field
    nodes["split"], nodes["no"], nodes["yes"] = splits, no, yes
    question = features.astype(np.uint32) | modes.astype(np.uint32) << FEATURE_BITS
    if inputs[5] is not None:
        question |= inputs[5].astype(np.uint32) << (FEATURE_BITS + MODE_BITS)
    nodes["question"] = question


def laid_trees(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.tree_ensemble``: as the op of core, of the tables as they were."""
    x, roots, nodes, weights = (given(inputs, index) for index in range(4))
    laid = np.ascontiguousarray(nodes).view(_node(x.dtype))[:, 0]
    features = laid["question"] & ((1 << FEATURE_BITS) - 1)
    modes = laid["question"] >> FEATURE_BITS & ((1 << MODE_BITS) - 1)
    nans = laid["question"] >> (FEATURE_BITS + MODE_BITS) != 0
    tables = [modes.astype(np.int32), features.astype(np.int32)]
    tables += [laid[name].copy() for name in ("split", "yes", "no")]
    plain = [x, roots, *tables, weights, nans if call.flag_attr("nans") else None]
    specs = [None if array is None else TensorSpec.of(array) for array in plain]
    attrs = {name: call.attrs[name] for name in call.attrs if name != "nans"}
    of_core = make_call(get_op("tree_ensemble"), call.name, specs, attrs)
    (outputs[0][...],) = evaluate(of_core, plain)
