"""Which values are the host's, and which nodes it runs."""

from __future__ import annotations

from collections.abc import Collection

from onnx import AttributeProto, NodeProto, TensorProto, TypeProto

from headrace.onnx.file.keys import MICROSOFT, ML_DOMAIN, FunctionKey, domain_of, function_key

CLASSIFIERS = frozenset({"LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier"})
"""Ops of ``ai.onnx.ml`` whose first output is a class, which may be text."""

CLASS_NAMES = "classlabels_strings"

_FIRST = frozenset({0})
_NONE: frozenset[int] = frozenset()

# What moves values of any kind: text of them is text.
_MOVERS = frozenset(
    {
        "Identity",
        "Reshape",
        "Flatten",
        "Squeeze",
        "Unsqueeze",
        "Transpose",
        "Concat",
        "Gather",
        "GatherElements",
        "GatherND",
        "Slice",
        "Split",
        "Expand",
        "Tile",
        "Where",
        "ArrayFeatureExtractor",
        "Compress",
        "ScatterElements",
        "ScatterND",
        "ReverseSequence",
        "Pad",
        "CenterCropPad",
        "DepthToSpace",
        "SpaceToDepth",
        "OneHot",
        "SequenceAt",
        "SequenceInsert",
        "SequenceErase",
        "SequenceConstruct",
        "SplitToSequence",
        "ConcatFromSequence",
        "Optional",
        "OptionalGetElement",
    }
)
_SEQUENCES = frozenset(
    {
        "SequenceInsert",
        "SequenceErase",
        "SequenceConstruct",
        "SequenceEmpty",
        "SplitToSequence",
        "Identity",
        "Optional",
        "OptionalGetElement",
    }
)
# What reads text and makes numbers of it.
_READERS = frozenset(
    {
        "Shape",
        "Size",
        "Equal",
        "RegexFullMatch",
        "TfIdfVectorizer",
        "SequenceLength",
        "OptionalHasElement",
        "OneHotEncoder",
        "Unique",
    }
)
_WRITERS = frozenset({"StringNormalizer", "StringConcat", "StringSplit"})
_TABLES = frozenset({"LabelEncoder", "CategoryMapper"})
_ALWAYS = frozenset({"TfIdfVectorizer", "ZipMap", "DictVectorizer", "RegexFullMatch", *_WRITERS})
_CONTRIB = frozenset({"Tokenizer", "MurmurHash3"})
# What chooses among values by numbers: the host can do it too, where text waits for the choice.
_CHOOSERS = frozenset(
    {
        "Cast",
        "Shape",
        "Size",
        "Equal",
        "Less",
        "LessOrEqual",
        "Greater",
        "GreaterOrEqual",
        "Not",
        "And",
        "Or",
        "Xor",
        "IsNaN",
    }
)
_TEXT_MAKERS = _TABLES | CLASSIFIERS | {"Cast"}
_DOMAINS = ("", ML_DOMAIN)


def is_number_tensor(kind: TypeProto) -> bool:
    """True for a type that a device has, and for one that is not given."""
    if kind.WhichOneof("value") is None:
        return True
    return kind.HasField("tensor_type") and kind.tensor_type.elem_type != TensorProto.STRING


def is_number_list(kind: TypeProto) -> bool:
    """True for a sequence of tensors that a device has, and for an optional value of either."""
    if kind.HasField("optional_type"):
        of = kind.optional_type.elem_type
        return (of.HasField("tensor_type") and is_number_tensor(of)) or is_number_list(of)
    of = kind.sequence_type.elem_type
    return of.HasField("tensor_type") and is_number_tensor(of)


def holds_text(node: NodeProto) -> bool:
    """True for a ``Constant`` of text."""
    return any(
        attribute.name in ("value_string", "value_strings")
        or (attribute.name == "value" and attribute.t.data_type == TensorProto.STRING)
        for attribute in node.attribute
    )


