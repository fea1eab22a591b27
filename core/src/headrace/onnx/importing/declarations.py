"""What ONNX declares of its ops, read from ``declarations.txt``.

ONNX makes objects of all its ops in all versions when it is first asked about one, which takes as
long as to compile a small model and seven megabytes. What is asked of most ops is little, and lies
here as ``tools/generate_declarations.py`` found it in ONNX; only bodies and defaults of attributes
are ONNX's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from onnx import AttributeProto
from onnx.defs import OpSchema

from headrace.light_dataclass import dataclass
from headrace.light_tuple import NamedTuple
from headrace.onnx.file.keys import domain_of

ANY_NUMBER = (1 << 31) - 1
"""As ONNX writes that there is no bound."""

_VARIADIC = OpSchema.FormalParameterOption.Variadic
_ATTRIBUTE_TYPES = {name.lower(): kind for name, kind in AttributeProto.AttributeType.items()}


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

    Attributes:
        domain: of the op; the default one is "".
        name: of the op.
        since: the first version of the operator set that has it so.
        counts: how many inputs, and how many outputs, a node may have.
        parameters: its inputs; the last may be variadic.
        attributes: type number of each attribute.
        required: names of the attributes that must be given.
        types: the tensor types that each type parameter allows, without spaces.
        is_gone: the op was taken out of ONNX by then.
        has_body: ONNX says it in simpler ops as well.
        sound: forms of nodes that were found to be as declared.
    """

    domain: str
    name: str
    since: int
    counts: tuple[range, range]
    parameters: tuple[Parameter, ...]
    attributes: Mapping[str, int]
    required: tuple[str, ...]
    types: Mapping[str, frozenset[str]]
    is_gone: bool
    has_body: bool
    sound: set[object]

    @classmethod
    def of(cls, schema: Any, is_gone: bool = False) -> Declaration:
        """What an ``OpSchema`` says, whose type stubs leave half of it out."""
        attributes = dict(sorted(schema.attributes.items()))
        return cls(
            schema.domain,
            schema.name,
            schema.since_version,
            (
                range(schema.min_input, schema.max_input + 1),
                range(schema.min_output, schema.max_output + 1),
            ),
            tuple(
                [
                    Parameter(i.name, i.type_str, i.option == _VARIADIC and not i.is_homogeneous)
                    for i in schema.inputs
                ]
            ),
            {name: attribute.type.value for name, attribute in attributes.items()},
            tuple([name for name, attribute in attributes.items() if attribute.required]),
            {
                c.type_param_str: frozenset([kind.replace(" ", "") for kind in c.allowed_type_strs])
                for c in schema.type_constraints
            },
            is_gone,
            schema.has_function or schema.has_context_dependent_function,
            set(),
        )


class Declarations:
    """Those of a file, each read when it is asked for.

    Its first lines are sets of types, which are counted from 0. After an empty line, each is a
    version of an op, the older ones first; here of one that takes one tensor or more::

        ai.onnx Concat 13 1- 1-1 ; inputs:T ; axis:int! ; T:24 ;

    That is domain, name, version, and how many inputs and outputs there may be; the inputs, with
    ``*`` behind those that are ``mixed``; the attributes, with ``!`` behind those that must be
    given; the set of each type parameter; and what else is true: ``gone``, ``body``.
    """

    def __init__(self, file: Path) -> None:
        """Read ``file``."""
        sets, ops = file.read_text("utf-8").split("\n\n")
        self._sets = sets.split("\n")
        self._types: dict[str, frozenset[str]] = {}
        self._versions: dict[tuple[str, str], list[tuple[int, str]]] = {}
        for line in ops.splitlines():
            domain, name, since, rest = line.split(" ", 3)
            self._versions.setdefault((domain_of(domain), name), []).append((int(since), rest))

    def find(self, domain: str, name: str, opset: int) -> Declaration | None:
        """The newest version of an op that ``opset`` knows; None when there is none."""
        since, text = 0, ""
        for version in self._versions.get((domain, name), ()):
            if version[0] <= opset:
                since, text = version
        if not text:
            return None
        counts, parameters, attributes, types, facts = [part.split() for part in text.split(";")]
        kinds = dict([attribute.split(":") for attribute in attributes])
        return Declaration(
            domain,
            name,
            since,
            (_range(counts[0]), _range(counts[1])),
            tuple(map(_parameter, parameters)),
            {name: _ATTRIBUTE_TYPES[kind.removesuffix("!")] for name, kind in kinds.items()},
            tuple([name for name, kind in kinds.items() if kind.endswith("!")]),
            {letter: self._set(number) for letter, number in (pair.split(":") for pair in types)},
            "gone" in facts,
            "body" in facts,
            set(),
        )

    def names(self, domain: str) -> Sequence[str]:
        """Of the ops of a domain."""
        return sorted(name for of, name in self._versions if of == domain)

    def _set(self, number: str) -> frozenset[str]:
        known = self._types.get(number)
        if known is None:
            known = self._types[number] = frozenset(self._sets[int(number)].split(" "))
        return known


def _range(text: str) -> range:
    least, _, most = text.partition("-")
    return range(int(least), (int(most) if most else ANY_NUMBER) + 1)


def _parameter(text: str) -> Parameter:
    name, kind = text.removesuffix("*").split(":")
    return Parameter(name, kind, text.endswith("*"))


ONNX = Declarations(Path(__file__).with_name("declarations.txt"))
