"""Jobs for new shapes out of a template: the plans are those that compiling anew gives."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto
from onnx_models import INT64, info, model, node

from headrace import plan as plans
from headrace.errors import ModelError
from headrace.onnx import Model
from headrace.onnx.importing.importer import Importer
from headrace.tensor_spec import TensorSpec

Load = Callable[..., Model]
Shapes = Sequence[Sequence[int]]

W = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
TABLE = np.random.default_rng(1).normal(size=(20, 6)).astype(np.float32)
NUMBERS: dict[str, Any] = {
    "w": W,
    "table": TABLE,
    "zero": np.array(0),
    "one": np.array(1),
    "two": np.array(2),
    "axis0": np.array([0]),
    "axis1": np.array([1]),
    "minus": np.array([-1]),
    "six": np.array([6]),
    "four": np.array([4]),
    "half": np.float32(0.5),
    "low": np.float32(-1e9),
    "null": np.float32(0),
}
SIZE = (node("Shape", "x", "dims"), node("Gather", "dims zero", "n", axis=0))


def rows(*nodes: Any, takes: Sequence[int | str] = ("n", 6)) -> ModelProto:
    """A model of ``x``, of rows of six numbers, that knows how many there are."""
    return model([*SIZE, *nodes], inputs=[info("x", takes)], weights=NUMBERS)


MODELS: dict[str, ModelProto] = {
    "product": rows(node("MatMul", "x w", "m"), node("Relu", "m", "y")),
    "positions": rows(
        node("Range", "zero n one", "at"),
        node("Gather", "table at", "rows", axis=0),
        node("Add", "x rows", "y"),
    ),
    "part of a table": rows(
        node("Unsqueeze", "n axis0", "end"),
        node("Slice", "table axis0 end axis0", "rows"),
        node("Mul", "x rows", "y"),
    ),
    "causal mask": rows(
        node("Range", "zero n one", "at"),
        node("Unsqueeze", "at axis1", "down"),
        node("Unsqueeze", "at axis0", "along"),
        node("LessOrEqual", "along down", "seen"),
        node("Where", "seen null low", "mask"),
        node("Transpose", "x", "t", perm=[1, 0]),
        node("MatMul", "x t", "scores"),
        node("Add", "scores mask", "masked"),
        node("Softmax", "masked", "y", axis=-1),
    ),
    "reshaped": rows(
        node("Mul", "n two", "twice"),
        node("Unsqueeze", "twice axis0", "twice_"),
        node("Concat", "twice_ minus", "shape", axis=0),
        node("Reshape", "x shape", "r"),
        node("ReduceMean", "r", "y", axes=[0]),
    ),
    "halves": rows(
        node("Div", "n two", "half_n"),
        node("Unsqueeze", "half_n axis0", "cut"),
        node("Slice", "x axis0 cut axis0", "first"),
        node("Sub", "n half_n", "rest"),
        node("ConstantOfShape", "cut", "zeros"),
        node("ReduceSum", "zeros", "none", keepdims=0),
        node("Add", "first none", "y"),
    ),
    "as many as six": rows(
        node("Unsqueeze", "n axis0", "n_"),
        node("Concat", "n_ six", "shape", axis=0),
        node("Equal", "shape six", "is_six"),
        node("Where", "is_six four six", "chosen"),
        node("ReduceSum", "chosen", "count", keepdims=0),
        node("Cast", "count", "factor", to=1),
        node("Mul", "x factor", "y"),
    ),
    "expanded": rows(
        node("Concat", "dims four", "shape", axis=0),
        node("Unsqueeze", "x minus", "column"),
        node("Expand", "column shape", "y"),
    ),
    "joined": rows(
        node("Concat", "x table", "both", axis=0),
        node("Size", "both", "count"),
        node("Cast", "count", "factor", to=1),
        node("Div", "both factor", "y"),
    ),
    "split": rows(
        node("Split", "x", "a b", axis=1),
        node("Add", "a b", "sum"),
        node("Flatten", "sum", "y", axis=0),
    ),
    "with itself": model(
        [node("Add", "x z", "y")], inputs=[info("x", ["n", 6]), info("z", ["m", 6])]
    ),
    "blocks": model(
        [node("DepthToSpace", "x", "y", blocksize=2)], inputs=[info("x", ["n", 8, "h", "w"])]
    ),
    "keys of calls before": model(
        [
            node("Shape", "past", "dims"),
            node("Gather", "dims two", "n", axis=0),
            node("Add", "n one", "all"),
            node("Cast", "all", "total", to=TensorProto.INT32),
            node("Cast", "n", "last", to=TensorProto.INT32),
            node("Reshape", "last minus", "lasts"),
            node(
                "GroupQueryAttention",
                "x z z past past lasts total",
                "y",
                domain="com.microsoft",
                num_heads=4,
                kv_num_heads=2,
            ),
        ],
        inputs=[info("x", [1, 1, 16]), info("z", [1, 1, 8]), info("past", [1, 2, "n", 4])],
        weights={name: NUMBERS[name] for name in ("one", "two", "minus")},
        **{"com.microsoft": 1},
    ),
    "a body that ONNX writes": model(
        [node("Attention", "x z z - past past", "y")],
        inputs=[info("x", [1, 2, 1, 4]), info("z", [1, 2, 1, 4]), info("past", [1, 2, "n", 4])],
        opset=23,
    ),
    "pictures": model(
        [
            node("Conv", "x k", "c", pads=[1, 1, 1, 1], strides=[2, 2]),
            node("MaxPool", "c", "p", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
            node("Resize", "p - scales", "r", mode="nearest"),
            node("GlobalAveragePool", "r", "y"),
        ],
        inputs=[info("x", ["n", 3, "h", "w"])],
        weights={
            "k": np.ones((4, 3, 3, 3), np.float32),
            "scales": np.array([1, 1, 2, 2], np.float32),
        },
    ),
}


def specs_of(loaded: Model, sizes: dict[str, int]) -> dict[str, TensorSpec]:
    """What is fed, where the dimensions of the model are as large as that."""
    return {
        one.name: TensorSpec(
            tuple(sizes[dim] if isinstance(dim, str) else dim or 1 for dim in one.shape or ()),
            one.dtype,
        )
        for one in loaded.inputs
    }


def plan_or_error(loaded: Model, specs: dict[str, TensorSpec]) -> bytes | str:
    """The bytes of the plan; or what is wrong."""
    try:
        return plans.encode(loaded.plan_for(specs))
    except ModelError as error:
        return str(error)


@pytest.fixture
def imports(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the models that are imported, each as often as it is."""
    real, found = Importer.run, []

    def run(self: Importer, *args: Any, **more: Any) -> Any:
        found.append(self.builder.name)
        return real(self, *args, **more)

    monkeypatch.setattr(Importer, "run", run)
    return found


