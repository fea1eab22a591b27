"""Running the nodes of the host: the usual ones as functions, others by ONNX's implementation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto
from onnx.numpy_helper import to_array
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from headrace.errors import InvalidModelError, UnsupportedModelError
from headrace.onnx.file.keys import ML_DOMAIN, domain_of
from headrace.onnx.file.text import place
from headrace.onnx.hosted.direct import RowZipper, direct
from headrace.onnx.hosted.ops import OneHot, Optional, RegexFullMatch, StringNormalizer, Unique
from headrace.onnx.hosted.tables import NAN_IS_A_KEY, CategoryMapper, DictVectorizer, LabelEncoder
from headrace.onnx.hosted.tokens import MurmurHash3, TfIdfVectorizer, Tokenizer
from headrace.onnx.importing.schemas import check_required, declaration
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
        return (RowZipper(classlabels_strings or classlabels_int64s or ())(x),)


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
        self._outputs = [output.name for output in model.graph.output]
        self._direct: list[tuple[Any, ...]] | None = None  # function, inputs, output
        versions = {domain_of(used.domain): used.version for used in model.opset_import}
        _check_attributes(model, versions, name)
        try:
            self._direct = _directly(model, versions)
            if self._direct is not None:
                self._fixed = {t.name: to_array(t) for t in model.graph.initializer}
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
                known = {**self._fixed, **given}
                for compute, read, made in self._direct:
                    known[made] = compute(*[known[name] for name in read])
                return {name: _as_objects(known[name]) for name in self._outputs}
            results = self._evaluator.run(None, dict(given))
        except Exception as error:  # whatever the library raises speaks of the model
            let_handlers_through(error)
            raise InvalidModelError(
                f"{self._name}: what the host runs, of text, maps and sequences, failed: {error}"
            ) from error
        return dict(zip(self._outputs, map(_as_objects, results), strict=True))


def _check_attributes(model: ModelProto, versions: Mapping[str, int], name: str) -> None:
    for node in model.graph.node:
        domain = domain_of(node.domain)
        declared = declaration(domain, node.op_type, versions.get(domain, 0))
        if declared is not None:
            given = {attribute.name for attribute in node.attribute}
            check_required(declared, given, place(name, node))


def _directly(model: ModelProto, versions: Mapping[str, int]) -> list[tuple[Any, ...]] | None:
    """Function, inputs and output of each node; None where one has to be looked at."""
    version = versions.get(ML_DOMAIN, NAN_IS_A_KEY)
    made = [(direct(n, version), list(n.input), *n.output) for n in model.graph.node]
    return made if all(compute for compute, *_ in made) else None


def _as_objects(value: Any) -> Any:
    """Text always in an array of objects, also where numpy has made one of fixed width."""
    is_fixed = isinstance(value, np.ndarray) and value.dtype.kind == "U"
    return value.astype(object) if is_fixed else value
