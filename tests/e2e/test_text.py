"""Text that a model takes: changed, cut into tokens, counted, looked for, and made numbers of."""

from __future__ import annotations

import locale
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

from headrace.errors import InputError, InvalidModelError, UnsupportedModelError
from headrace.onnx import load

ort = pytest.importorskip("onnxruntime")
ort.set_default_logger_severity(4)

TEXTS = np.array(["A bc  déf_1, g.", "", "x-y\nzz 22", "日本 ab"], object)
MS, ML = "com.microsoft", "ai.onnx.ml"


def node(op: str, inputs: str, outputs: str, domain: str = "", **attrs: Any) -> NodeProto:
    return helper.make_node(op, inputs.split(), outputs.split(), domain=domain, **attrs)


def model(
    nodes: list[NodeProto], takes: dict[str, Any], gives: dict[str, int], weights: Any = ()
) -> ModelProto:
    inputs = [
        helper.make_value_info(name, kind)
        if not isinstance(kind, int)
        else helper.make_tensor_value_info(name, kind, None)
        for name, kind in takes.items()
    ]
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in gives.items()]
    graph = helper.make_graph(nodes, "g", inputs, results, list(weights))
    imports = [helper.make_opsetid(d, v) for d, v in (("", 20), (ML, 3), (MS, 1))]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def tokens(**attrs: Any) -> ModelProto:
    attrs = {"mark": 0, "pad_value": "#", "mincharnum": 1, **attrs}
    nodes = [node("Tokenizer", "x", "y", MS, **attrs)]
    return model(nodes, {"x": TensorProto.STRING}, {"y": TensorProto.STRING})


def run(device: str, source: ModelProto, **feeds: Any) -> list[Any]:
    with load(source, device) as loaded:
        return list(loaded.run(feeds).values())


