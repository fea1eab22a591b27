"""The cases of ONNX's own backend test suite that headrace should pass, collected once.

Which cases these are is derived from what headrace imports: every tensor that goes in or out has a
dtype of headrace, and every op has a converter, or a body that ONNX writes in ops that have one.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from headrace.errors import HeadraceError
from headrace.onnx import schemas
from headrace.onnx.attributes import graphs
from headrace.onnx.calls import domain_of
from headrace.onnx.read import read_model
from headrace.onnx.signature import inputs_of, outputs_of
from headrace.onnx.support import is_supported

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
DataSet = tuple[Sequence[Any], Sequence[Any]]


@dataclass(frozen=True, eq=False)
class SuiteCase:
    """A model, its inputs in graph order with the outputs expected, and the suite's tolerances."""

    name: str
    model: ModelProto
    data_sets: Sequence[DataSet]
    rtol: float
    atol: float


@functools.cache
def suite_cases() -> tuple[SuiteCase, ...]:
    """Every case that headrace should pass, sorted by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the suite computes overflows and NaN on purpose
        found = [_load(case, kind) for kind in KINDS for case in load_model_tests(kind=kind)]
    cases = [case for case in found if _is_ours(case)]
    return tuple(sorted(cases, key=lambda case: case.name))


def same(actual: Any, expected: Any, case: SuiteCase) -> str:
    """How the outputs differ by the suite's measure; "" when they do not."""
    if len(actual) != len(expected):
        return f"{len(actual)} outputs instead of {len(expected)}"
    for index, (ours, theirs) in enumerate(zip(actual, expected, strict=True)):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
            return (
                f"output {index} is {ours.dtype}{ours.shape}, not {theirs.dtype}{theirs.shape}"
            )
        try:
            np.testing.assert_allclose(_wide(ours), _wide(theirs), case.rtol, case.atol)
        except AssertionError as error:
            return f"output {index}: {error}"
    return ""


def _wide(array: Any) -> Any:
    """Dtypes that numpy cannot compare itself, as one that it can."""
    return array if array.dtype.isbuiltin == 1 else array.astype(np.float32)


def _load(case: TestCase, kind: str) -> SuiteCase:
    name = f"{kind}-{case.name.removeprefix('test_')}"
    if case.model is not None:
        sets = [(_arrays(inputs), _arrays(outputs)) for inputs, outputs in case.data_sets or ()]
        return SuiteCase(name, case.model, sets, case.rtol, case.atol)
    folder = Path(case.model_dir or "")
    model = onnx.load(folder / "model.onnx")
    sets = [
        (_files(data, "input", model.graph.input), _files(data, "output", model.graph.output))
        for data in sorted(folder.glob("test_data_set_*"))
    ]
    return SuiteCase(name, model, sets, case.rtol, case.atol)


def _arrays(values: Iterable[Any]) -> list[Any]:
    return [numpy_helper.to_array(v) if isinstance(v, TensorProto) else v for v in values]


def _files(folder: Path, stem: str, infos: Sequence[Any]) -> list[Any]:
    """The values in the numbered files of a case; what is no tensor is left as its bytes."""
    values: list[Any] = []
    for index in range(len(list(folder.glob(f"{stem}_*.pb")))):
        data = (folder / f"{stem}_{index}.pb").read_bytes()
        is_tensor = infos[index].type.WhichOneof("value") == "tensor_type"
        values.append(numpy_helper.to_array(TensorProto.FromString(data)) if is_tensor else data)
    return values


def _is_ours(case: SuiteCase) -> bool:
    try:
        file = read_model(case.model)
        inputs_of(file)
        outputs_of(file)
    except HeadraceError:
        return False
    functions = {(domain_of(f.domain), f.name): f for f in case.model.functions}
    return all(
        _runs(node, opsets, functions) for node, opsets in _all(case.model.graph.node, file.opsets)
    )


def _all(
    nodes: Iterable[NodeProto], opsets: Mapping[str, int]
) -> Iterator[tuple[NodeProto, Mapping[str, int]]]:
    for node in nodes:
        yield node, opsets
        for graph in graphs(node.attribute):
            yield from _all(graph.node, opsets)


def _runs(
    node: NodeProto,
    opsets: Mapping[str, int],
    functions: Mapping[tuple[str, str], FunctionProto],
) -> bool:
    domain = domain_of(node.domain)
    function = functions.get((domain, node.op_type))
    if function is None:
        declared = schemas.declaration(domain, node.op_type, opsets[domain])
        if declared is None or not is_supported(domain, node.op_type, declared):
            return False
        return True
    inside = {domain_of(entry.domain): entry.version for entry in function.opset_import}
    return all(_runs(inner, inside, functions) for inner, _ in _all(function.node, inside))
