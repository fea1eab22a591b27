"""The cases of ONNX's own backend test suite that headrace should pass, collected once.

Which cases these are is derived from what headrace imports: every tensor that goes in or out has a
dtype of headrace, and every op has a converter, or a body that ONNX writes in ops that have one.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import (
    ModelProto,
    NodeProto,
    OptionalProto,
    SequenceProto,
    TensorProto,
    helper,
    numpy_helper,
)
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from headrace.errors import HeadraceError
from headrace.onnx.declared import inputs_of, outputs_of
from headrace.onnx.file.attributes import graphs
from headrace.onnx.file.calls import Functions, domain_of, function_key
from headrace.onnx.file.keys import LOOPS, ML_DOMAIN
from headrace.onnx.file.read import read_model
from headrace.onnx.hosted.cut import cut_model
from headrace.onnx.hosted.kinds import is_always_hosted, is_number_tensor
from headrace.onnx.importing.bodies import body_of
from headrace.onnx.importing.converters import CONVERTERS
from headrace.onnx.importing.converters.ml import MACHINE_LEARNING
from headrace.onnx.importing.schemas import declaration
from headrace.onnx.support import is_supported
from headrace.tensor_spec import TensorSpec

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
_PACKED = {
    number
    for name, number in TensorProto.DataType.items()
    if name in ("INT2", "UINT2", "INT4", "UINT4", "FLOAT4E2M1")
}
_HALF = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
DataSet = tuple[Sequence[Any], Sequence[Any]]


@dataclass(frozen=True, eq=False)
class SuiteCase:
    """A model, its inputs in graph order with the outputs expected, and the suite's tolerances."""

    name: str
    model: ModelProto
    data_sets: Sequence[DataSet]
    rtol: float
    atol: float

    @property
    def names(self) -> tuple[str, ...]:
        """Of the inputs."""
        return tuple(value.name for value in self.model.graph.input)

    @property
    def takes_tensors(self) -> bool:
        """Whether it is fed tensors, and all its inputs."""
        return all(value.type.HasField("tensor_type") for value in self.model.graph.input) and any(
            len(inputs) == len(self.names) and all(isinstance(x, np.ndarray) for x in inputs)
            for inputs, _ in self.data_sets[:1]
        )


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
        if isinstance(theirs, list):
            return same(ours, theirs, case)
        ours, theirs = np.asarray(ours), _as_objects(np.asarray(theirs))
        if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
            return f"output {index} is {ours.dtype}{ours.shape}, not {theirs.dtype}{theirs.shape}"
        if theirs.dtype.kind in "OU":
            if ours.tolist() == theirs.tolist():
                continue
            return f"output {index}: {ours} is not {theirs}"
        try:
            rtol = case.rtol + _last_place(theirs.dtype)
            np.testing.assert_allclose(_wide(ours), _wide(theirs), rtol, case.atol)
        except AssertionError as error:
            return f"output {index}: {error}"
    return ""


def with_weights(case: SuiteCase, fed: str | None) -> SuiteCase:
    """The case with weights in the place of all inputs but ``fed``: its first set of data."""
    (inputs, expected), model = case.data_sets[0], ModelProto()
    model.CopyFrom(case.model)
    left = []
    for value, x in zip(case.model.graph.input, inputs, strict=True):
        if value.name == fed:
            left.append(x)
            continue
        model.graph.input.remove(value)
        model.graph.initializer.append(_weight(value.name, value.type.tensor_type.elem_type, x))
    return replace(case, model=model, data_sets=[(left, expected)])


def _weight(name: str, element: int, x: Any) -> TensorProto:
    if element == TensorProto.STRING:
        texts = [str(part).encode() for part in x.reshape(-1)]
        return helper.make_tensor(name, element, x.shape, texts)
    if element in _PACKED:
        return helper.make_tensor(name, element, x.shape, x.reshape(-1).astype(np.float32))
    return helper.make_tensor(name, element, x.shape, x.tobytes(), raw=True)


def _as_objects(array: Any) -> Any:
    return array.astype(object) if array.dtype.kind == "U" else array


def _last_place(dtype: Any) -> float:
    """Two correctly rounded half floats may differ by this, relative; the suite's 1e-3 is less.

    Who rounds after each op, as a model in half precision says, differs there from who computes
    in float32 throughout.
    """
    return float(ml_dtypes.finfo(dtype).eps) if dtype in _HALF else 0.0


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
    """The values in the numbered files of a case."""
    values: list[Any] = []
    for index in range(len(list(folder.glob(f"{stem}_*.pb")))):
        data = (folder / f"{stem}_{index}.pb").read_bytes()
        match infos[index].type.WhichOneof("value"):
            case "sequence_type":
                values.append(numpy_helper.to_list(SequenceProto.FromString(data)))
            case "optional_type":
                values.append(numpy_helper.to_optional(OptionalProto.FromString(data)))
            case _:
                values.append(numpy_helper.to_array(TensorProto.FromString(data)))
    return values


def _is_ours(case: SuiteCase) -> bool:
    given = [x for inputs, _ in case.data_sets for x in inputs]
    if any(map(_is_hosted, given)) or _has_hosted_ends(case.model):
        try:
            cut = cut_model(case.model, case.name, {})
        except HeadraceError:
            return False
        middle = SuiteCase(case.name, cut.middle, (), case.rtol, case.atol)
        return _imports(middle, lists=True)
    return _imports(case)


def _imports(case: SuiteCase, *, lists: bool = False) -> bool:
    try:
        file = read_model(case.model)
        file_inputs = [info for info in inputs_of(file, lists=lists) if not info.optional]
        outputs_of(file, lists=lists)
    except HeadraceError:
        return False
    given: dict[str, TensorSpec] = {}
    for inputs, _ in case.data_sets[:1]:
        given.update(
            {i.name: TensorSpec.of(np.asarray(x)) for i, x in zip(file_inputs, inputs, strict=True)}
        )
    return all(_runs(n, file.opsets, file.functions, given) for n in _all(case.model.graph.node))


def _is_hosted(value: Any) -> bool:
    return isinstance(value, list) or np.asarray(value).dtype.kind in "OU"


def _has_hosted_ends(model: ModelProto) -> bool:
    ends = (*model.graph.input, *model.graph.output)
    return any(map(is_always_hosted, model.graph.node)) or not all(
        is_number_tensor(info.type) for info in ends
    )


def _all(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for graph in graphs(node.attribute):
            yield from _all(graph.node)


def _runs(
    node: NodeProto,
    opsets: Mapping[str, int],
    functions: Functions,
    given: Mapping[str, TensorSpec],
) -> bool:
    """True when the node, and the body that takes its place if it has one, can be imported."""
    domain = domain_of(node.domain)
    body = functions.get(function_key(node))
    if body is None:
        declared = declaration(domain, node.op_type, opsets[domain])
        if declared is None or not is_supported(domain, node.op_type, declared):
            return False
        # The body of SequenceMap is a loop, of sequences that are not known here.
        if not domain and node.op_type in ("If", "SequenceMap", *LOOPS, *CONVERTERS):
            return True
        if domain == ML_DOMAIN and node.op_type in MACHINE_LEARNING:
            return True
        specs = [given.get(name) for name in node.input]
        body = body_of(declared, node, opsets[domain], specs, node.op_type)
        if body is None:
            return False
    inside = {**opsets, **{domain_of(entry.domain): entry.version for entry in body.opset_import}}
    return all(_runs(inner, inside, functions, {}) for inner in _all(body.node))