def can_run(node: NodeProto) -> bool:
    """True for a node that the host knows."""
    if domain_of(node.domain) == MICROSOFT:
        return node.op_type in _CONTRIB
    known = _MOVERS | _SEQUENCES | _READERS | _ALWAYS | _TABLES | {"Cast", "CastLike", "Constant"}
    return domain_of(node.domain) in _DOMAINS and node.op_type in known


def may_be_hosted(key: FunctionKey) -> bool:
    """True for an op of which there may be nodes that ``is_always_hosted``."""
    domain, op, _ = key
    if domain not in _DOMAINS:
        return domain == MICROSOFT and op in _CONTRIB
    return op in _ALWAYS or op in _TEXT_MAKERS


def is_always_hosted(node: NodeProto) -> bool:
    """True for a node that the host runs whatever it is given: no device could."""
    if not may_be_hosted(function_key(node)):
        return False
    return node.op_type not in _TEXT_MAKERS or bool(hosted_outputs(node, ()))


def chooses(node: NodeProto) -> bool:
    """True for a node of numbers that the host can run if text is to be chosen by what it makes."""
    known = _MOVERS | _CHOOSERS | _TABLES
    return domain_of(node.domain) in _DOMAINS and node.op_type in known


def result_type(node: NodeProto) -> int | None:
    """What a node gives whose type ONNX does not infer, as its number of an element type."""
    match domain_of(node.domain), node.op_type:
        case (domain, "Tokenizer") if domain == MICROSOFT:
            return TensorProto.STRING
        case (domain, "MurmurHash3") if domain == MICROSOFT:
            signed = any(a.name == "positive" and not a.i for a in node.attribute)
            return TensorProto.INT32 if signed else TensorProto.UINT32
        case (domain, "OneHotEncoder") if domain == ML_DOMAIN:  # unless its input has a rank
            return TensorProto.FLOAT
    return None


def makes_sequences(node: NodeProto) -> bool:
    """True for a node that the host runs where what it makes is a sequence that it needs.

    An optional value that is none is made of nothing, and ONNX's implementation makes none.
    """
    is_none = node.op_type == "Optional" and not any(node.input)
    return not node.domain and node.op_type in _SEQUENCES and not is_none


def hosted_outputs(node: NodeProto, hosted: Collection[str]) -> frozenset[int]:
    """Which outputs of a node only the host can have.

    Args:
        node: the node.
        hosted: names of values that only the host has.
    """
    op, attributes = node.op_type, {a.name: a for a in node.attribute}
    is_given = any(name in hosted for name in node.input)
    if op == "Constant":
        return _FIRST if holds_text(node) else _NONE
    if op in _WRITERS or op in ("ZipMap", "Tokenizer"):
        return _FIRST
    if op == "Cast":
        return _FIRST if _is_cast_to_text(attributes) else _NONE
    if op in CLASSIFIERS:
        return _FIRST if CLASS_NAMES in attributes else _NONE
    if op == "CategoryMapper":
        return _NONE if is_given else _FIRST
    if op == "LabelEncoder":
        return _FIRST if _gives_text(attributes, is_given) else _NONE
    if op == "CastLike":
        return _FIRST if any(name in hosted for name in node.input[1:2]) else _NONE
    if op in ("SequenceAt", "ConcatFromSequence") and is_given:
        return _FIRST  # of text or numbers: who reads it decides
    if op == "Unique":
        return _FIRST if is_given else _NONE  # places and counts are numbers
    if op in _MOVERS and is_given:
        return frozenset(range(len(node.output)))
    return _NONE


def _is_cast_to_text(attributes: dict[str, AttributeProto]) -> bool:
    to = attributes.get("to")
    return to is not None and (to.i == TensorProto.STRING or to.s == b"STRING")


def _gives_text(attributes: dict[str, AttributeProto], is_given: bool) -> bool:
    if "classes_strings" in attributes:  # of version 1: text to places in it, and back
        return not is_given
    values = attributes.get("values_tensor")
    return "values_strings" in attributes or (
        values is not None and values.t.data_type == TensorProto.STRING
    )
