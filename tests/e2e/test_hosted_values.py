"""Models that take or give text, maps or sequences: what onnxruntime gives, headrace gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from headrace.errors import InputError, InvalidModelError, UnsupportedModelError
from headrace.onnx import load
from headrace.tensor_spec import TensorSpec

ort = pytest.importorskip("onnxruntime")
ort.set_default_logger_severity(4)

ML = "ai.onnx.ml"
WORDS = np.array([["cat", "dog"], ["emu", "gnu"], ["gnu", "cat"]], object)
X = np.array([[1, -2, 3], [0.5, 4, -1], [2, 2, 0], [-3, 0, 1]], np.float32)


def node(op: str, inputs: str, outputs: str, domain: str = "", **attrs: Any) -> NodeProto:
    return helper.make_node(op, inputs.split(), outputs.split(), domain=domain, **attrs)


def model(
    nodes: Sequence[NodeProto],
    takes: Mapping[str, int],
    gives: Sequence[Any],
    weights: Mapping[str, Any] | None = None,
) -> ModelProto:
    inputs = [
        helper.make_tensor_value_info(name, kind, ["n", None]) for name, kind in takes.items()
    ]
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in (weights or {}).items()]
    graph = helper.make_graph(list(nodes), "g", inputs, list(gives), tensors)
    imports = [helper.make_opsetid("", 18), helper.make_opsetid(ML, 3)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def tensor(name: str, kind: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, None)


def text(name: str) -> Any:
    return tensor(name, TensorProto.STRING)


def maps(name: str, key: int) -> Any:
    value = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    kind = helper.make_sequence_type_proto(helper.make_map_type_proto(key, value))
    return helper.make_value_info(name, kind)


def equal(got: Any, want: Any) -> None:
    assert type(got) is type(want)
    if isinstance(want, list):
        assert len(got) == len(want)
        for ours, theirs in zip(got, want, strict=True):
            equal(ours, theirs)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        np.testing.assert_allclose(list(got.values()), list(want.values()), rtol=1e-5)
    elif want.dtype == object:
        assert (got.dtype, got.tolist()) == (want.dtype, want.tolist())
    else:
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def agree(device: str, source: ModelProto, feeds: Mapping[str, Any]) -> None:
    """The device gives what onnxruntime does, for two numbers of rows, and the first again."""
    session = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    with load(source, device) as loaded:
        for rows in (3, 1, 3):
            fed = {name: value[:rows] for name, value in feeds.items()}
            want = session.run(None, fed)
            for results in (loaded.run(fed), loaded.submit(fed).result()):
                assert list(results) == [output.name for output in source.graph.output]
                for got, expected in zip(results.values(), want, strict=True):
                    equal(got, expected)


def test_names_of_classes_and_maps_of_their_scores(device: str) -> None:
    """As scikit-learn's classifiers are exported: a label for each row, and its scores by name."""
    for names, key in (
        (["emu", "gnu", "ibex"], TensorProto.STRING),
        ([3, 5, 9], TensorProto.INT64),
    ):
        kind = "strings" if key == TensorProto.STRING else "ints"
        columns = {f"classlabels_{'strings' if kind == 'strings' else 'int64s'}": names}
        nodes = [
            node(
                "LinearClassifier",
                "x",
                "label scores",
                ML,
                coefficients=[1.0, 0.5, -1, -2, 1, 0.25, 0.5, -1, 1],
                intercepts=[0.1, -0.2, 0.3],
                post_transform="SOFTMAX",
                **{f"classlabels_{kind}": names},
            ),
            node("ZipMap", "scores", "maps", ML, **columns),
        ]
        gives = [tensor("label", key), maps("maps", key)]
        agree(device, model(nodes, {"x": TensorProto.FLOAT}, gives), {"x": X})


