"""Ops that onnxruntime adds to ONNX, and writes into the models that its tools quantize or fuse.

ONNX does not declare them. They are declared here as ONNX would, in its own ``OpSchema``, so that
their nodes are checked like any others. The schemas are not registered: that would change the
``onnx`` package for everybody in the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from onnx.defs import OpSchema

from headrace.light_dataclass import dataclass
from headrace.onnx.file.keys import LAYOUT_ADVICE, MICROSOFT
from headrace.onnx.importing.node import Converter

_LAYOUT_OPS = frozenset({"NhwcConv", "NhwcFusedConv"})

_OPTIONS = {
    "": OpSchema.FormalParameterOption.Single,
    "?": OpSchema.FormalParameterOption.Optional,
    "*": OpSchema.FormalParameterOption.Variadic,
}


@dataclass(frozen=True, slots=True, eq=False)
class ContribOp:
    """An op, as ONNX would declare it, and its converter."""

    schema: Any
    convert: Converter


def declare(
    name: str,
    inputs: str,
    outputs: str,
    convert: Converter,
    attrs: str = "",
    *,
    domain: str = MICROSOFT,
    **types: str,
) -> ContribOp:
    """An op of version 1.

    Args:
        name: of the op.
        inputs: ``name:type`` with blanks between; ``?`` after the type marks one that may be left
            out, ``*`` any number of any of the types.
        outputs: alike.
        convert: says a node of it in headrace ops.
        attrs: ``name:type``, in the lower case of ``AttributeType``; ``!`` marks a required one.
        domain: of the op.
        types: the dtypes of each type parameter, by ONNX name with blanks between.
    """
    schema = OpSchema(
        name,
        domain,
        1,
        inputs=[_parameter(text, types) for text in inputs.split()],
        outputs=[_parameter(text, types) for text in outputs.split()],
        type_constraints=[
            (letter, [f"tensor({dtype})" for dtype in dtypes.split()], "")
            for letter, dtypes in types.items()
        ],
        attributes=[_attribute(text) for text in attrs.split()],
    )
    return ContribOp(schema, convert)


def by_name(ops: Iterable[ContribOp]) -> Mapping[tuple[str, str], ContribOp]:
    """The ops by domain and name."""
    return {(op.schema.domain, op.schema.name): op for op in ops}


def not_run(op: str) -> str:
    """An op of ``MICROSOFT`` that is not imported, for messages; with the reason where known."""
    reason = f", which cannot be run elsewhere: {LAYOUT_ADVICE}" if op in _LAYOUT_OPS else ""
    return f"{MICROSOFT}.{op}{reason}"


def _parameter(text: str, types: Mapping[str, str]) -> OpSchema.FormalParameter:
    name, _, kind = text.partition(":")
    mark = kind[-1] if kind[-1] in _OPTIONS else ""
    kind = kind.removesuffix(mark)
    return OpSchema.FormalParameter(
        name,
        kind if kind in types else f"tensor({kind})",
        param_option=_OPTIONS[mark],
        is_homogeneous=mark != "*",
    )


def _attribute(text: str) -> OpSchema.Attribute:
    name, _, kind = text.partition(":")
    of = getattr(OpSchema.AttrType, kind.removesuffix("!").upper())
    return OpSchema.Attribute(name, of, required=kind.endswith("!"))