size = st.integers(0, 24)


@pytest.mark.parametrize("name", MODELS)
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(sets=st.lists(st.fixed_dictionaries(dict.fromkeys("nmhw", size)), min_size=4, max_size=9))
def test_plans_are_those_of_models_that_met_no_other_shape(
    name: str, load_near: Load, sets: list[dict[str, int]]
) -> None:
    """Byte by byte, whatever was met before: also where decisions turn out otherwise."""
    loaded = load_near(MODELS[name], plan_cache=False)
    for sizes in sets:
        specs = specs_of(loaded, sizes)
        fresh = load_near(MODELS[name], plan_cache=False)
        assert plan_or_error(loaded, specs) == plan_or_error(fresh, specs)


@pytest.mark.parametrize("name", MODELS)
def test_a_fourth_set_of_shapes_is_not_imported(
    name: str, load_near: Load, imports: list[str]
) -> None:
    """All of these models are general; what is computed is what a model computes that is new."""
    loaded = load_near(MODELS[name], plan_cache=False)
    sides = ((4, 8, 8), (8, 12, 24), (10, 16, 12), (14, 20, 16))
    for turn, (n, h, w) in enumerate(sides):
        specs = specs_of(loaded, {"n": n, "m": n, "h": h, "w": w})
        imports.clear()
        random = np.random.default_rng(turn)
        feeds = {k: random.normal(size=s.shape).astype(s.dtype.numpy) for k, s in specs.items()}
        made = loaded.run(feeds)
        assert len(imports) == (0 if turn == 3 else 1)
        wanted = load_near(MODELS[name], plan_cache=False).run(feeds)
        np.testing.assert_array_equal(made["y"], wanted["y"])


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("positions", (21, 1, 0)),  # the table ends; a row is repeated; there is none
        ("part of a table", (21, 1, 0)),
        ("as many as six", (6, 1)),
        ("halves", (1, 0)),
        ("reshaped", (1, 0)),
        ("with itself", (1,)),
    ],
)
def test_what_is_decided_otherwise_is_compiled_as_ever(
    name: str, others: Sequence[int], load_near: Load, imports: list[str]
) -> None:
    """And the template stays for shapes of its kind."""
    loaded = load_near(MODELS[name], plan_cache=False)
    for count in (8, 10, 12, 14):
        loaded.plan_for(specs_of(loaded, {"n": count, "m": count}))
    for count in others:
        imports.clear()
        specs = specs_of(loaded, {"n": count, "m": 8 if name == "with itself" else count})
        fresh = load_near(MODELS[name], plan_cache=False)
        assert plan_or_error(loaded, specs) == plan_or_error(fresh, specs)
        assert len(imports) >= 2
    imports.clear()
    loaded.plan_for(specs_of(loaded, {"n": 16, "m": 16}))
    assert not imports


