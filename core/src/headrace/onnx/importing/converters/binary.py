"""ONNX nodes for: elementwise arithmetic of two or more tensors."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.dtypes import float64, int64
from headrace.onnx.importing.broadcast import joined, joining
from headrace.onnx.importing.formula import at_least_float32, cast, scalar
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def _all(node: Node) -> list[Tensor]:
    """The inputs of a node that takes any number of them, at least one."""
    return [node.input(0), *(node.input(index) for index in range(1, len(node.inputs)))]


def _chain(op: str) -> Converter:
    """The node that joins its inputs one after another."""

    def convert(node: Node) -> Tensor:
        result, *others = _all(node)
        for other in others:
            result = node.one(op, [result, other])
        return result

    return convert


def _sum(node: Node) -> Tensor:
    inputs = _all(node)
    return inputs[0] if len(inputs) == 1 else node.one("add_n", inputs)


def _mean(node: Node) -> Tensor:
    inputs = _all(node)
    dtype = inputs[0].spec.dtype
    wide = [cast(node, x, at_least_float32(dtype)) for x in inputs]
    total = node.one("add_n", wide)
    return cast(node, node.one("divide", [total, scalar(node, len(inputs), total)]), dtype)


def _pow(node: Node) -> Tensor:
    base, exponent = joined(node)
    dtype = base.spec.dtype
    if dtype.is_int and exponent.spec.dtype.is_float:  # 4 ** 0.5 is 2, and not 4 ** 0
        power = node.one("power", [cast(node, x, float64) for x in (base, exponent)])
        return cast(node, power, dtype)
    if dtype.is_int and dtype != exponent.spec.dtype:  # 64 bits keep the exponent and its sign
        power = node.one("power", [cast(node, x, int64) for x in (base, exponent)])
        return cast(node, power, dtype)
    times = _times(node, base, exponent)
    if times is None:
        return node.one("power", [base, cast(node, exponent, dtype)])
    power = base
    for _ in range(times - 1):
        power = node.one("multiply", [power, base])
    return power


def _times(node: Node, base: Tensor, exponent: Tensor) -> int | None:
    """How often the base is multiplied by itself, where that is as exact as a power; or None.

    Nets take squares and cubes, and products fuse with what is about them. A cube is rounded
    twice, which half floats would tell.
    """
    known = node.known(exponent) if exponent.spec.elements == 1 else None
    if known is None or exponent.spec.rank > base.spec.rank or not base.spec.dtype.is_float:
        return None
    often = float(known.reshape(()))
    if often == 3 and base.spec.dtype.itemsize >= 4:
        return 3
    return 2 if often == 2 else None


def _mod(node: Node) -> Tensor:
    return node.one("mod", [node.input(0), node.input(1)], fmod=node.attr("fmod", 0))


CONVERTERS: Mapping[str, Converter] = {
    "Add": joining("add"),
    "Sub": joining("subtract"),
    "Mul": joining("multiply"),
    "Div": joining("divide"),
    "Max": _chain("maximum"),
    "Min": _chain("minimum"),
    "Sum": _sum,
    "Mean": _mean,
    "Pow": _pow,
    "Mod": _mod,
}
