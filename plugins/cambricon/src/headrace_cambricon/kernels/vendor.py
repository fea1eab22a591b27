"""Operations of the vendor's library, whichever release it is.

Each takes the newest function that it knows and the library has, asks for its workspace, and makes
its descriptors. Kernels call these; none of them knows an op of headrace.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from headrace_cambricon.enums import number_of
from headrace_cambricon.kernels.kernel import DATA_TYPES, Operand, Recorder

_KEEP_NAN = "CNNL_PROPAGATE_NAN"
_PRECISE = "CNNL_COMPUTATION_HIGH_PRECISION"


def scalar(value: float, dtype: str) -> bytes:
    """A factor on the host: float32 for tensors of floats, int32 for those of int32."""
    return struct.pack("i", int(value)) if dtype == "int32" else struct.pack("f", value)


ACTIVATION = (
    "cnnlSetActivationDescriptor|cnnlSetActivationDescriptor_v5",
    "cnnlActivationForward",
)


def activation(r: Recorder, mode: str, x: Operand, y: Operand) -> None:
    """``y = f(x)``, f by its name."""
    kind, number, nan = "ActivationDescriptor", number_of(mode), number_of(_KEEP_NAN)
    if r.has("cnnlSetActivationDescriptor"):
        chosen = r.configured(kind, "cnnlSetActivationDescriptor", number, nan, 1.0)
    else:
        precise = number_of("CNNL_ACTIVATION_HIGH_PRECISION")
        chosen = r.configured(
            kind, "cnnlSetActivationDescriptor_v5", number, precise, nan, 1.0, 0, 0.0, 0.0, False
        )
    r.add("cnnlActivationForward", chosen, None, *x.both, None, *y.both)


OP_TENSOR = ("cnnlGetOpTensorWorkspaceSize_v2|cnnlGetOpTensorWorkspaceSize", "cnnlOpTensor")


def op_tensor(r: Recorder, kind: str, a: Operand, b: Operand, y: Operand, of_b: float = 1) -> None:
    """``y = a + of_b * b``, or ``a * of_b * b``."""
    op = r.configured(
        "OpTensorDescriptor",
        "cnnlSetOpTensorDescriptor",
        number_of(kind),
        DATA_TYPES[y.dtype],
        number_of(_KEEP_NAN),
    )
    one, two, none = (scalar(value, y.dtype) for value in (1, of_b, 0))
    if r.has("cnnlGetOpTensorWorkspaceSize_v2"):
        needed = r.ask(
            "cnnlGetOpTensorWorkspaceSize_v2", op, one, *a.both, two, *b.both, none, *y.both
        )
    else:
        descriptors = (a.descriptor, b.descriptor, y.descriptor)
        needed = r.ask("cnnlGetOpTensorWorkspaceSize", *descriptors)
    space = r.workspace(needed)
    r.add("cnnlOpTensor", op, one, *a.both, two, *b.both, *space, none, *y.both)


def unary(r: Recorder, function: str, x: Operand, y: Operand) -> None:
    """``y = f(x)`` by a function of its own."""
    r.add(function, *x.both, *y.both)


def precise_unary(r: Recorder, function: str, x: Operand, y: Operand) -> None:
    """``y = f(x)`` by a function that takes a preference."""
    r.add(function, number_of(_PRECISE), *x.both, *y.both)


TRIGON = ("cnnlSetTrigonDescriptor_v2|cnnlSetTrigonDescriptor", "cnnlTrigonForward")


def trigon(r: Recorder, mode: str, x: Operand, y: Operand) -> None:
    """``y = f(x)``, f an angle's function or its inverse by its name."""
    kind, number = "TrigonDescriptor", number_of(mode)
    if r.has("cnnlSetTrigonDescriptor_v2"):
        precise = number_of(_PRECISE)
        chosen = r.configured(kind, "cnnlSetTrigonDescriptor_v2", number, precise)
    else:
        chosen = r.configured(kind, "cnnlSetTrigonDescriptor", number)
    r.add("cnnlTrigonForward", chosen, *x.both, *y.both)


BITS = ("cnnlGetBitComputeWorkspaceSize", "cnnlBitCompute_v2")


def bit_compute(r: Recorder, op: str, a: Operand, b: Operand | None, y: Operand) -> None:
    """``y = a op b``, bit by bit; all of one shape. Without ``b``, the one operand's."""
    of_b = (None, None) if b is None else b.both
    needed = r.ask("cnnlGetBitComputeWorkspaceSize", a.descriptor, of_b[0], y.descriptor)
    r.add("cnnlBitCompute_v2", number_of(op), *a.both, *of_b, *y.both, *r.workspace(needed))


def binary(r: Recorder, name: str, a: Operand, b: Operand, y: Operand) -> None:
    """``y = f(a, b)``, with broadcasting, for ``cnnl<name>`` whose workspace comes last."""
    if name in ("Maximum", "Minimum"):
        needed = r.ask(f"cnnlGet{name}WorkspaceSize", y.descriptor)
    else:
        descriptors = (a.descriptor, b.descriptor, y.descriptor)
        needed = r.ask(f"cnnlGet{name}WorkspaceSize", *descriptors)
    r.add(f"cnnl{name}", *a.both, *b.both, *y.both, *r.workspace(needed))