def test_shapes_that_are_wrong_spoil_nothing(load_near: Load, imports: list[str]) -> None:
    """They are refused with the message that they always get, and others are served as before."""
    made = MODELS["with itself"]
    loaded = load_near(made, plan_cache=False)
    for count in (8, 10):
        loaded.plan_for(specs_of(loaded, {"n": count, "m": count}))
    for count in (12, 13, 14):
        wrong = specs_of(loaded, {"n": count, "m": 5})
        with pytest.raises(ModelError, match=rf"\({count}, 6\) and \(5, 6\) do not broadcast"):
            loaded.plan_for(wrong)
    for count in (12, 14):
        imports.clear()
        loaded.plan_for(specs_of(loaded, {"n": count, "m": count}))
    assert not imports


def test_a_model_that_asks_for_numbers_is_compiled_as_ever(
    load_near: Load, imports: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Two templates that serve one set of shapes are enough; the log says so."""
    made = rows(
        node("Cast", "n", "f", to=1),
        node("Mul", "f half", "h"),
        node("Cast", "h", "count", to=INT64),
        node("Unsqueeze", "count axis0", "end"),
        node("Slice", "x axis0 end axis0", "y"),
    )
    loaded = load_near(made, plan_cache=False)
    with caplog.at_level(logging.INFO, "headrace.templates"):
        for count in range(4, 12):
            specs = specs_of(loaded, {"n": count})
            fresh = load_near(made, plan_cache=False)
            assert plan_or_error(loaded, specs) == plan_or_error(fresh, specs)
    assert [record.message for record in caplog.records] == [
        f"{loaded.name}: no template for inputs of other shapes, each is compiled anew: it would "
        "serve one set of shapes alone"
    ] * 2
    imports.clear()
    loaded.plan_for(specs_of(loaded, {"n": 20}))
    assert len(imports) == 1


def test_a_model_whose_values_decide_shapes_has_no_template(
    load_near: Load, imports: list[str]
) -> None:
    """Each value has its own job, of any shape."""
    made = model(
        [node("Slice", "x zeros ends", "y")],
        inputs=[info("x", ["n", 6]), info("ends", [1], INT64)],
        weights={"zeros": np.array([0])},
    )
    loaded = load_near(made, plan_cache=False)
    for count in (4, 5, 6, 7):
        imports.clear()
        x = np.random.default_rng(count).normal(size=(count, 6)).astype(np.float32)
        y = loaded.run({"x": x, "ends": np.array([count - 1])})["y"]
        np.testing.assert_array_equal(y, x[: count - 1])
        assert imports
