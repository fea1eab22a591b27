"""What of ONNX headrace runs, asked when a model is loaded and not only when it is first run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.errors import UnsupportedModelError
from headrace.graph import CORE_OPS, OpSource
from headrace.onnx.file.calls import declared_domains, opsets_of
from headrace.onnx.file.graphs import Wired, order, wired
from headrace.onnx.file.hosted_error import HostedValuesError
from headrace.onnx.file.keys import LOOPS, MICROSOFT, ML_DOMAIN, FunctionKey
from headrace.onnx.file.read import ModelFile
from headrace.onnx.file.text import Said, place, quote
from headrace.onnx.hosted.kinds import is_always_hosted, may_be_hosted
from headrace.onnx.importing import plugin_ops
from headrace.onnx.importing.contrib import not_run
from headrace.onnx.importing.converters import CONVERTERS, microsoft
from headrace.onnx.importing.converters.ml import MACHINE_LEARNING
from headrace.onnx.importing.declarations import Declaration
from headrace.onnx.importing.schemas import require


def check_support(file: ModelFile, ops: OpSource = CORE_OPS) -> None:
    """Check that every node that will be imported is of an op that can be; name all that are not.

    Branches of ``If`` are left out: only the one that is taken has to be supported. Bodies of loops
    are not.

    Raises:
        InvalidModelError: an op does not exist in the model's operator set.
        UnsupportedModelError: ops are missing.
        DeviceUnavailableError: the plugin that an op is of is installed and cannot be used.
    """
    missing: dict[str, None] = {}
    hosted = ""
    seen: set[FunctionKey] = set()
    pending = [(file.name, file.nodes, file.opsets)]
    while pending:
        where, nodes, opsets = pending.pop()
        by_op: dict[FunctionKey, list[Wired]] = {}
        for node in nodes:
            by_op.setdefault(node.key, []).append(node)
        for key, alike in by_op.items():
            if key not in file.functions:
                missing.update(dict.fromkeys(_missing(alike[0], opsets, where, ops)))
                if may_be_hosted(key) and not hosted:
                    hosted = _hosted(alike, where)
                for node in alike if _runs_always(key) else ():
                    for body in node.attributes.graphs:
                        results, inside = [o.name for o in body.output], place(where, node.node)
                        pending.append((inside, order(wired(body.node), results, inside), opsets))
            elif key not in seen:
                seen.add(key)
                function = file.functions[key]
                inside = f"{file.name}: function {quote(function.name)}"
                called = opsets_of(function.opset_import, inside)
                needed = order(wired(function.node), function.output, inside)
                pending.append((inside, needed, called))
    if hosted:
        raise HostedValuesError(f"{hosted}, which only the host has")
    if missing:
        raise UnsupportedModelError(
            f"{file.name}: headrace does not run {', '.join(sorted(missing))}"
        )


def is_supported(domain: str, op: str, declared: Declaration) -> bool:
    """True when a node of this op is imported: by a converter, as ``If`` or loop, or by a body."""
    if not domain and (op in CONVERTERS or op in LOOPS or op == "If"):
        return True
    if domain == ML_DOMAIN and op in MACHINE_LEARNING:
        return True
    return declared.has_body or (domain, op) in microsoft.CONTRIB


def _hosted(nodes: Iterable[Wired], where: str) -> str:
    """The first of some nodes that only the host can run, in words; empty if there is none."""
    for node in nodes:
        if is_always_hosted(node.node):
            return f"{place(where, node.node)}: {node.key[1]} is of text or maps"
    return ""


def _runs_always(key: FunctionKey) -> bool:
    """Whether the graphs of such nodes run whatever is fed."""
    return not key[0] and key[1] in LOOPS


def _missing(node: Wired, opsets: Mapping[str, int], owner: str, ops: OpSource) -> Iterable[str]:
    (domain, op, _), where = node.key, Said(place, owner, node.node)
    if domain not in declared_domains():
        plugin_ops.find(domain, op, where, ops)
        return
    if domain == MICROSOFT and (domain, op) not in microsoft.CONTRIB:
        yield f"{not_run(op)} ({where})"
        return
    declared = require(domain, op, opsets[domain], where)
    if not is_supported(domain, op, declared):
        yield f"{domain and domain + '.'}{op}-{declared.since}"