FLOOR_DIVIDE = ("cnnlGetFloorDivWorkspaceSize", "cnnlFloorDiv_v2")


def floor_divide(r: Recorder, a: Operand, b: Operand, y: Operand) -> None:
    """``y = a / b``, rounded down, with broadcasting. Its workspace comes last."""
    descriptors = (a.descriptor, b.descriptor, y.descriptor)
    space = r.workspace(r.ask("cnnlGetFloorDivWorkspaceSize", *descriptors))
    r.add("cnnlFloorDiv_v2", number_of(_PRECISE), *a.both, *b.both, *y.both, *space)


def precise_binary(
    r: Recorder, name: str, function: str, a: Operand, b: Operand, y: Operand
) -> None:
    """``y = f(a, b)``, with broadcasting, by a function that takes a preference."""
    descriptors = (a.descriptor, b.descriptor, y.descriptor)
    space = r.workspace(r.ask(f"cnnlGet{name}WorkspaceSize", *descriptors))
    r.add(function, number_of(_PRECISE), *a.both, *b.both, *space, *y.both)


LOGIC = ("cnnlGetLogicOpWorkspaceSize", "cnnlLogicOp")


def logic(r: Recorder, op: str, a: Operand, b: Operand, y: Operand) -> None:
    """``y = a op b``, a bool."""
    space = r.workspace(
        r.ask("cnnlGetLogicOpWorkspaceSize", a.descriptor, b.descriptor, y.descriptor)
    )
    r.add("cnnlLogicOp", number_of(f"CNNL_LOGIC_OP_{op}"), *a.both, *b.both, *space, *y.both)


SELECT = ("cnnlGetSelectV2WorkspaceSize", "cnnlSelectV2")


def select(r: Recorder, condition: Operand, a: Operand, b: Operand, y: Operand) -> None:
    """``y = a`` where the condition holds, else ``b``."""
    descriptors = (condition.descriptor, a.descriptor, b.descriptor)
    space = r.workspace(r.ask("cnnlGetSelectV2WorkspaceSize", *descriptors))
    r.add("cnnlSelectV2", *condition.both, *a.both, *b.both, *space, *y.both)


_CAST_NAMES = {
    "bfloat16": "BFLOAT16",
    "bool": "BOOL",
    "float16": "HALF",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "uint8": "UINT8",
}
_CASTS = {
    "bfloat16": "float32 bool",
    "bool": "int32 float32 float16 bfloat16",
    "float16": "float32 int32 int16 int8 uint8 int64 bool",
    "float32": "float16 bfloat16 float64 int32 int16 int8 uint8 int64 bool",
    "float64": "float32",
    "int8": "int32 int16 float32 float16",
    "int16": "int32 float32 float16",
    "int32": "int64 int16 int8 uint8 bool float32 float16 bfloat16",
    "int64": "int32 float32 float16",
    "uint8": "int32 int64 float32 float16",
}
CASTS: Mapping[str, tuple[str, ...]] = {key: tuple(to.split()) for key, to in _CASTS.items()}
"""Which dtypes the library is known to cast each one to; of two ways of one length, the first."""


def cast_enum(source: str, target: str) -> str:
    """The enumerator of a known cast."""
    return f"CNNL_CAST_{_CAST_NAMES[source]}_TO_{_CAST_NAMES[target]}"


def cast(r: Recorder, x: Operand, y: Operand) -> None:
    """``x`` in the dtype of ``y``."""
    r.add("cnnlCastDataType", *x.both, number_of(cast_enum(x.dtype, y.dtype)), *y.both)


TRANSPOSE = ("cnnlTranspose_v2|cnnlTranspose",)


def transpose(r: Recorder, axes: Sequence[int], x: Operand, y: Operand) -> None:
    """Axis ``i`` of ``y`` is axis ``axes[i]`` of ``x``."""
    order = r.configured("TransposeDescriptor", "cnnlSetTransposeDescriptor", len(axes), list(axes))
    if r.has("cnnlTranspose_v2"):
        needed = r.ask("cnnlGetTransposeWorkspaceSize", x.descriptor, order)
        r.add("cnnlTranspose_v2", order, *x.both, *y.both, *r.workspace(needed))
    else:
        r.add("cnnlTranspose", order, *x.both, *y.both)


CONCAT = ("cnnlGetConcatWorkspaceSize", "cnnlConcat")


def concat(r: Recorder, axis: int, xs: Sequence[Operand], y: Operand) -> None:
    """The operands one after another."""
    space = r.workspace(r.ask("cnnlGetConcatWorkspaceSize", len(xs)))
    descriptors, addresses = [x.descriptor for x in xs], [x.address for x in xs]
    r.add("cnnlConcat", len(xs), axis, descriptors, addresses, *space, *y.both)


