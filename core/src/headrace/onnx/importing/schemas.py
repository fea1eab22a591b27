"""What ONNX says about an op: its arguments, its attributes, its types. Checked node by node.

``onnx.checker`` is not used: it accepts files that no runtime can run and knows nothing of the
tensors that a node is given. The declarations that it is made from are the same.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import onnx.defs
from onnx import AttributeProto
from onnx.defs import OpSchema

from headrace.dtypes import DType
from headrace.errors import HeadraceError, InvalidModelError, UnsupportedModelError
from headrace.light_dataclass import dataclass
from headrace.light_tuple import NamedTuple
from headrace.onnx.file.keys import MICROSOFT
from headrace.onnx.file.text import quote
from headrace.onnx.importing.contrib import not_run
from headrace.onnx.importing.converters import microsoft
from headrace.onnx.importing.site import Site
from headrace.ops import Tensor

# ONNX makes the table of its ops when it is first asked for one, which takes as long as to compile
# a small model: it is a part of importing it.
onnx.defs.has("Identity")

_VARIADIC = OpSchema.FormalParameterOption.Variadic
_MOST_SOUND = 256
_TYPE_NAMES = {"float32": "float", "float64": "double"}


class Parameter(NamedTuple):
    """An input of an op.

    Attributes:
        name: as ONNX calls it.
        kind: its type, or its type parameter.
        mixed: True for a variadic one whose tensors need not have one type.
    """

    name: str
    kind: str
    mixed: bool


@dataclass(frozen=True, slots=True, eq=False)
class Declaration:
    """How ONNX declares an op in one version of its operator set.

    What is asked for each node is copied: ONNX makes lists and mappings anew whenever it is asked.

    Attributes:
        schema: ONNX's own object, an ``OpSchema``, whose type stubs leave half of it out.
        counts: how many inputs, and how many outputs, a node may have.
        parameters: its inputs; the last may be variadic.
        attributes: type number of each attribute.
        required: names of the attributes that must be given.
        types: the tensor types that each type parameter allows.
        is_gone: the op was taken out of ONNX by then.
        sound: forms of nodes that were found to be as declared.
    """

    schema: Any
    counts: tuple[range, range]
    parameters: tuple[Parameter, ...]
    attributes: Mapping[str, int]
    required: tuple[str, ...]
    types: Mapping[str, frozenset[str]]
    is_gone: bool
    sound: set[object]


@functools.cache
def declaration(domain: str, op: str, opset: int) -> Declaration | None:
    """The newest declaration of the op that ``opset`` knows; None when there is none."""
    # onnxruntime writes this op into models that are older than it.
    opset = max(opset, 17) if (domain, op) == ("", "LayerNormalization") else opset
    schema: Any
    try:
        schema = onnx.defs.get_schema(op, opset, domain)
    except onnx.defs.SchemaError:
        if (domain, op) not in microsoft.CONTRIB:
            return None
        schema = microsoft.CONTRIB[domain, op].schema
    parameters = [
        Parameter(i.name, i.type_str, i.option == _VARIADIC and not i.is_homogeneous)
        for i in schema.inputs
    ]
    attributes = schema.attributes
    return Declaration(
        schema,
        (
            range(schema.min_input, schema.max_input + 1),
            range(schema.min_output, schema.max_output + 1),
        ),
        tuple(parameters),
        {name: attribute.type.value for name, attribute in attributes.items()},
        tuple([name for name, attribute in attributes.items() if attribute.required]),
        {c.type_param_str: frozenset(c.allowed_type_strs) for c in schema.type_constraints},
        # GroupNormalization of operator set 18 was deprecated after the fact, for the wrong shape
        # of its scale; nothing was there before it that would be gone, and models have it.
        schema.deprecated and declaration(domain, op, schema.since_version - 1) is not None,
        set(),
    )


def require(domain: str, op: str, opset: int, where: str) -> Declaration:
    """The declaration of an op that ONNX must have.

    Raises:
        InvalidModelError: this version of the operator set has no such op, or no longer.
        UnsupportedModelError: it is of onnxruntime's domain, and none that is imported.
    """
    found = declaration(domain, op, opset)
    if found is None:
        raise _no_such_op(domain, op, opset, where)
    if found.is_gone:
        raise InvalidModelError(
            f"{where}: {op} was taken out of ONNX in operator set {found.schema.since_version}, "
            f"and the model is written for {opset}"
        )
    return found


def _no_such_op(domain: str, op: str, opset: int, where: str) -> HeadraceError:
    if domain == MICROSOFT:
        return UnsupportedModelError(f"{where}: headrace does not run {not_run(op)}")
    from difflib import get_close_matches  # seldom

    close = get_close_matches(op, _names(domain))
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    of = f" of domain {quote(domain)}" if domain else ""
    return InvalidModelError(f"{where}: operator set {opset}{of} has no op {quote(op)}{hint}")


def check_node(declared: Declaration, site: Site) -> None:
    """Check numbers of inputs and outputs, dtypes, and names and types of attributes.

    Raises:
        InvalidModelError: the node is not what the op's declaration asks for.
    """
    dtypes = [value.spec.dtype if isinstance(value, Tensor) else None for value in site.inputs]
    outputs, kinds = len(site.wired.outputs), site.resolved.kinds
    form = (*dtypes, outputs, kinds)
    if form in declared.sound:  # nets repeat themselves
        return
    where, counts = site.where, declared.counts
    _check_count(declared, "inputs", len(dtypes), counts[0], where)
    _check_count(declared, "outputs", outputs, counts[1], where)
    _check_attributes(declared, dict(kinds), where)
    _check_dtypes(declared, dtypes, where)
    if len(declared.sound) < _MOST_SOUND:
        declared.sound.add(form)


def _check_count(declared: Declaration, what: str, count: int, may_be: range, where: str) -> None:
    if count not in may_be:
        least, most = may_be[0], may_be[-1]
        allowed = f"{least}" if least == most else f"{least} to {most}"
        raise InvalidModelError(
            f"{where}: {declared.schema.name} has {allowed} {what}; the node has {count}"
        )


def _check_attributes(declared: Declaration, kinds: Mapping[str, int], where: str) -> None:
    op, types = declared.schema.name, declared.attributes
    for name, kind in kinds.items():
        if name not in types:
            names = ", ".join(types) or "none"
            raise InvalidModelError(f"{where}: {op} has no attribute {quote(name)}, only {names}")
        if kind != types[name]:
            raise InvalidModelError(
                f"{where}: attribute {quote(name)} of {op} should be of type "
                f"{_type_name(types[name])}, not {_type_name(kind)}"
            )
    for name in declared.required:
        if name not in kinds:
            raise InvalidModelError(f"{where}: {op} needs an attribute {name!r}")


def _check_dtypes(declared: Declaration, dtypes: Sequence[DType | None], where: str) -> None:
    bound: dict[str, DType] = {}
    parameters = declared.parameters
    for index, dtype in enumerate(dtypes):
        if dtype is None:
            continue
        parameter = parameters[min(index, len(parameters) - 1)]
        kind = parameter.kind
        allowed, given = declared.types.get(kind, (kind,)), _tensor_type(dtype)
        if given not in allowed and f"optional({given})" not in allowed:
            raise InvalidModelError(
                f"{where}: input {index} ({parameter.name}) of {declared.schema.name} cannot be "
                f"{dtype}"
            )
        one = kind in declared.types and not parameter.mixed
        if one and bound.setdefault(kind, dtype) != dtype:
            raise InvalidModelError(
                f"{where}: input {index} ({parameter.name}) of {declared.schema.name} is {dtype}, "
                f"and an input before it of the same type parameter {kind} is {bound[kind]}"
            )


@functools.cache
def _tensor_type(dtype: DType) -> str:
    name = _TYPE_NAMES.get(dtype.name, dtype.name)
    return f"tensor({name.replace('float8_', 'float8')})"


@functools.cache
def _names(domain: str) -> tuple[str, ...]:
    schemas = onnx.defs.get_all_schemas_with_history()
    return tuple(sorted({schema.name for schema in schemas if schema.domain == domain}))


def _type_name(kind: int) -> str:
    try:
        return AttributeProto.AttributeType.Name(kind).lower()
    except ValueError:
        return str(kind)