@pytest.mark.parametrize("wanted", ["label", "scores"])
def test_classifiers_of_which_one_output_is_left_out(device: str, wanted: str) -> None:
    """The other one is as if both were there."""
    attrs = {"coefficients": [1.0, 0.5, -1, -2, 1, 0.25], "classlabels_strings": ["emu", "gnu"]}
    results = {"label": text("label"), "scores": tensor("scores")}

    def run(outputs: str, names: Sequence[str]) -> Mapping[str, Any]:
        made = helper.make_node("LinearClassifier", ["x"], outputs.split(" "), domain=ML, **attrs)
        gives = [results[name] for name in names]
        with load(model([made], {"x": TensorProto.FLOAT}, gives), device) as loaded:
            return loaded.run({"x": X})

    alone = run("label " if wanted == "label" else " scores", [wanted])
    equal(alone[wanted], run("label scores", list(results))[wanted])


def test_names_that_are_looked_up_by_a_computed_place(device: str) -> None:
    """The table of names is a weight; it is reshaped on its way out."""
    nodes = [
        node("ArgMax", "x", "place", axis=1, keepdims=0),
        node("ArrayFeatureExtractor", "names place", "found", ML),
        node("Reshape", "found shape", "label"),
    ]
    weights = {"names": np.array(["emu", "gnu", "ibex"], object), "shape": np.array([-1])}
    agree(device, model(nodes, {"x": TensorProto.FLOAT}, [text("label")], weights), {"x": X})


def test_words_become_numbers_that_the_device_computes_with(device: str) -> None:
    """Unknown words have the default, and what the device makes of them is a tensor."""
    nodes = [
        node(
            "LabelEncoder",
            "words",
            "places",
            ML,
            keys_strings=["cat", "dog", "emu"],
            values_int64s=[2, 1, 0],
            default_int64=3,
        ),
        node("Gather", "table places", "rows"),
        node("OneHotEncoder", "words", "marks", ML, cats_strings=["gnu", "cat"], zeros=1),
        node("ReduceSum", "marks", "total", keepdims=0),
    ]
    gives = [tensor("rows"), tensor("total")]
    table = np.arange(8, dtype=np.float32).reshape(4, 2)
    source = model(nodes, {"words": TensorProto.STRING}, gives, {"table": table})
    agree(device, source, {"words": WORDS})


def test_columns_of_text_are_encoded(device: str) -> None:
    """As tables of categories are: by places along an axis, one alone too, and from the end."""
    table = {"keys_strings": ["cat", "dog"], "values_int64s": [4, 7], "default_int64": -1}
    nodes = [
        node("ArrayFeatureExtractor", "words first", "a", ML),
        node("LabelEncoder", "a", "places", ML, **table),
        node("Gather", "words last", "b", axis=1),
        node("OneHotEncoder", "b", "marks", ML, cats_strings=["gnu", "emu", "cat"]),
        node("Gather", "words one", "c", axis=1),
    ]
    gives = [tensor("places", TensorProto.INT64), tensor("marks"), text("c")]
    weights = {"first": np.array([[0]]), "last": np.array([-1, 0]), "one": np.array(1)}
    source = model(nodes, {"words": TensorProto.STRING}, gives, weights)
    agree(device, source, {"words": WORDS})


def test_a_word_of_no_category_is_named(device: str) -> None:
    """Where unknown words are no zeros."""
    nodes = [node("OneHotEncoder", "words", "marks", ML, cats_strings=["gnu", "cat"], zeros=0)]
    source = model(nodes, {"words": TensorProto.STRING}, [tensor("marks")])
    with load(source, device) as loaded:
        with pytest.raises(InvalidModelError, match="'yak' is none of the 2 categories"):
            loaded.run({"words": np.array([["cat", "yak"]], object)})
        assert loaded.run({"words": np.array([["cat"]])})["marks"].tolist() == [[[0, 1]]]


