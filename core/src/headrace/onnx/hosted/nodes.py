"""Running the nodes of the host: by ONNX's reference implementation, and ops that it lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto
from onnx.helper import get_attribute_value
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from headrace.errors import InvalidModelError, UnsupportedModelError
from headrace.onnx.hosted.ops import OneHot, Optional, RegexFullMatch, StringNormalizer, Unique
from headrace.onnx.hosted.tables import CategoryMapper, DictVectorizer, LabelEncoder
from headrace.onnx.hosted.tokens import MurmurHash3, TfIdfVectorizer, Tokenizer
from headrace.onnx.keys import ML_DOMAIN
from headrace.signals import let_handlers_through


class ZipMap(OpRun):
    """Each row of a matrix as a map, from the names of its columns."""

    op_domain = ML_DOMAIN

    def _run(
        self,
        x: Any,
        classlabels_int64s: Sequence[int] | None = None,
        classlabels_strings: Sequence[str] | None = None,
    ) -> tuple[list[dict[Any, float]]]:
        return (_zipped(x, list(classlabels_strings or classlabels_int64s or ())),)


def _zipped(x: Any, names: Sequence[Any]) -> list[dict[Any, float]]:
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise ValueError(f"{len(names)} names for the columns of a tensor {list(x.shape)}")
    return [dict(zip(names, row, strict=True)) for row in rows.tolist()]


def _named(x: Any, names: Mapping[int, str], unknown: str) -> Any:
    found = np.empty(x.size, object)
    found[:] = [names.get(number, unknown) for number in x.reshape(-1).tolist()]
    return found.reshape(x.shape)


def _direct(node: NodeProto) -> Callable[[Any], Any] | None:
    """What a usual last node of a classifier makes of its input, as one function.

    The reference implementation looks at a node for longer than such a model runs.
    """
    attrs = {a.name: get_attribute_value(a) for a in node.attribute}
    match node.op_type:
        case "Identity":
            return lambda x: x.copy()  # what was fed stays the caller's
        case "ZipMap":
            texts = [text.decode() for text in attrs.get("classlabels_strings", ())]
            return partial(_zipped, names=texts or list(attrs.get("classlabels_int64s", ())))
        case "LabelEncoder" if attrs.keys() - {"default_string"} == _FROM_NUMBERS:
            texts = [text.decode() for text in attrs["values_strings"]]
            names = dict(zip(attrs["keys_int64s"], texts, strict=True))
            unknown = attrs.get("default_string", b"_Unused").decode()
            return partial(_named, names=names, unknown=unknown)
    return None


_FROM_NUMBERS = {"keys_int64s", "values_strings"}


_OPS = (
    ZipMap,
    CategoryMapper,
    LabelEncoder,
    DictVectorizer,
    Unique,
    OneHot,
    Optional,
    RegexFullMatch,
    StringNormalizer,
    Tokenizer,
    TfIdfVectorizer,
    MurmurHash3,
)


class HostedNodes:
    """The nodes that the host runs before, or after, the device; used from any thread.

    Raises:
        InvalidModelError: a node has not the attributes that it needs.
        UnsupportedModelError: a pattern of text is one that the host cannot look for.
    """

    def __init__(self, model: ModelProto, name: str) -> None:
        self._name = name
        self._is_empty = not model.graph.output
        self._direct: list[tuple[Any, ...]] | None = None  # input, output, function
        self._outputs = [output.name for output in model.graph.output]
        try:
            direct = [(*n.input, *n.output, _direct(n)) for n in model.graph.node]
            if not model.graph.initializer and all(made[-1] for made in direct):
                self._direct = direct
                return
            self._evaluator = ReferenceEvaluator(model, new_ops=list(_OPS))
        except UnsupportedModelError as error:
            raise UnsupportedModelError(f"{name}: {error}") from error
        except Exception as error:  # whatever the library raises speaks of the model
            let_handlers_through(error)
            raise InvalidModelError(f"{name}: {error}") from error

    def __call__(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What the nodes make, by name.

        Raises:
            InvalidModelError: a node does not take what it is given.
        """
        if self._is_empty:
            return {}
        try:
            if self._direct is not None:
                known = dict(given)
                for x, y, compute in self._direct:
                    known[y] = compute(known[x])
                return {name: _as_objects(known[name]) for name in self._outputs}
            made = self._evaluator.run(None, dict(given))
        except Exception as error:  # whatever the library raises speaks of the model
            let_handlers_through(error)
            raise InvalidModelError(
                f"{self._name}: what the host runs, of text, maps and sequences, failed: {error}"
            ) from error
        return dict(zip(self._outputs, map(_as_objects, made), strict=True))


def _as_objects(value: Any) -> Any:
    """Text always in an array of objects, also where numpy has made one of fixed width."""
    is_fixed = isinstance(value, np.ndarray) and value.dtype.kind == "U"
    return value.astype(object) if is_fixed else value
