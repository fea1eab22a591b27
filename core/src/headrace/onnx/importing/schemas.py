"""What ONNX says about an op: its arguments, its attributes, its types. Checked node by node.

``onnx.checker`` is not used: it accepts files that no runtime can run and knows nothing of the
tensors that a node is given. The declarations that it is made from are the same.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence

from onnx import AttributeProto

from headrace.dtypes import DType
from headrace.errors import HeadraceError, InvalidModelError, UnsupportedModelError
from headrace.onnx.file.keys import MICROSOFT
from headrace.onnx.file.text import Where, quote
from headrace.onnx.importing.contrib import not_run
from headrace.onnx.importing.converters import microsoft
from headrace.onnx.importing.declarations import ONNX, Declaration
from headrace.onnx.importing.site import Site
from headrace.ops import Tensor

_MOST_SOUND = 256
_TYPE_NAMES = {"float32": "float", "float64": "double"}


@functools.cache
def declaration(domain: str, op: str, opset: int) -> Declaration | None:
    """The newest declaration of the op that ``opset`` knows; None when there is none."""
    # onnxruntime writes this op into models that are older than it.
    opset = max(opset, 17) if (domain, op) == ("", "LayerNormalization") else opset
    found = ONNX.find(domain, op, opset)
    if found is None and (domain, op) in microsoft.CONTRIB:
        return Declaration.of(microsoft.CONTRIB[domain, op].schema)
    return found


def require(domain: str, op: str, opset: int, where: Where) -> Declaration:
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
            f"{where}: {op} was taken out of ONNX in operator set {found.since}, "
            f"and the model is written for {opset}"
        )
    return found


def _no_such_op(domain: str, op: str, opset: int, where: Where) -> HeadraceError:
    if domain == MICROSOFT:
        return UnsupportedModelError(f"{where}: headrace does not run {not_run(op)}")
    from difflib import get_close_matches  # seldom

    known = ONNX.names(domain)
    close = get_close_matches(op, known)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    hint = "; later ones have it" if op in known else hint
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
            f"{where}: {declared.name} has {allowed} {what}; the node has {count}"
        )


def _check_attributes(declared: Declaration, kinds: Mapping[str, int], where: str) -> None:
    op, types = declared.name, declared.attributes
    for name, kind in kinds.items():
        if name not in types:
            names = ", ".join(types) or "none"
            raise InvalidModelError(f"{where}: {op} has no attribute {quote(name)}, only {names}")
        if kind != types[name]:
            raise InvalidModelError(
                f"{where}: attribute {quote(name)} of {op} should be of type "
                f"{_type_name(types[name])}, not {_type_name(kind)}"
            )
    check_required(declared, kinds, where)


def check_required(declared: Declaration, given: Collection[str], where: str) -> None:
    """Check that no attribute is left out that must be given.

    Raises:
        InvalidModelError: one is.
    """
    for name in declared.required:
        if name not in given:
            raise InvalidModelError(f"{where}: {declared.name} needs an attribute {name!r}")


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
                f"{where}: input {index} ({parameter.name}) of {declared.name} cannot be {dtype}"
            )
        one = kind in declared.types and not parameter.mixed
        if one and bound.setdefault(kind, dtype) != dtype:
            raise InvalidModelError(
                f"{where}: input {index} ({parameter.name}) of {declared.name} is {dtype}, "
                f"and an input before it of the same type parameter {kind} is {bound[kind]}"
            )


@functools.cache
def _tensor_type(dtype: DType) -> str:
    name = _TYPE_NAMES.get(dtype.name, dtype.name)
    return f"tensor({name.replace('float8_', 'float8')})"


def _type_name(kind: int) -> str:
    try:
        return AttributeProto.AttributeType.Name(kind).lower()
    except ValueError:
        return str(kind)