def test_text_may_pass_by_what_the_device_computes(device: str) -> None:
    """A choice between texts by computed numbers, and text of text alone."""
    nodes = [
        node("Greater", "x y", "greater"),
        node("Where", "greater words other", "chosen"),
        node("Concat", "words words", "twice", axis=1),
        node("Shape", "words", "shape"),
    ]
    weights = {"other": np.array("cat", object), "y": np.array(0, np.float32)}
    gives = [text("chosen"), text("twice"), tensor("shape", TensorProto.INT64)]
    takes = {"x": TensorProto.FLOAT, "words": TensorProto.STRING}
    agree(device, model(nodes, takes, gives, weights), {"x": X[:3, :2], "words": WORDS})


def test_text_that_differs(device: str) -> None:
    """Sorted, as it comes, and rows of it; the device reads how often each is there."""
    nodes = [
        node("Unique", "words", "names firsts places counts"),
        node("Unique", "words", "found", sorted=0),
        node("Unique", "words", "rows", axis=0),
        node("Cast", "counts", "numbers", to=TensorProto.FLOAT),
        node("Exp", "numbers", "y"),
    ]
    numbers = [tensor(name, TensorProto.INT64) for name in ("firsts", "places", "counts")]
    gives = [text("names"), text("found"), text("rows"), *numbers, tensor("y")]
    agree(device, model(nodes, {"words": TensorProto.STRING}, gives), {"words": WORDS})


def test_text_is_put_at_places(device: str) -> None:
    """Of elements, of rows and of one of two words, with places counted from the end."""
    nodes = [
        node("ScatterElements", "words columns new", "elements", axis=1),
        node("ScatterND", "words rows row", "whole"),
        node("ReverseSequence", "words lengths", "turned", time_axis=1, batch_axis=0),
        node("OneHot", "lengths depth pair", "hot", axis=0),
    ]
    weights = {
        "columns": np.array([[-1]]),
        "new": np.array([["owl"]], object),
        "rows": np.array([[-1]]),
        "row": np.array([["owl", "fox"]], object),
        "depth": np.array(3),
        "pair": np.array(["no", "yes"], object),
    }
    gives = [text(name) for name in ("elements", "whole", "turned", "hot")]
    takes = {"words": TensorProto.STRING}
    source = model(nodes, takes, gives, weights)
    lengths = helper.make_tensor_value_info("lengths", TensorProto.INT64, ["n"])
    source.graph.input.append(lengths)
    agree(device, source, {"words": WORDS, "lengths": np.array([2, 1, 2])})


def test_text_is_padded_and_laid_out_anew(device: str) -> None:
    """Where onnxruntime has no kernel: the values are written out."""
    nodes = [
        node("Pad", "words pads fill", "padded"),
        node("CenterCropPad", "words size", "cut", axes=[0]),
        node("Reshape", "words shape", "image"),
        node("SpaceToDepth", "image", "deep", blocksize=2),
        node("Optional", "words", "maybe"),
        node("OptionalGetElement", "maybe", "same"),
    ]
    weights = {
        "pads": np.array([0, 1, 0, 0]),
        "fill": np.array("-", object),
        "size": np.array([1]),
        "shape": np.array([1, 1, 2, 2]),
    }
    gives = [text(name) for name in ("padded", "cut", "deep", "same")]
    with load(model(nodes, {"words": TensorProto.STRING}, gives, weights), device) as loaded:
        got = loaded.run({"words": WORDS[:2]})
    assert got["padded"].tolist() == [["-", "cat", "dog"], ["-", "emu", "gnu"]]
    assert got["cut"].tolist() == [["cat", "dog"]]
    assert got["deep"].tolist() == [[[["cat"]], [["dog"]], [["emu"]], [["gnu"]]]]
    assert got["same"].tolist() == WORDS[:2].tolist()


def test_sequences_are_lists(device: str) -> None:
    """What makes or takes one at the ends of a model moves tensors, and the device computes."""
    kind = helper.make_tensor_sequence_value_info("parts", TensorProto.FLOAT, None)
    nodes = [node("Exp", "x", "grown"), node("SplitToSequence", "grown", "parts", axis=1)]
    agree(device, model(nodes, {"x": TensorProto.FLOAT}, [kind]), {"x": X})