def agree(device: str, source: ModelProto, **feeds: Any) -> None:
    session = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    for got, want in zip(run(device, source, **feeds), session.run(None, feeds), strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert got.tolist() == want.tolist()


@pytest.mark.parametrize(
    "pattern",
    [
        "[a-zA-Z0-9_]+",
        r"\w+",
        r"\b\w\w+\b",
        "a|ab|é",
        "b*?c",
        "(?i)A|DÉ",
        ".",
        r"[[:alpha:]]+|\d$",
        r"[\pL-]+",
        r"[^\s\W]+",
        r"\x{e9}f_?|[]a&&]",
        "(?m)^.*$",
        r"\S+",
        "é?f",
        "[^ ]*b",
        r"[a-z]{2,}",
        "y{1,2}?z?",
        r"\bb*\B",
        "a?(?:ab)?",
    ],
)
def test_tokens_are_the_longest_matches_of_a_pattern(device: str, pattern: str) -> None:
    agree(device, tokens(tokenexp=pattern), x=TEXTS)


@pytest.mark.parametrize(
    "separators",
    [[" "], [" ", r"\.", ",", "-"], ["b", "ab"], ["ab", "b"], [r"\s+|_"], ["a*"], [""]],
)
def test_tokens_are_what_is_left_between_separators(device: str, separators: list[str]) -> None:
    agree(device, tokens(separators=separators), x=TEXTS)
    agree(device, tokens(separators=separators, mark=1), x=TEXTS[:, None])


def test_short_tokens_are_left_out_and_nothing_has_no_tokens(device: str) -> None:
    agree(device, tokens(tokenexp=r"\w+", mincharnum=2, mark=1), x=TEXTS[:, None])
    agree(device, tokens(tokenexp=r"\w+"), x=np.array(["!", ""], object))
    agree(device, tokens(tokenexp=r"\w+"), x=np.empty((3, 0), object))


@pytest.mark.parametrize("pattern", ["a(?=b)", r"(a)\1", "(", r"\p{Greek}", "[[:letter:]]", "\\"])
def test_patterns_that_are_not_of_re2_are_refused(device: str, pattern: str) -> None:
    with pytest.raises(UnsupportedModelError, match="does not run the pattern"):
        load(tokens(tokenexp=pattern), device)


def test_a_tokenizer_needs_to_be_told_how(device: str) -> None:
    with pytest.raises(InvalidModelError, match="needs separators or tokenexp"):
        load(tokens(), device)
    with pytest.raises(InvalidModelError, match="mincharnum 0 is less than 1"):
        load(tokens(tokenexp="a", mincharnum=0), device)


@pytest.mark.parametrize("pattern", [r"\w+", "a.b", "a$", r"[\d,]+", "a|ab", "(?s)a.b"])
def test_a_whole_text_fits_a_pattern_in_the_syntax_of_re2(device: str, pattern: str) -> None:
    nodes = [node("RegexFullMatch", "x", "y", pattern=pattern)]
    source = model(nodes, {"x": TensorProto.STRING}, {"y": TensorProto.BOOL})
    x = np.array([["é", "ab", "a\nb"], ["a\n", "1,2", "٣"]], object)
    agree(device, source, x=x)


@pytest.mark.parametrize(
    ("attrs", "want"),
    [
        ({"case_change_action": "LOWER"}, ["", "a été", "íß", "ὀδυσσεύσ"]),
        ({"case_change_action": "UPPER"}, ["", "A ÉTÉ", "Í́ß", "ὈΔΥΣΣΕΎΣ"]),
        ({"stopwords": ["A ÉTÉ", "ﬀ"]}, ["", "Í́ß", "ὈΔΥΣΣΕΎΣ"]),
        ({"stopwords": ["a été"], "is_case_sensitive": 1}, ["", "A Été", "Í́ß", "ὈΔΥΣΣΕΎΣ"]),
        ({"stopwords": ["", "a"], "case_change_action": "LOWER"}, None),
    ],
)
def test_words_are_normalized_letter_for_letter(
    device: str, attrs: dict[str, Any], want: list[str] | None
) -> None:
    """Accents, words that are empty and words inside of a text stay as they are."""
    before = locale.setlocale(locale.LC_ALL)
    nodes = [node("StringNormalizer", "x", "y", locale="fr_FR", **attrs)]
    source = model(nodes, {"x": TensorProto.STRING}, {"y": TensorProto.STRING})
    words = ["", "A"] if want is None else ["", "A Été", "Í́ß", "ὈΔΥΣΣΕΎΣ"]
    expected = [""] if want is None else want
    if attrs.get("case_change_action") == "LOWER" and want is not None:
        expected = ["", "a été", "í́ß", "ὀδυσσεύσ"]
    (got,) = run(device, source, x=np.array(words, object))
    assert got.tolist() == expected
    (row,) = run(device, source, x=np.array([words], object))
    assert row.tolist() == [expected]
    assert locale.setlocale(locale.LC_ALL) == before


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("skips", [0, 2])
def test_n_grams_are_counted_and_weighted(device: str, mode: str, skips: int) -> None:
    """The weights are in the order of the pool, the columns in an order of their own."""
    attrs = {
        "mode": mode,
        "min_gram_length": 1,
        "max_gram_length": 3,
        "max_skip_count": skips,
        "ngram_counts": [0, 2, 6],
        "ngram_indexes": [4, 0, 3, 1, 2],
        "weights": [0.5, 2.0, 3.0, 5.0, 7.0],
    }
    words = ["a", "c", "a", "b", "b", "b", "a", "b", "c"]
    numbers = [ord(word) for word in words]
    x = np.array([list("abcab"), list("bbbba"), list("zzabc")], object)
    for kind, pool, rows in (
        (TensorProto.STRING, {"pool_strings": words}, x),
        (TensorProto.INT64, {"pool_int64s": numbers}, np.vectorize(ord)(x)),
    ):
        nodes = [node("TfIdfVectorizer", "x", "y", **attrs, **pool)]
        source = model(nodes, {"x": kind}, {"y": TensorProto.FLOAT})
        agree(device, source, x=rows)
        agree(device, source, x=rows[0])


def test_what_a_node_of_text_must_say_is_missed_with_its_place(device: str) -> None:
    nodes = [node("TfIdfVectorizer", "x", "y", mode="TF", pool_strings=["a"])]
    source = model(nodes, {"x": TensorProto.STRING}, {"y": TensorProto.FLOAT})
    says = r"node making 'y': TfIdfVectorizer needs an attribute 'max_gram_length'"
    with pytest.raises(InvalidModelError, match=says):
        load(source, device)


def test_a_text_classifier_counts_tokens_and_computes(device: str) -> None:
    pool = ["ab", "bc", "g", "zz"]
    nodes = [
        node("Tokenizer", "x", "t", MS, mark=0, pad_value="#", mincharnum=1, tokenexp="[a-z0-9]+"),
        node("Flatten", "t", "f"),
        node(
            "TfIdfVectorizer",
            "f",
            "c",
            mode="TF",
            min_gram_length=1,
            max_gram_length=1,
            max_skip_count=0,
            ngram_counts=[0],
            ngram_indexes=[0, 1, 2, 3],
            pool_strings=pool,
        ),
        node(
            "LinearClassifier",
            "c",
            "label scores",
            ML,
            classlabels_strings=["no", "yes"],
            coefficients=[1.0, -1.0, 0.5, 2.0, -1.0, 1.0, -0.5, -2.0],
            intercepts=[0.25, -0.25],
        ),
    ]
    gives = {"label": TensorProto.STRING, "scores": TensorProto.FLOAT}
    agree(device, model(nodes, {"x": TensorProto.STRING}, gives), x=TEXTS[:, None])


def test_text_is_shaped_and_joined_before_it_is_counted(device: str) -> None:
    """Columns of text as one, beside words that the model has; a size of 0 is that of the input."""
    attrs = {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0, "mode": "TF"}
    pool = {"pool_strings": ["a", "end", "a", "end"], "ngram_counts": [0, 2]}
    nodes = [
        node("Reshape", "x sizes", "r"),
        node("Concat", "r words", "c", axis=-1),
        node("TfIdfVectorizer", "c", "counts", ngram_indexes=[1, 0, 2], **attrs, **pool),
        node("Shape", "c", "shape", start=1),
        node("Cast", "shape", "length", to=TensorProto.FLOAT),
        node("Div", "counts length", "y"),
        node("Gather", "words place", "z", axis=1),
    ]
    weights = [
        helper.make_tensor("sizes", TensorProto.INT64, [2], [0, -1]),
        helper.make_tensor("words", TensorProto.STRING, [2, 2], [b"end", b"a", b"a", b"end"]),
        helper.make_tensor("place", TensorProto.INT64, [], [-1]),
    ]
    gives = {"y": TensorProto.FLOAT, "z": TensorProto.STRING}
    source = model(nodes, {"x": TensorProto.STRING}, gives, weights)
    agree(device, source, x=np.array([[["a", "b"]], [["end", "a"]]], object))


def test_encoders_of_no_text_and_of_unknown_words(device: str) -> None:
    nodes = [node("OneHotEncoder", "x", "y", ML, cats_strings=["b", "a"], zeros=1)]
    source = model(nodes, {"x": TensorProto.STRING}, {"y": TensorProto.FLOAT})
    agree(device, source, x=np.array([["a", "c"], ["b", ""]]).astype(object))
    (made,) = run(device, source, x=np.empty((0, 2), object))
    assert (made.shape, made.dtype) == ((0, 2, 2), np.float32)
    nodes[0].attribute[1].i = 0
    source = model(nodes, {"x": TensorProto.STRING}, {"y": TensorProto.FLOAT})
    with pytest.raises(InvalidModelError, match="'c' is none of the 2 categories"):
        run(device, source, x=np.array([["a", "c"]], object))


@pytest.mark.parametrize(("rows", "columns"), [(0, 2), (1, 5), (3, 3), (7, 2)])
@pytest.mark.parametrize("of_text", [False, True])
def test_rows_are_maps_in_the_order_of_the_names(
    device: str, rows: int, columns: int, of_text: bool
) -> None:
    """Few rows of many columns, and many of few."""
    numbers = list(range(columns, 0, -1))
    names = {"classlabels_strings": list(map(str, numbers))} if of_text else {}
    nodes = [
        node("Neg", "x", "n"),
        node("ZipMap", "n", "y", ML, **(names or {"classlabels_int64s": numbers})),
    ]
    source = model(nodes, {"x": TensorProto.FLOAT}, {"y": TensorProto.FLOAT})
    key = TensorProto.STRING if of_text else TensorProto.INT64
    of_row = helper.make_map_type_proto(key, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    source.graph.output[0].type.CopyFrom(helper.make_sequence_type_proto(of_row))
    x = np.random.default_rng(3).standard_normal((rows, columns), np.float32)
    (made,) = run(device, source, x=x)
    assert [list(row.items()) for row in made] == [
        list(zip(map(str, numbers) if of_text else numbers, row, strict=True))
        for row in (-x).tolist()
    ]


@pytest.mark.parametrize("attrs", [{}, {"positive": 0}, {"seed": 7, "positive": 0}])
@pytest.mark.parametrize("x", [TEXTS, np.array([[0, -5], [2**31 - 1, 9]], np.int32)])
def test_hashes_are_those_of_murmur(device: str, attrs: dict[str, int], x: Any) -> None:
    kind = TensorProto.STRING if x.dtype == object else TensorProto.INT32
    gives = TensorProto.UINT32 if attrs.get("positive", 1) else TensorProto.INT32
    nodes = [node("MurmurHash3", "x", "h", MS, **attrs), node("Identity", "h", "y")]
    agree(device, model(nodes, {"x": kind}, {"y": gives}), x=x)


def test_a_map_is_a_row_in_the_order_of_a_vocabulary(device: str) -> None:
    value = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    takes = {"x": helper.make_map_type_proto(TensorProto.STRING, value)}
    nodes = [
        node("DictVectorizer", "x", "row", ML, string_vocabulary=["b", "none", "a"]),
        node("Add", "row row", "y"),
    ]
    source = model(nodes, takes, {"y": TensorProto.FLOAT})
    agree(device, source, x={"a": 1.5, "b": -2.0, "other": 9.0})
    with load(source, device) as loaded:
        assert loaded.run({"x": {}})["y"].tolist() == [[0, 0, 0]]
        with pytest.raises(InputError, match="is a map; give a dict"):
            loaded.run({"x": [1.0]})


def test_text_may_be_chosen_by_numbers_before_the_device_has_it(device: str) -> None:
    """Missing words are replaced by one, then each is a column for the device."""
    missing = {"keys_strings": [""], "values_int64s": [1], "default_int64": 0}
    nodes = [
        node("LabelEncoder", "x", "m", ML, **missing),
        node("Cast", "m", "b", to=TensorProto.BOOL),
        node("Where", "b usual x", "w"),
        node("OneHotEncoder", "w", "h", ML, cats_strings=["a", "b"], zeros=1),
        node("Add", "h z", "y"),
    ]
    usual = helper.make_tensor("usual", TensorProto.STRING, [1], [b"b"])
    takes = {"x": TensorProto.STRING, "z": TensorProto.FLOAT}
    source = model(nodes, takes, {"y": TensorProto.FLOAT}, [usual])
    x = np.array([["a"], [""], ["c"]], object)
    agree(device, source, x=x, z=np.ones((3, 1, 2), np.float32))


@pytest.mark.parametrize(
    ("version", "attrs", "x"),
    [
        (1, {"classes_strings": ["a", "", "é"]}, [["", "é"], ["a", "z"]]),
        (1, {"classes_strings": ["a", "b"], "default_int64": 9}, [["b", "z"]]),
        (1, {"classes_strings": ["a", "b"]}, [[1, 0], [-1, 2]]),
        (1, {"classes_strings": ["a", "b"], "default_string": "other"}, [[1, 2]]),
        (2, {"keys_strings": ["a"], "values_floats": [float("nan")]}, [["a", "z"]]),
        (2, {"keys_floats": [0.1, float("nan")], "values_strings": ["x", "y"]}, [[0.1, np.nan]]),
        (4, {"keys_floats": [0.1, float("nan")], "values_strings": ["x", "y"]}, [[0.1, np.nan]]),
        (4, {"keys_strings": ["a", "b"], "values_int64s": [3, 4]}, [["b", "z"]]),
    ],
)
def test_words_are_looked_up_in_each_version_of_a_table(
    device: str, version: int, attrs: dict[str, Any], x: Any
) -> None:
    """A NaN is a key from version 4 on."""
    kinds = {"strings": TensorProto.STRING, "int64s": TensorProto.INT64}
    fed = np.array(x, object if isinstance(x[0][0], str) else None)
    fed = fed.astype(np.float32) if fed.dtype == np.float64 else fed
    takes = {"O": TensorProto.STRING, "i": TensorProto.INT64, "f": TensorProto.FLOAT}
    of = next((name[7:] for name in attrs if name.startswith("values_")), "")
    given = kinds.get(of, TensorProto.FLOAT)
    if not of:
        given = TensorProto.INT64 if fed.dtype == object else TensorProto.STRING
    source = model(
        [node("LabelEncoder", "x", "y", ML, **attrs)], {"x": takes[fed.dtype.kind]}, {"y": given}
    )
    source.opset_import[1].version = version
    session = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    (want,) = session.run(None, {"x": fed})
    (got,) = run(device, source, x=fed)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert [str(item) for item in got.flat] == [str(item) for item in want.flat]


@pytest.mark.parametrize("axis", [-2, -1, 0, 1, 2, 3])
def test_tokens_are_flattened_at_any_axis(device, axis):
    """Also at one that is counted from the end."""
    nodes = [
        node("Tokenizer", "x", "t", MS, mark=1, pad_value="#", mincharnum=1, separators=[" "]),
        node("Flatten", "t", "f", axis=axis),
    ]
    texts = np.array([["a b c", "d"]], object)
    source = model(nodes, {"x": TensorProto.STRING}, {"f": TensorProto.STRING})
    (got,) = run(device, source, x=texts)
    want = np.array([[["\x02", "a", "b", "c", "\x03"], ["\x02", "d", "\x03", "#", "#"]]], object)
    rows = int(np.prod(want.shape[:axis]))
    assert got.tolist() == want.reshape(rows, -1).tolist()