COPY = ("cnnlCopy_v2|cnnlCopy", "cnnlSetTensorDescriptorEx")


def strided_copy(r: Recorder, x: Operand, y: Operand) -> None:
    """Element by element, where either has strides."""
    if r.has("cnnlCopy_v2"):
        needed = r.ask("cnnlGetCopyWorkspaceSize", x.descriptor, y.descriptor)
        r.add("cnnlCopy_v2", *x.both, *y.both, *r.workspace(needed))
    else:
        r.add("cnnlCopy", *x.both, *y.both)


SLICE = ("cnnlStridedSlice_v2|cnnlStridedSlice",)


def strided_slice(
    r: Recorder, begin: list[int], end: list[int], step: list[int], x: Operand, y: Operand
) -> None:
    """Ranges along each axis; ``end`` of a range that goes down to 0 is ``-length - 1``."""
    name = "cnnlStridedSlice_v2" if r.has("cnnlStridedSlice_v2") else "cnnlStridedSlice"
    r.add(name, *x.both, begin, end, step, *y.both)


GATHER = ("cnnlGather_v2|cnnlGather",)


def gather(r: Recorder, axis: int, x: Operand, index: Operand, y: Operand) -> None:
    """``y[.., i, ..] = x[.., index[.., i, ..], ..]``; the index has the shape of y."""
    if r.has("cnnlGather_v2"):
        descriptors = (x.descriptor, index.descriptor, y.descriptor)
        space = r.workspace(r.ask("cnnlGetGatherWorkspaceSize", *descriptors, axis))
        r.add("cnnlGather_v2", axis, *x.both, *index.both, *space, *y.both)
    else:
        r.add("cnnlGather", axis, *x.both, *index.both, *y.both)


SCATTER = ("cnnlScatter_v2|cnnlScatter",)


def scatter(
    r: Recorder, mode: str, axis: int, index: Operand, updates: Operand, y: Operand
) -> None:
    """``y[.., index[.., i, ..], ..]`` becomes, or is joined with, ``updates[.., i, ..]``."""
    operands = (*y.both, *index.both, *updates.both)
    if r.has("cnnlScatter_v2"):
        space = r.workspace(r.ask("cnnlGetScatterWorkspaceSize", index.descriptor))
        r.add("cnnlScatter_v2", axis, *operands, *space, *y.both, number_of(mode))
    else:
        r.add("cnnlScatter", axis, *operands, *y.both, number_of(mode))


TOP_K = ("cnnlGetTopKTensorWorkspaceSize", "cnnlTopKTensor_v3")


def top_k(
    r: Recorder, k: int, axis: int, largest: bool, x: Operand, values: Operand, index: Operand
) -> None:
    """The ``k`` best along an axis, best first, and of equal ones the first; ``index`` int32."""
    described = (values.descriptor, index.descriptor)
    needed = r.ask("cnnlGetTopKTensorWorkspaceSize", x.descriptor, k, axis, largest, *described)
    space = r.workspace(needed)
    r.add(
        "cnnlTopKTensor_v3", *x.both, k, axis, largest, True, True, *space, *values.both,
        *index.both,
    )  # fmt: skip


REDUCE = ("cnnlReduce_v2|cnnlReduce",)


def reduce(
    r: Recorder, op: str, axes: Sequence[int], x: Operand, y: Operand, index: Operand | None = None
) -> None:
    """Fold axes; ``y`` keeps them, with one element. ``index``, int32: where it is."""
    wanted = "CNNL_REDUCE_NO_INDICES" if index is None else "CNNL_REDUCE_FLATTENED_INDICES"
    arguments = (
        list(axes), len(axes), number_of(f"CNNL_REDUCE_{op}"), DATA_TYPES[x.dtype],
        number_of(_KEEP_NAN), number_of(wanted), number_of("CNNL_32BIT_INDICES"),
    )  # fmt: skip
    places = None if index is None else index.address
    if r.has("cnnlReduce_v2"):
        kind = r.configured("ReduceDescriptor", "cnnlSetReduceDescriptor_v2", *arguments, 0.0)
        where = None if index is None else index.descriptor
        needed = r.ask("cnnlGetReduceOpWorkspaceSize_v2", x.descriptor, y.descriptor, where, kind)
        space = r.workspace(needed)
        r.add("cnnlReduce_v2", kind, *x.both, None, None, *space, *y.both, where, places)
    else:
        kind = r.configured("ReduceDescriptor", "cnnlSetReduceDescriptor", *arguments)
        needed = r.ask("cnnlGetReduceOpWorkspaceSize", x.descriptor, y.descriptor, kind)
        space = r.workspace(needed)
        nbytes = 0 if index is None else 4 * _count(index.shape)
        r.add("cnnlReduce", kind, *space, None, *x.both, nbytes, places, None, *y.both)


def _count(shape: Sequence[int]) -> int:
    count = 1
    for dim in shape:
        count *= dim
    return count