def test_what_the_host_makes_of_computed_numbers_must_be_an_output(device: str) -> None:
    """The device would have to go on after the host, and the error says which value it is."""
    nodes = [
        node("ArgMax", "x", "place", axis=1),
        node("LabelEncoder", "place", "name", ML, keys_int64s=[0], values_strings=["a"]),
        node("LabelEncoder", "name", "number", ML, keys_strings=["a"], values_floats=[1.0]),
        node("Exp", "number", "y"),
    ]
    source = model(nodes, {"x": TensorProto.FLOAT}, [tensor("y")])
    source.graph.output.append(text("name"))
    with pytest.raises(UnsupportedModelError, match="reads 'number', which the host makes"):
        load(source, device)


def test_text_that_is_changed_in_no_known_way_is_refused(device: str) -> None:
    """The op is named, and the file."""
    nodes = [node("Trilu", "words", "y")]
    source = model(nodes, {"words": TensorProto.STRING}, [text("y")])
    with pytest.raises(UnsupportedModelError, match="does not run Trilu of text"):
        load(source, device)


def test_types_that_contradict_each_other_are_told_as_an_error_of_the_model(device: str) -> None:
    """An input that is declared as numbers, and its usual value is text."""
    takes, usual = {"x": TensorProto.FLOAT}, {"x": np.array(["a"], object)}
    source = model([node("Neg", "x", "y")], takes, [tensor("y")], usual)
    with pytest.raises(InvalidModelError, match=r"its types cannot be told: .* elem type"):
        load(source, device)


def test_the_host_reads_no_other_file(device: str, tmp_path: Path) -> None:
    """Also where it would be beside the model: the import alone knows which files may be read."""
    weight = TensorProto(
        name="place", data_type=TensorProto.INT64, dims=[1], data_location=TensorProto.EXTERNAL
    )
    weight.external_data.add(key="location", value="place.bin")
    (tmp_path / "place.bin").write_bytes(bytes(8))
    nodes = [node("Gather", "words place", "y")]
    source = model(nodes, {"words": TensorProto.STRING}, [text("y")])
    source.graph.initializer.append(weight)
    (tmp_path / "m.onnx").write_bytes(source.SerializeToString())
    with pytest.raises(UnsupportedModelError, match="'place' is in another file"):
        load(tmp_path / "m.onnx", device)


def test_what_is_fed_is_checked(device: str) -> None:
    """Text is an array of str; what a node does not take names the model."""
    nodes = [node("Identity", "words", "y"), node("Cast", "words", "z", to=TensorProto.FLOAT)]
    source = model(nodes, {"words": TensorProto.STRING}, [text("y"), tensor("z")])
    with load(source, device) as loaded:
        assert str(loaded.inputs[0]) == "text[n, ?]"
        with pytest.raises(InputError, match="give a numpy array of text"):
            loaded.run({"words": [["a"]]})  # type: ignore[dict-item]
        with pytest.raises(InputError, match="every element must be a str"):
            loaded.run({"words": np.array([[1]], object)})
        with pytest.raises(InputError, match=r"shape \[1\] and the model takes text\[n, \?\]"):
            loaded.run({"words": np.array(["1"])})
        with pytest.raises(InvalidModelError, match="what the host runs"):
            loaded.run({"words": WORDS})
        with pytest.raises(UnsupportedModelError, match="known of arrays"):
            loaded.plan_for({"words": TensorSpec((1, 1), "float32")})
        for ask in (loaded.run, loaded.submit, loaded.plan_for):
            with pytest.raises(InputError, match="as a mapping of names to arrays, not as list"):
                ask([WORDS])  # type: ignore[arg-type]
        results = loaded.run({"words": np.array([["2.5"]])})
        assert results["z"].tolist() == [[2.5]]
