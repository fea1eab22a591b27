"""One operand, two or more, element by element."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headrace.device import Kernel, KernelEntry, OpCall
from headrace_cambricon.enums import number_of
from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.kernel import (
    Operand,
    Recorder,
    VendorKernel,
    WithWorkspace,
)
from headrace_cambricon.kernels.match import COMPARED, FLOATS, NUMBERS, Takes


@dataclass(frozen=True, slots=True)
class Made:
    """``create`` of a ``KernelEntry`` for a kernel class that takes more than the call."""

    kind: Callable[..., Kernel]
    arguments: tuple[object, ...]

    def __call__(self, call: OpCall) -> Kernel:
        return self.kind(call, *self.arguments)


Unary = Callable[[Recorder, str, Operand, Operand], None]


class OneOperand(VendorKernel):
    """``y = f(x)``; x and y may be the same memory."""

    def __init__(self, call: OpCall, say: Unary, name: str) -> None:
        super().__init__(call)
        self._say, self._name = say, name

    def record(self, r: Recorder) -> None:
        self._say(r, self._name, r.x(0), r.y())


class Log(VendorKernel):
    """The natural logarithm."""

    def record(self, r: Recorder) -> None:
        precise, base = number_of("CNNL_COMPUTATION_HIGH_PRECISION"), number_of("CNNL_LOG_E")
        r.add("cnnlLog_v2", precise, base, *r.x(0).both, *r.y().both)


class OpTensor(WithWorkspace):
    """``y = a + b``, ``a - b`` or ``a * b``, with broadcasting."""

    def __init__(self, call: OpCall, kind: str, of_b: float) -> None:
        super().__init__(call)
        self._kind, self._of_b = kind, of_b

    def record(self, r: Recorder) -> None:
        vendor.op_tensor(r, self._kind, r.x(0), r.x(1), r.y(), self._of_b)


class Binary(WithWorkspace):
    """``y = f(a, b)`` by ``cnnl<name>``, with broadcasting."""

    def __init__(self, call: OpCall, name: str) -> None:
        super().__init__(call)
        self._name = name

    def record(self, r: Recorder) -> None:
        vendor.binary(r, self._name, r.x(0), r.x(1), r.y())


class PreciseBinary(WithWorkspace):
    """``y = f(a, b)`` by a function that takes a preference."""

    def __init__(self, call: OpCall, name: str, function: str) -> None:
        super().__init__(call)
        self._name, self._function = name, function

    def record(self, r: Recorder) -> None:
        vendor.precise_binary(r, self._name, self._function, r.x(0), r.x(1), r.y())


class AddN(WithWorkspace):
    """The sum of tensors of one shape."""

    def record(self, r: Recorder) -> None:
        xs = [r.x(index) for index in range(len(self.call.inputs))]
        descriptors, addresses = [x.descriptor for x in xs], [x.address for x in xs]
        y = r.y()
        if r.has("cnnlAddN_v2"):
            needed = r.ask("cnnlGetAddNWorkspaceSize", descriptors, len(xs), y.descriptor)
            space = r.workspace(needed)
            r.add("cnnlAddN_v2", descriptors, addresses, len(xs), *y.both, *space)
        else:
            r.add("cnnlAddN", descriptors, addresses, len(xs), *y.both)


class BiasAdd(WithWorkspace):
    """A vector added along the last axis; x is copied first, unless it lies where y does."""

    def record(self, r: Recorder) -> None:
        x, y, bias = self.call.input(0), r.y(), r.x(1)
        one = vendor.scalar(1, "float32")
        r.copy(r.outputs[0], r.input(0), x.nbytes)
        space = r.workspace(r.ask("cnnlGetBiasAddWorkspaceSize", bias.descriptor, y.descriptor))
        r.add("cnnlBiasAdd", one, *bias.both, *space, one, *y.both)


class Prelu(VendorKernel):
    """``y = x`` above 0, ``slope * x`` below it; at most one axis of the slope is longer than 1."""

    def record(self, r: Recorder) -> None:
        x, slope = self.call.input(0), self.call.input(1)
        shape = (1,) * (x.rank - slope.rank) + slope.shape
        r.add(
            "cnnlPrelu", *r.x(0).both, *r.tensor(r.input(1), shape, slope.dtype).both, *r.y().both
        )


class Compare(WithWorkspace):
    """``y = a op b``, with broadcasting."""

    def __init__(self, call: OpCall, op: str) -> None:
        super().__init__(call)
        self._op = op

    def record(self, r: Recorder) -> None:
        vendor.logic(r, self._op, r.x(0), r.x(len(self.call.inputs) - 1), r.y())


class Copy(VendorKernel):
    """The same bytes: ``identity`` and ``reshape``."""

    def record(self, r: Recorder) -> None:
        r.copy(r.outputs[0], r.input(0), self.call.outputs[0].nbytes)


def _bias_is_last(call: OpCall) -> bool:
    return call.int_attr("axis") % call.input(0).rank == call.input(0).rank - 1


def _slope_is_one_vector(call: OpCall) -> bool:
    slope = call.input(1).shape
    return sum(dim != 1 for dim in slope) <= 1 and call.input(0).rank >= len(slope)


def _same_shapes(call: OpCall) -> bool:
    return all(spec == call.outputs[0] for spec in call.inputs)


_WAYS: dict[str, tuple[Unary, str]] = {
    "abs": (vendor.unary, "cnnlAbs"),
    "negative": (vendor.unary, "cnnlNegTensor"),
    "sign": (vendor.unary, "cnnlSign"),
    "floor": (vendor.unary, "cnnlFloor"),
    "ceil": (vendor.unary, "cnnlCeil"),
    "round": (vendor.unary, "cnnlRound"),
    "reciprocal": (vendor.unary, "cnnlReciprocal"),
    "is_nan": (vendor.unary, "cnnlIsNan"),
    "sqrt": (vendor.precise_unary, "cnnlSqrt_v2"),
    "exp": (vendor.precise_unary, "cnnlExp_v2"),
    "erf": (vendor.precise_unary, "cnnlErf_v2"),
    "sin": (vendor.precise_unary, "cnnlSin_v2"),
    "cos": (vendor.precise_unary, "cnnlCos_v2"),
}

_COMPARISONS = {
    "equal": "EQ",
    "greater": "GT",
    "less": "LT",
    "greater_equal": "GE",
    "less_equal": "LE",
}

_LOGIC = {"logical_and": "AND", "logical_or": "OR", "logical_xor": "XOR", "logical_not": "NOT"}


def elementwise_entries(tag: str) -> Iterator[KernelEntry]:
    """Kernels for ops that the library has an elementwise function for."""
    yield from _unary_entries(tag)
    yield from _binary_entries(tag)
    yield from _logic_entries(tag)
    yield KernelEntry(
        tag,
        "add_n",
        AddN,
        Takes(FLOATS, ("cnnlAddN_v2|cnnlAddN",), where=_same_shapes, text="of one shape"),
    )
    yield KernelEntry(
        tag,
        "bias_add",
        BiasAdd,
        Takes(FLOATS, ("cnnlBiasAdd",), where=_bias_is_last, text="along the last axis"),
    )
    yield KernelEntry(
        tag,
        "prelu",
        Prelu,
        Takes(FLOATS, ("cnnlPrelu",), where=_slope_is_one_vector, text="a slope along one axis"),
    )
    for op in ("identity", "reshape"):
        yield KernelEntry(tag, op, Copy)


def _unary_entries(tag: str) -> Iterator[KernelEntry]:
    for op in ("relu", "sigmoid", "tanh"):
        mode = f"CNNL_ACTIVATION_{op.upper()}"
        match = Takes(FLOATS, vendor.ACTIVATION, (mode,))
        yield KernelEntry(tag, op, Made(OneOperand, (vendor.activation, mode)), match)
    for op in ("tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"):
        mode = f"CNNL_TRIGON_{op.upper()}"
        match = Takes(FLOATS, vendor.TRIGON, (mode,))
        yield KernelEntry(tag, op, Made(OneOperand, (vendor.trigon, mode)), match)
    for op, (say, name) in _WAYS.items():
        dtypes = NUMBERS if op == "negative" else FLOATS
        yield KernelEntry(tag, op, Made(OneOperand, (say, name)), Takes(dtypes, (name,)))
    yield KernelEntry(
        tag, "sqrt", Made(OneOperand, (vendor.unary, "cnnlSqrt")), Takes(FLOATS, ("cnnlSqrt",)), -1
    )
    yield KernelEntry(tag, "log", Log, Takes(FLOATS, ("cnnlLog_v2",)))


def _binary_entries(tag: str) -> Iterator[KernelEntry]:
    for op, kind, of_b in (
        ("add", "CNNL_OP_TENSOR_ADD", 1),
        ("subtract", "CNNL_OP_TENSOR_ADD", -1),
        ("multiply", "CNNL_OP_TENSOR_MUL", 1),
    ):
        match = Takes(NUMBERS, vendor.OP_TENSOR, (kind,))
        yield KernelEntry(tag, op, Made(OpTensor, (kind, of_b)), match)
    for op, name in (("maximum", "Maximum"), ("minimum", "Minimum")):
        yield KernelEntry(tag, op, Made(Binary, (name,)), Takes(NUMBERS, (f"cnnl{name}",)))
    for op, name, function in (("divide", "Div", "cnnlDiv_v2"), ("power", "Pow", "cnnlPow")):
        made = Made(PreciseBinary, (name, function))
        yield KernelEntry(tag, op, made, Takes(FLOATS, (function,)))


def _logic_entries(tag: str) -> Iterator[KernelEntry]:
    for op, logic in _COMPARISONS.items():
        compared = (*COMPARED, "bool") if op == "equal" else COMPARED
        match = Takes(compared, vendor.LOGIC, (f"CNNL_LOGIC_OP_{logic}",))
        yield KernelEntry(tag, op, Made(Compare, (logic,)), match)
    for op, logic in _LOGIC.items():
        match = Takes(("bool",), vendor.LOGIC, (f"CNNL_LOGIC_OP_{logic}",))
        yield KernelEntry(tag, op, Made(Compare, (logic,)), match)
