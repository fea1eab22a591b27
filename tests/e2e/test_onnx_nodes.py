"""ONNX's own backend tests on a device: what onnxruntime passes, headrace passes.

Each case runs on onnxruntime and on the device, and both are compared with the outputs that the
suite expects, by the suite's tolerances. Where onnxruntime fails, headrace is run all the same and
its result is only reported: some cases are wrong, random, or written for an operator set that
onnxruntime does not know yet.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from onnx_cases import SuiteCase, same, suite_cases, with_weights

from headrace.errors import HeadraceError
from headrace.graph import constants
from headrace.onnx import load
from headrace.onnx.file import weights

ort = pytest.importorskip("onnxruntime")
ort.set_default_logger_severity(4)

CASES = suite_cases()
OF_TENSORS = [case for case in CASES if case.takes_tensors]
# Below what there is with any onnx that is allowed.
LEAST = {"node": 900, "simple": 5, "pytorch-operator": 30, "pytorch-converted": 80}


def fails_on_onnxruntime(case: SuiteCase) -> str:
    """Why onnxruntime fails the case; "" when it passes."""
    try:
        session = ort.InferenceSession(
            case.model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        names = [value.name for value in session.get_inputs()]
        for inputs, expected in case.data_sets:
            arrays = [x if isinstance(x, list) else np.asarray(x) for x in inputs]
            feeds = dict(zip(names, arrays, strict=True))
            difference = same(session.run(None, feeds), expected, case)
            if difference:
                return difference
    except Exception as error:  # noqa: BLE001  (onnxruntime's errors have no common class)
        return f"{type(error).__name__}: {error}"
    return ""


def fails_on_headrace(case: SuiteCase, device: str) -> str:
    """Why headrace fails the case on ``device``; "" when it passes."""
    try:
        with load(case.model, device) as model:
            names = [info.name for info in model.inputs if not info.optional]
            for inputs, expected in case.data_sets:
                results = model.run(dict(zip(names, inputs, strict=True)))
                difference = same(list(results.values()), expected, case)
                if difference:
                    return difference
    except HeadraceError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def check(case: SuiteCase, device: str) -> None:
    """Fail where only onnxruntime passes the case; skip where neither does."""
    why = fails_on_headrace(case, device)
    if not why:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = fails_on_onnxruntime(case)
    if peer:
        pytest.skip("onnxruntime fails the case too; headrace was run and fails")
    pytest.fail(f"onnxruntime passes and headrace fails: {why}", pytrace=False)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_onnxruntime_passes_headrace_passes(case: SuiteCase, device: str) -> None:
    """The device gives the outputs that the suite expects, wherever onnxruntime does."""
    check(case, device)


@pytest.mark.parametrize("case", OF_TENSORS, ids=lambda case: case.name)
def test_what_is_fed_may_be_a_weight(
    case: SuiteCase, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All inputs but one, and all; they are read when they are asked for, as large ones are."""
    for module in (constants, weights):
        monkeypatch.setattr(module, "SMALL_BYTES", -1)
    for fed in (*case.names, None):
        check(with_weights(case, fed), device)


def test_the_suite_was_found() -> None:
    """The list of cases is derived; were it derived wrongly, nothing else here would notice."""
    kinds = {kind: sum(case.name.startswith(f"{kind}-") for case in CASES) for kind in LEAST}
    assert {kind: n for kind, n in kinds.items() if n < LEAST[kind]} == {}


def test_onnxruntime_can_be_a_measure() -> None:
    """Were onnxruntime broken, every failure of headrace would be excused."""
    sample = [case for case in CASES if case.name.startswith("node-")][::20]
    passed = sum(not fails_on_onnxruntime(case) for case in sample)
    assert passed > 0.8 * len(sample)
