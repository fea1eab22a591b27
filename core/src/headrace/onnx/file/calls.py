"""Functions of a model, and who calls whom: every op belongs to somebody and every call ends."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence

import onnx.defs
from onnx import FunctionProto, NodeProto, OperatorSetIdProto

from headrace.errors import InvalidModelError, UnsupportedModelError
from headrace.onnx.file import limits
from headrace.onnx.file.attributes import graphs
from headrace.onnx.file.graphs import Wired, check_function, wired
from headrace.onnx.file.keys import (
    LAYOUT_ADVICE,
    LAYOUT_DOMAINS,
    MICROSOFT,
    FunctionKey,
    domain_of,
    function_key,
)
from headrace.onnx.file.text import quote, quote_all
from headrace.registry.screen import CORE, TAG

Functions = Mapping[FunctionKey, FunctionProto]


@functools.cache
def declared_domains() -> frozenset[str]:
    """The domains whose ops ONNX or ``contrib`` declares; others are the model's or a plugin's."""
    # To look for them in all schemas took longer than to parse a model, and nine megabytes.
    return frozenset((MICROSOFT, *onnx.defs.C.schema_version_map()))


def opsets_of(imports: Iterable[OperatorSetIdProto], where: str) -> dict[str, int]:
    """The operator sets that a model or a function is written for, by domain.

    Raises:
        InvalidModelError: a domain is there in two versions.
        UnsupportedModelError: the version of the default domain is not known.
    """
    opsets: dict[str, int] = {}
    for entry in imports:
        domain = domain_of(entry.domain)
        if opsets.setdefault(domain, entry.version) != entry.version:
            raise InvalidModelError(f"{where}: imports domain {quote(domain)} in two versions")
    version = opsets.get("")
    first, last = limits.OPSETS
    if version is not None and not first <= version <= last:
        raise UnsupportedModelError(
            f"{where}: is written for operator set {version}; headrace knows {first} to {last}"
        )
    return opsets


def collect_functions(
    protos: Sequence[FunctionProto], name: str, plugins: Collection[str] = ()
) -> Functions:
    """The functions that a model brings, checked.

    Args:
        protos: as the model has them.
        name: of the model, for messages.
        plugins: as for ``check_domains``.

    Raises:
        InvalidModelError: one is there twice, is malformed, or calls itself.
        UnsupportedModelError: one uses ops of an unknown domain, calls nest too deep, or one has
            too many nodes when its calls are written out.
    """
    functions: dict[FunctionKey, FunctionProto] = {}
    bodies: dict[FunctionKey, list[Wired]] = {}
    for function in protos:
        key = (domain_of(function.domain), function.name, getattr(function, "overload", ""))
        where = f"{name}: function {quote(function.name)}"
        if key in functions:
            raise InvalidModelError(f"{where}: is there twice")
        bodies[key] = check_function(function, where)
        functions[key] = function
    for key, function in functions.items():
        where = f"{name}: function {quote(function.name)}"
        opsets = opsets_of(function.opset_import, where)
        check_domains(bodies[key], opsets, functions, where, plugins)
    _check_calls(functions, name)
    return functions


def check_domains(
    nodes: Sequence[Wired],
    opsets: Mapping[str, int],
    functions: Functions,
    where: str,
    plugins: Collection[str] = (),
) -> None:
    """Check that every node is a function of the model, or of ONNX, or of a plugin's domain.

    Args:
        nodes: of the model or of a function; those of graphs in them are checked too.
        opsets: what is imported there.
        functions: those of the model.
        where: for messages.
        plugins: tags of installed backends; each is the domain of its plugin's own ops.

    Raises:
        InvalidModelError: a domain is used whose version is not given.
        UnsupportedModelError: ops of other domains; all are named at once.
    """
    known = declared_domains().union(plugins)
    strange: dict[str, set[str]] = {}
    for key in _keys_of(nodes):
        domain, op, _ = key
        if (domain in known and domain in opsets) or key in functions:
            continue
        if domain not in known:
            strange.setdefault(domain, set()).add(op)
        elif domain not in opsets:
            raise InvalidModelError(
                f"{where}: {quote(op)} is of domain {quote(domain)}, whose operator set is not "
                "imported"
            )
    if strange:
        text = "; ".join(
            f"{quote(domain)}: {quote_all(sorted(ops))}" for domain, ops in sorted(strange.items())
        )
        raise UnsupportedModelError(
            f"{where}: uses ops that ONNX does not declare, of {text}{_advice(strange)}"
        )


def _advice(domains: Iterable[str]) -> str:
    """How to get rid of ops of these domains; or the plugins, where the domains can be tags."""
    if not LAYOUT_DOMAINS.isdisjoint(domains):
        return f". What is of such a domain cannot be run elsewhere: {LAYOUT_ADVICE}"
    legal = [domain for domain in sorted(domains) if TAG.match(domain) and len(domain) <= 64]
    names = [f"{CORE}-{domain}" for domain in legal]
    return f". If a plugin brings them: pip install {' '.join(names)}" if names else ""


def _keys_of(nodes: Sequence[Wired]) -> dict[FunctionKey, None]:
    """The ops that nodes, and those of the graphs in them, are of: each once, in order."""
    keys = dict.fromkeys([node.key for node in nodes])
    for node in nodes:
        for graph in node.attributes.graphs:
            keys |= _keys_of(wired(graph.node))
    return keys


def _all_nodes(nodes: Iterable[NodeProto]) -> Iterable[NodeProto]:
    """The nodes and those of the graphs in them."""
    for node in nodes:
        yield node
        for graph in graphs(node.attribute):
            yield from _all_nodes(graph.node)


def _check_calls(functions: Functions, name: str) -> None:
    """Check that calls end, nest not too deep and stand for not too many nodes.

    Depth first, without recursion.
    """
    calls = {
        key: list(map(function_key, _all_nodes(function.node)))
        for key, function in functions.items()
    }
    height: dict[FunctionKey, int] = {}
    size: dict[FunctionKey, int] = {}  # with those that it calls written out
    path: dict[FunctionKey, None] = {}  # of the functions that are being looked at, in order
    stack = list(functions)
    while stack:
        key = stack[-1]
        needs = [called for called in calls[key] if called in functions]
        if key in height:
            stack.pop()
        elif key not in path:
            path[key] = None
            circle = [called for called in needs if called in path]
            if circle:
                names = [part[1] for part in path]
                names = [*names[list(path).index(circle[0]) :], circle[0][1]]
                raise InvalidModelError(
                    f"{name}: functions call each other in a circle: {quote_all(names)}"
                )
            stack += [called for called in needs if called not in height]
        else:
            del path[stack.pop()]
            height[key] = 1 + max((height[called] for called in needs), default=0)
            if height[key] > limits.DEPTH:
                raise UnsupportedModelError(
                    f"{name}: calls nest {height[key]} deep from function {quote(key[1])}; "
                    f"the limit is {limits.DEPTH}"
                )
            size[key] = len(calls[key]) + sum(size[called] for called in needs)
            if size[key] > limits.NODES:
                raise UnsupportedModelError(
                    f"{name}: function {quote(key[1])} has {size[key]} nodes, with those that it "
                    f"calls written out; the limit is {limits.NODES}"
                )
