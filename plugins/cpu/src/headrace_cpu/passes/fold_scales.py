"""Put constant factors and terms that follow a product into its weights and its bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headrace.aligned import Region
from headrace.data_format import CHANNELS_LAST
from headrace.dtypes import float32
from headrace.graph import GraphEditor, JobGraph, JobOp
from headrace.numpy_ops import scaled
from headrace.ops import get_op
from headrace.tensor_spec import Array
from headrace_cpu.passes.halves import in_float32


class FoldScales:
    """The pass, for the ops of device ``tag``.

    Before: ``conv(x, w, bias) * scale + shift`` of float32, channels last, all but x constant, with
    one number for each channel or for all, as by a batch norm, and nobody else reads what lies
    between. After: ``conv(x, w * scale, bias * scale + shift)``. Computed in float64, and left
    alone where a number is not finite, as core does with a batch norm.
    """

    def __init__(self, tag: str) -> None:
        self._tag = tag

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with fewer ops."""
        editor = GraphEditor(graph, self._tag)
        found = [_chain(conv, editor, graph) for conv in editor.ops("conv")]
        chains = [chain for chain in found if chain is not None]
        memory = Region(sum(chain.conv.call.input(1).nbytes for chain in chains))
        folds = [
            fold for chain in chains if (fold := _fold(chain, editor, graph, memory)) is not None
        ]
        if not folds:
            return graph
        made = {name: value for fold in folds for name, value in fold.constants().items()}
        editor = GraphEditor(graph.with_constants(made), self._tag)
        for fold in folds:
            conv = fold.ops[0]
            inputs = (conv.inputs[0], *fold.constants())
            editor.replace(fold.ops, get_op("conv"), inputs, conv.call.attrs)
        return editor.finish()


_SCALINGS = frozenset({"multiply", "add", "subtract", "divide", "normalization"})
"""Ops that may be a factor and a term."""

_Scaling = tuple[Array, Array]
"""A factor and a term for each channel, or one for all: float64."""


class _Chain(NamedTuple):
    """A convolution, the constant factors and terms after it, and what each of these does."""

    conv: JobOp
    rest: list[JobOp]
    scalings: list[_Scaling]


@dataclass(frozen=True, slots=True, eq=False)
class _Fold:
    """A convolution and what follows it, and the weight and bias that do all of it."""

    ops: tuple[JobOp, ...]
    weight: Array
    bias: Array

    def constants(self) -> dict[str, Array]:
        """By name; the name of an op is its own, and so are these."""
        name = self.ops[-1].outputs[0]
        return {f"{name}/weight": self.weight, f"{name}/bias": self.bias}


def _chain(conv: JobOp, editor: GraphEditor, graph: JobGraph) -> _Chain | None:
    """The convolution and the constant factors and terms after it; None when there are none."""
    call, (_, weight, bias) = conv.call, conv.inputs
    if not _SCALINGS.issuperset(user.call.op for user in editor.users(conv.outputs[0])):
        return None
    if call.input(0).dtype != float32 or call.str_attr("data_format") != CHANNELS_LAST:
        return None
    if _stored(weight, editor) not in graph.constants:  # its value is read where it is needed
        return None
    if not (bias is None or bias in graph.constants):
        return None
    chain, last = _Chain(conv, [], []), conv
    while True:
        made = last.outputs[0]
        users = editor.users(made)
        if len(users) != 1 or not editor.is_private(last, users[0]) or made in graph.hints:
            break
        scaling = _scaling(users[0], made, graph)
        if scaling is None:
            break
        last = users[0]
        chain.rest.append(last)
        chain.scalings.append(scaling)
    return chain if chain.rest else None


def _stored(name: str | None, editor: GraphEditor) -> str:
    """The constant that a weight is, or is widened from."""
    maker = editor.maker(name)
    is_widened = maker is not None and maker.call.op == "cpu.widen"
    return (maker.inputs[0] if maker is not None and is_widened else name) or ""


def _weight(name: str | None, editor: GraphEditor, graph: JobGraph) -> Array:
    """The weight of a convolution, which is known, if only as it is stored."""
    stored = _stored(name, editor)
    value = graph.passing(stored)
    return value if stored == name else in_float32(value)


def _scaling(op: JobOp, made: str, graph: JobGraph) -> _Scaling | None:
    """What ``op`` makes its result with, if it is a scaling by known numbers."""
    if op.call.op == "normalization":
        return _normalization(op, made, graph)
    value = _constant(op, made, graph)
    if value is None:
        return None
    number = value.astype(np.float64)
    match op.call.op:
        case "multiply":
            return number, np.zeros(1)
        case "divide":
            with np.errstate(all="ignore"):
                return 1 / number, np.zeros(1)
        case "add":
            return np.ones(1), number
        case _:
            return np.ones(1), -number


def _normalization(op: JobOp, made: str, graph: JobGraph) -> _Scaling | None:
    """A batch norm of known numbers: core folds them where they are float32 when it looks."""
    x = op.call.input(0)
    known = [graph.constants.get(name or "") for name in op.inputs[1:]]
    if op.inputs[0] != made or op.call.int_attr("axis") % x.rank != x.rank - 1:
        return None
    numbers = [value.astype(np.float64) for value in known if value is not None]
    if len(numbers) < len(known):
        return None
    mean, variance, gamma, beta = numbers
    with np.errstate(all="ignore"):
        scale = gamma / np.sqrt(variance + op.call.float_attr("epsilon"))
        return scale, beta - mean * scale


def _constant(op: JobOp, made: str, graph: JobGraph) -> Array | None:
    """What ``op`` does to each channel of ``made`` with, if it is known and stretches nothing."""
    if op.call.op not in _SCALINGS:
        return None
    if op.call.op in ("subtract", "divide") and op.inputs[0] != made:
        return None
    others = [name for name in op.inputs if name != made]
    value = graph.constants.get(others[0] or "") if len(others) == 1 else None
    y = op.call.outputs[0]
    if value is None or y not in op.call.inputs:
        return None
    per_channel = value.shape[-1:] == y.shape[-1:] and value.size == y.shape[-1]
    return value.reshape(-1) if value.size == 1 or per_channel else None


def _fold(chain: _Chain, editor: GraphEditor, graph: JobGraph, memory: Region) -> _Fold | None:
    weight, bias = chain.conv.inputs[1:3]
    w = _weight(weight, editor, graph)
    scale = np.ones(w.shape[0])
    shift = np.zeros(w.shape[0]) if bias is None else graph.constants[bias].astype(np.float64)
    with np.errstate(all="ignore"):  # what comes of it is looked at below
        for factor, term in chain.scalings:
            scale, shift = scale * factor, shift * factor + term
        folded = scaled(w, scale.reshape(-1, *(1,) * (w.ndim - 1)), memory.empty)
        shifted = shift.astype(np.float32)
    if not (np.isfinite(folded).all() and np.isfinite(shifted).all()):
        return None
    return _Fold((chain.conv, *chain.rest), folded, shifted)
