"""CPU kernels in C++.

A function checks its arguments and returns the launch that does the work on them, any number of
times. Arrays are C-contiguous and never converted; outputs are given, never made, and may not
overlap inputs unless that is said. Sizes that do not fit raise ``ValueError``; another dtype or
layout raises ``TypeError``. The GIL is released while a launch runs, unless that works on a few
kilobytes only. No kernel keeps state between calls: a launch may be called by any thread, by one at
a time.

Spatial arguments hold one number for each spatial axis, of which there are 1 to 3. What belongs
together is passed as one record, which cannot be changed; the function that takes it checks whether
it fits.
"""

from collections.abc import Callable
from collections.abc import Sequence as _Parts
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Float = TypeVar("_Float", np.float32, np.float64)
_Number = TypeVar("_Number", np.float32, np.float64, np.int8, np.uint8, np.int32, np.int64)
_Counted = TypeVar("_Counted", np.float32, np.float64, np.int32, np.int64)
_Ranked = TypeVar("_Ranked", np.float32, np.float64, np.int8, np.uint8, np.int32, np.int64)
_Binary = TypeVar(
    "_Binary", np.float32, np.float64, np.int8, np.uint8, np.int32, np.int64, np.bool_
)
_Clipped = TypeVar("_Clipped", np.float64, np.int8, np.uint8, np.int32, np.int64)
_Dims = tuple[int, ...] | list[int]
_Floats = NDArray[np.float32]
_Doubles = NDArray[np.float64]
_Ints = NDArray[np.int32]
_Places = NDArray[np.int64]
_Integers = NDArray[np.int32] | NDArray[np.int64]
_Bytes = NDArray[np.int8] | NDArray[np.uint8]

class Launch:
    """Work whose arguments are fixed; it keeps the arrays alive. Made by the functions below."""

    def __call__(self) -> None:
        """Do it."""

class Sequence(Launch):
    """Launches, one after another, as one."""

    def __init__(self, launches: list[Launch]) -> None: ...

class Window:
    """Where the windows of a convolution or a pool lie: numbers for each spatial axis.

    Tap ``k`` of output position ``o`` reads input position ``o * stride + k * dilation -
    pad_begin``.
    """

    def __init__(
        self, kernel: _Dims, strides: _Dims, dilations: _Dims, pads_begin: _Dims
    ) -> None: ...

class Epilogue:
    """What follows a product of which y has m columns: ``activation(sums + bias + addend)``.

    bias: float32[m]; addend: float32, as y, whose memory it may be. activation: ``none``, ``clamp``
    (between alpha and beta), ``leaky`` (alpha), ``sigmoid``, ``silu``, ``hard_sigmoid`` or
    ``hard_swish`` (of alpha * x + beta); of the sum with the addend, or, if addend_last, before
    that is added.
    """

    def __init__(
        self, bias: _Floats | None = None, addend: _Floats | None = None, activation: str = "none",
        alpha: float = 0.0, beta: float = 0.0, addend_last: bool = False,
    ) -> None: ...  # fmt: skip

def threads() -> int:
    """How many threads work on a launch."""

def set_threads(count: int) -> None:
    """Change it; waits for the loop that is under way. ``count``: 1 to 1024."""

def isa() -> str:
    """What kernels run on, as ``HEADRACE_CPU_ISA`` names it: ``avx2``, for one."""

def isas() -> list[str]:
    """Names of all that this machine has, whatever the variable says, oldest first."""

def parallel_for(count: int, grain: int, body: Callable[[int, int], object]) -> None:
    """Call ``body(begin, end)`` for parts of ``range(count)`` on the threads of the pool.

    For tests. Raises what the body raises, when no body runs any more.
    """

def pack(matrix: NDArray[Any], panels: NDArray[Any], groups: int, transposed: bool) -> Launch:
    """Lay a matrix out in panels of sixteen columns; the last one of a group is filled with zeros.

    matrix: T[depth, columns], or [columns, ...] with the depth in the axes that follow if
    transposed; it may lie in any way. panels: T[groups * ceil(columns / groups / 16), depth, 16]. T
    is float32, float16, bfloat16, uint32 or uint8.
    """

def winograd_pack(weight: _Floats, panels: _Floats, m: int) -> Launch:
    """Transform kernels for tiles of m x m outputs, and lay them out in panels.

    weight: float32[outputs, 3, 3, channels]; it may lie in any way. panels: float32[(m + 2)^2,
    ceil(outputs / 16), channels, 16], the last panel filled with zeros.
    """

def conv(
    x: _Floats, panels: NDArray[Any], y: _Floats, window: Window, groups: int,
    epilogue: Epilogue = ...,
) -> Launch:  # fmt: skip
    """Convolve images whose channels are last.

    x: float32[n, *spatial, c]; panels: the weight [m, *kernel, c / groups] as ``pack`` lays it out,
    transposed; y: float32[n, *windows, m].
    """

def matmul(x: _Floats, panels: NDArray[Any], y: _Floats, epilogue: Epilogue = ...) -> Launch:
    """Multiply by a packed matrix: y[..., m] = x[..., k] * panels."""

class BlockWeights:
    """A packed matrix [k, m] of 2, 4 or 8 bits with a scale for each ``block`` of a column.

    panels: of its words [ceil(k / block) * block * bits / 32, m], the first number in the lowest
    bits; scales, and zeros where they are not half of what the bits can say: of [ceil(k / block),
    m]; all as ``pack`` makes them.
    """

    def __init__(
        self, panels: NDArray[np.uint32], scales: _Floats, zeros: NDArray[np.uint8] | None,
        bits: int, block: int,
    ) -> None: ...  # fmt: skip

def block_matmul(
    x: _Floats, weights: BlockWeights, rounded: NDArray[np.uint8] | None, y: _Floats,
    epilogue: Epilogue = ...,
) -> Launch:  # fmt: skip
    """Multiply by a matrix of few bits: y[..., m] = x[..., k] * weights.

    With ``rounded``, memory of ceil(k / block) * (block + 8) bytes for each row, x is rounded to
    bytes by the largest number of each block; without, nothing is.
    """

def im2col(x: NDArray[_Float], cols: NDArray[_Float], window: Window, out: _Dims) -> Launch:
    """Gather the windows of one image into columns; padding reads as 0.

    x: T[c, *spatial]; cols: T[c * prod(kernel), prod(out)], fully written; out: the spatial
    output shape, or that of a part of it that begins where the window's pads (negative inside the
    image) say.
    """

def col2im(cols: NDArray[_Float], y: NDArray[_Float], window: Window, out: _Dims) -> Launch:
    """Add columns back onto the image that ``im2col`` would have read: its adjoint.

    cols: T[c * prod(kernel), prod(out)]; y: T[c, *spatial], zeroed first. ``window`` and ``out``
    are those of ``im2col`` on y, so for a transposed convolution ``out`` is the spatial shape of
    its input.
    """

def depthwise_conv(
    x: NDArray[_Float], w: NDArray[_Float], bias: NDArray[_Float] | None, y: NDArray[_Float],
    window: Window,
) -> Launch:  # fmt: skip
    """Convolve each channel by itself (groups == c); output channel j reads input channel j // m.

    x: T[n, c, *spatial]; w: T[c * m, 1, *kernel]; bias: T[c * m] or None; y: T[n, c * m, *out],
    whose shape decides the output size.
    """

def max_pool(
    x: NDArray[_Number], y: NDArray[_Number], indices: NDArray[np.int64] | None, window: Window,
    column_major: bool,
) -> Launch:  # fmt: skip
    """Take the largest element of each window; padding never wins, NaN always does.

    x: T[n, c, *spatial]; y: T[n, c, *out], whose shape decides how many windows there are; the
    last may overhang x. indices: int64[n, c, *out] or None: the first winner as a flat index into
    all of x, its spatial part counted first axis fastest if ``column_major``. A window on padding
    alone gives the lowest T and index -1.
    """

def avg_pool(
    x: NDArray[_Float], y: NDArray[_Float], window: Window, pads_end: _Dims, count_include_pad: bool
) -> Launch:
    """Take the mean of each window.

    x: T[n, c, *spatial]; y: T[n, c, *out], whose shape decides how many windows there are. The
    divisor counts real elements, and explicit padding if ``count_include_pad``, but never the
    overhang beyond x and ``pads_end`` that ceil_mode makes. A window in which nothing counts
    gives 0.
    """

def normalization(
    x: NDArray[_Float], mean: NDArray[_Float], variance: NDArray[_Float], gamma: NDArray[_Float],
    beta: NDArray[_Float], y: NDArray[_Float], axis: int, epsilon: float,
) -> Launch:  # fmt: skip
    """``y = (x - mean) / sqrt(variance + epsilon) * gamma + beta`` along an axis.

    x, y: T[...] of one shape; may be the same array. The others: T[length of axis].
    """

def instance_norm(
    x: NDArray[_Float], gamma: NDArray[_Float], beta: NDArray[_Float], y: NDArray[_Float],
    epsilon: float,
) -> Launch:  # fmt: skip
    """Bring each channel of each image to mean beta and deviation gamma.

    x, y: T[n, c, *spatial] of one shape; gamma, beta: T[c]. Sums are kept in double.
    """

def unary(op: str, x: _Doubles, y: _Doubles, p: float = 0.0, q: float = 0.0) -> Launch:
    """``y[i] = f(x[i])`` by the name of the op; p and q are its attributes, where it has any.

    x, y: float64[...] of one shape; may be the same array.
    """

def clip(
    x: NDArray[_Clipped], low: NDArray[_Clipped] | None, high: NDArray[_Clipped] | None,
    y: NDArray[_Clipped],
) -> Launch:  # fmt: skip
    """``y[i] = min(max(x[i], low), high)``; NaN wins. The limits are read on every launch.

    x, y: T[...] of one shape, which may be the same array; low, high: T of one element, or None. T
    is float64, int8, uint8, int32 or int64.
    """

def binary(
    op: str, a: NDArray[_Binary], b: NDArray[_Binary], y: NDArray[_Binary] | NDArray[np.bool_],
) -> Launch:  # fmt: skip
    """``y = f(a, b)`` with broadcasting, by the name of the op; integers wrap around.

    a, b: T[...], T one of float64, int32, int64, int8, uint8, float32 and bool; y: T[...] of their
    common shape, which may be one of them that has it, or bool[...] of a comparison. Of float32
    there is ``mod`` and ``fmod`` alone, of bytes ``divide``, of bool ``equal`` and logic. A
    quotient of integers is cut towards zero, and 0 if there is none.
    """

def where(
    condition: NDArray[np.bool_], a: NDArray[Any], b: NDArray[Any], y: NDArray[Any],
) -> Launch:  # fmt: skip
    """``y = a`` where the condition holds, else ``b``, with broadcasting.

    condition: bool[...]; a, b: T[...] of any dtype of 1, 2, 4 or 8 bytes; y: T[...] of their common
    shape. No overlap.
    """

def arange(start: NDArray[_Counted], step: NDArray[_Counted], y: NDArray[_Counted]) -> Launch:
    """``y[i] = start + i * step``: integers wrap around, floats are reckoned in float64.

    start, step: one element of T; y: T[size]. T is float32, float64, int32 or int64.
    """

def cast(x: NDArray[Any], y: NDArray[Any]) -> Launch:
    """``y = x`` as another dtype, as the op ``cast`` has it.

    x, y: bool, int8, uint8, int32, int64, float32 or float64, of one shape; may be the same memory.
    x may be float16 or bfloat16 as well.
    """

def pack_integers(
    matrix: _Bytes, panels: NDArray[np.int8], sums: _Ints, groups: int, transposed: bool,
) -> Launch:  # fmt: skip
    """Pack a matrix of bytes, or one for each group of its columns, as ``cpu.pack_integers`` says.

    matrix: T[depth, columns], or [columns, depth] if transposed. T is int8 or uint8.
    """

class IntegerWeights:
    """A packed matrix of bytes, as ``pack_integers`` makes it, and what is subtracted from it.

    zeros: int32[columns], the zero points, less 128 where the matrix is uint8.
    """

    def __init__(
        self, panels: NDArray[np.int8], sums: _Ints, zeros: _Ints | None = None
    ) -> None: ...

class Rescale:
    """How int32 sums of products of bytes become y, as ``cpu.integer_matmul`` says.

    scale: float32[columns] or one number; none where y is int32. x_zero: a byte of the dtype of x.
    shift: int32[columns], added to the sums. y_scale: one number, and y_zero: a byte of the dtype
    of y, where y is bytes. All of one number are read on every launch.
    """

    def __init__(
        self, scale: _Floats | None = None, x_zero: _Bytes | None = None,
        shift: _Ints | None = None, y_scale: _Floats | None = None, y_zero: _Bytes | None = None,
        epilogue: Epilogue = ...,
    ) -> None: ...  # fmt: skip

def integer_matmul(
    x: _Bytes, weights: IntegerWeights, y: Any, corrections: _Ints, rescale: Rescale
) -> Launch:
    """Multiply bytes by packed ones, and what follows, as ``cpu.integer_matmul`` says.

    x: T[..., depth]; y: int32, float32, int8 or uint8 [..., columns], or float32 where the addend
    lies. corrections: int32[3 * 16] for each panel of each group, which a launch writes.
    """

def byte_batch_matmul(
    a: _Bytes, b: _Bytes, b_zero: _Bytes | None, y: Any, packed: tuple[NDArray[np.int8], _Ints],
    a_places: _Dims, b_places: _Dims, transposed: bool, rescale: Rescale,
) -> Launch:  # fmt: skip
    """``y[i] = a[a_places[i]] @ b[b_places[i]]``, and what follows; b is packed in each launch.

    a: T[p, m, k]; b: U[q, k, n], or [q, n, k] if transposed; b_zero: U[n] or one number; y: as
    ``integer_matmul`` has it, [r, m, n]. packed, which a launch writes: panels of all of b, and
    int32[(q + 1) * n + r * 3 * 16 * panels of one].
    """

def integer_conv(
    x: _Bytes, weights: IntegerWeights, y: Any, corrections: _Ints, rescale: Rescale,
    window: Window, groups: int,
) -> Launch:  # fmt: skip
    """Convolve an image of bytes whose channels are last, as ``cpu.integer_conv`` says.

    x: T[n, *spatial, c]; y: [n, *windows, columns]; the others as ``integer_matmul`` has them.
    """

def integer_depthwise_conv(
    x: _Bytes, weights: IntegerWeights, y: Any, prepared: _Ints, rescale: Rescale, window: Window
) -> Launch:
    """Convolve each channel by itself, as ``cpu.integer_depthwise_conv`` says.

    prepared: int32[4 * blocks * 64], which a launch writes; the others as ``integer_conv`` has
    them.
    """

def integer_add(
    a: _Bytes, b: _Bytes, y: _Bytes, factors: tuple[float, float], offset: float,
    limits: tuple[float, float], zero: int,
) -> Launch:  # fmt: skip
    """Add as ``cpu.integer_add`` says, in one shape: factors of a and b, limits low and high."""

def dynamic_quantize(
    x: _Floats, y: NDArray[np.uint8], scale: _Floats, zero_point: NDArray[np.uint8],
) -> Launch:  # fmt: skip
    """As the op ``dynamic_quantize`` says: y has the shape of x; the scalars are written."""

def winograd_conv(
    x: _Floats, panels: _Floats, y: _Floats, m: int, pads_begin: _Dims, epilogue: Epilogue = ...
) -> Launch:
    """Convolve with 3x3 taps, stride 1, in tiles of m x m outputs.

    x: float32[n, height, width, c]; panels: transformed weights,
    float32[(m + 2)^2, columns / 16, c, 16]; y: float32[n, *windows, columns]. m is 2 or 4.
    """

def depthwise_conv_last(
    x: _Floats, taps: _Floats, y: _Floats, window: Window, epilogue: Epilogue = ...
) -> Launch:
    """Convolve each channel by itself, channels last.

    x: float32[n, *spatial, c], one or two spatial axes; taps: float32[prod(kernel), c];
    y: float32[n, *windows, c].
    """

def max_pool_bytes(x: _Bytes, y: _Bytes, window: Window) -> Launch:
    """The largest of each window, channels last."""

def pool_last(
    kind: str, x: _Floats, y: _Floats, window: Window, pads_end: _Dims, count_include_pad: bool
) -> Launch:
    """The ``max`` or ``mean`` of each window, as ``max_pool`` and ``avg_pool``, channels last.

    x: float32[n, *spatial, c]; y: float32[n, *out, c].
    """

def fold_rows(kind: str, x: _Floats, y: _Floats) -> Launch:
    """The ``sum``, ``mean`` or ``max`` over the middle axis.

    x: float32[outer, rows, columns]; y: float32[outer, columns].
    """

def group_norm_last(
    x: _Floats, gamma: _Floats, beta: _Floats, y: _Floats, groups: int, epsilon: float,
) -> Launch:  # fmt: skip
    """Bring each of ``groups`` runs of channels of each image to mean beta and deviation gamma.

    x, y: float32[n, *spatial, c], which may be the same array; gamma, beta: float32[c].
    """

def normalization_last(
    x: _Floats, mean: _Floats, variance: _Floats, gamma: _Floats, beta: _Floats, y: _Floats,
    epsilon: float,
) -> Launch:  # fmt: skip
    """``normalization`` along the last axis. x, y: float32[..., c], may be one; others: [c]."""

def resample(
    x: NDArray[Any], y: NDArray[Any], sources: _Ints, weights: NDArray[Any],
) -> Launch:  # fmt: skip
    """``y[o, i, j] = sum over k of weights[i, k] * x[o, sources[i, k], j]``.

    x: [outer, length, inner]; y: [outer, count, inner]; sources, weights: [count, taps], which are
    copied. All are float32, or weights are float64 and x and y are of one dtype of float64, int8,
    uint8 and int32, or one of them is float64. Integers are cut towards zero and kept within range.
    """

def copy(
    parts: _Parts[tuple[NDArray[Any], _Dims, int, _Dims, int, _Dims]], y: NDArray[Any],
) -> Launch:  # fmt: skip
    """Copy elements by strides, of any dtype of 1, 2, 4, 8 or 16 bytes.

    Each part is an array of the item size of y, a shape, and for the array and for y an offset and
    strides, in elements. Nothing else of y is written.
    """

def take(
    x: NDArray[Any], y: NDArray[Any], tables: _Parts[_Ints | None], fill: NDArray[Any] | None,
) -> Launch:  # fmt: skip
    """``y[i, j, ...] = x[tables[0][i], tables[1][j], ...]``; fill, or 0, where a table has -1.

    A table that is None leaves its axis as it is. fill: one element, read on each launch.
    """

def gather(
    x: NDArray[Any], indices: _Ints | NDArray[np.int64], y: NDArray[Any], axis: int,
) -> Launch:  # fmt: skip
    """``y[o, k, i] = x[o, indices[k], i]``, of any dtype; the axes of indices replace axis.

    The launch raises IndexError at an index outside; negative ones count from the end.
    """

def gather_elements(
    x: NDArray[Any], indices: _Ints | NDArray[np.int64], y: NDArray[Any], axis: int,
) -> Launch:  # fmt: skip
    """``y[i, j, ...] = x[i, indices[i, j, ...], ...]``, the index along axis. As ``gather`` else.

    As many axes each; indices and y of one shape, no longer than x but along axis.
    """

def gather_nd(
    x: NDArray[Any], indices: _Ints | NDArray[np.int64], y: NDArray[Any], batch_dims: int,
) -> Launch:  # fmt: skip
    """``y[o, k, i] = x[o, indices[o, k, 0], indices[o, k, 1], ..., i]``. As ``gather`` else.

    The first batch_dims axes of all are the same; indices: [*batches, *counts, axes of x named].
    """

def scatter_nd(
    reduction: str, x: NDArray[Any], indices: _Ints | NDArray[np.int64], update: NDArray[Any],
    y: NDArray[Any],
) -> Launch:  # fmt: skip
    """``y = x``, and ``update[k]`` put on ``y[indices[k, 0], indices[k, 1], ...]``.

    x, y: T[*lengths, inner], perhaps one array; indices: [count, axes of lengths]; update:
    T[count, inner]. reduction: ``none`` of any T of up to 8 bytes; ``add``, ``mul``, ``max`` and
    ``min`` of float32, float64, int32 and int64. The launch raises IndexError at an index that is
    outside, before it writes.
    """

def scatter_elements(
    reduction: str, x: NDArray[Any], indices: _Ints | NDArray[np.int64], update: NDArray[Any],
    y: NDArray[Any], axis: int,
) -> Launch:  # fmt: skip
    """``y = x``, and ``update[i, j, ...]`` put on ``y[i, indices[i, j, ...], ...]``, along axis.

    As many axes each; indices and update of one shape, no longer than x but along axis. As
    ``scatter_nd`` else.
    """

def one_hot(
    indices: _Ints | NDArray[np.int64], values: NDArray[Any], y: NDArray[Any],
) -> Launch:  # fmt: skip
    """``y[o, indices[o, i], i] = values[1]``, and ``values[0]`` elsewhere; y: 3 axes, indices: 2.

    Of any dtype of up to 8 bytes. An index that is outside marks nothing.
    """

class Trees:
    """Decision trees, as the op ``tree_ensemble`` has them, but for what is asked of each node.

    roots: [trees]; weights: T[nodes, targets], with T the dtype of what is decided upon.
    """

    def __init__(
        self, roots: _Ints, weights: NDArray[Any], comparisons: _Parts[str], depth: int,
        aggregate: str,
    ) -> None: ...  # fmt: skip

def tree_ensemble(
    x: NDArray[_Float], trees: Trees, modes: _Ints, features: _Ints, splits: NDArray[Any],
    yes: _Ints, no: _Ints, nans: NDArray[np.bool_] | None, y: NDArray[_Float],
) -> Launch:  # fmt: skip
    """What decision trees say of each row, as the op ``tree_ensemble`` has it; summed in float64.

    x: T[batch, features]; modes, features, splits, yes, no, nans: [nodes]; y: T[batch, targets].
    The launch raises IndexError at an index that is outside.
    """

def laid_trees(
    x: NDArray[_Float], trees: Trees, nodes: _Bytes, nans: bool, y: NDArray[_Float]
) -> Launch:
    """As ``tree_ensemble``, of nodes as ``cpu.lay_trees`` lays them: uint8[nodes, 16], or 24.

    nans: whether some are met by NaN.
    """

def grid_sample(
    x: _Floats, grid: _Floats, y: _Floats, taps: int, padding: str, is_aligned: bool,
    is_normalized: bool,
) -> Launch:  # fmt: skip
    """Read images at the places of a grid, as the op ``grid_sample`` has it.

    x: [batch, channels, *sizes], with 1 to 3 sizes of up to 2^22; grid: [batch, points, axes];
    y: [batch, channels, points]. taps: elements that are read along an axis: 1, 2 or 4.
    """

def spectrum_floats(length: int, parts: int, is_inverse: bool, is_onesided: bool) -> int:
    """How many elements the scratch of ``spectrum`` has: none for a short transform."""

def spectrum(
    x: _Floats, window: _Floats | None, scratch: _Floats, y: _Floats, length: int, step: int,
    is_inverse: bool, is_onesided: bool,
) -> Launch:  # fmt: skip
    """Transform signals, or frames of them, as the ops ``dft`` and ``stft`` have it.

    x: [batch, points, parts]; window: [length], of frames; y: [batch, frames, bins, parts]. A
    single frame is the whole signal; ``step`` numbers are from the beginning of one to the next.
    """

def cumulative(
    reduction: str, x: NDArray[_Counted], y: NDArray[_Counted],
    is_exclusive: bool, is_reverse: bool,
) -> Launch:  # fmt: skip
    """Running sums or products along the middle axis, as the op ``cumulative`` has it.

    x, y: [outer, length, inner]; may be the same array unless ``is_exclusive``.
    """

def top_k(
    x: NDArray[_Ranked], values: NDArray[_Ranked], indices: NDArray[np.int64], largest: bool,
) -> Launch:  # fmt: skip
    """The largest or smallest along the middle axis, best first, and where they stand.

    x: [outer, length, inner]; values, indices: [outer, count, inner], with count up to length. NaN
    is larger than all; of equal elements the first comes first.
    """

def arg_extreme(
    x: NDArray[_Ranked], y: NDArray[np.int64], largest: bool, last: bool,
) -> Launch:  # fmt: skip
    """Where the largest or smallest along the middle axis stands, or the first NaN; of equals the
    first or the last. x: [outer, length, inner]; y: [outer, inner].
    """

def non_max_suppression(
    boxes: _Floats, scores: _Floats, chosen: _Ints, counts: _Ints,
    overlap: float, least: float, is_centred: bool,
) -> Launch:  # fmt: skip
    """The best boxes that no better one overlaps, as the op ``non_max_suppression`` has it.

    boxes: [batch, boxes, 4]; scores: [batch, classes, boxes]; chosen: [batch, classes, most], with
    at most as many as there are; counts: [batch, classes].
    """

def program(
    steps: _Parts[tuple[str, _Dims]], constants: _Parts[float], inputs: _Parts[NDArray[Any]],
    y: NDArray[Any],
) -> Launch:  # fmt: skip
    """Elementwise steps in one pass over memory.

    Operands are numbered: the inputs, the constants, then what each step made; the last step makes
    y. Inputs are float32, bool, int32 or int64 and broadcast to y, which is float32, or bool for
    truth; y may be the array of an input that has its shape and dtype. 64 operands at most.
    """

def softmax(x: _Floats, y: _Floats, logarithm: bool) -> Launch:
    """``softmax`` along the last axis, or its logarithm. x, y: float32[..., n], which may be the
    same array.
    """

def softmax_columns(x: _Floats, y: _Floats, logarithm: bool) -> Launch:
    """``softmax`` down the columns of matrices, or its logarithm. x, y: float32[matrices, length,
    columns], which may be the same array.
    """

def layer_norm(
    x: _Floats, scale: _Floats | None, bias: _Floats | None, y: _Floats, epsilon: float,
) -> Launch:  # fmt: skip
    """Bring each row to mean 0 and deviation 1, times scale, plus bias.

    x, y: float32[..., n], which may be the same array; scale, bias: float32[n]. Sums go on in
    double.
    """

def fold_each_row(kind: str, x: _Floats, y: _Floats) -> Launch:
    """``sum``, ``mean``, ``max``, ``min`` or ``prod`` of each row.

    x: float32[..., n], y: float32[...].
    """

def fold_axis(kind: str, x: NDArray[_Number], y: NDArray[_Number]) -> Launch:
    """``sum``, ``mean``, ``max``, ``min`` or ``prod`` over the middle axis, which is not empty.

    x: T[outer, length, inner], y: T[outer, inner]. T is float32, float64, int32, int64, int8 or
    uint8; integers wrap around, and have no mean.
    """

def batch_matmul(
    a: _Floats, b: _Floats, panels: _Floats, y: _Floats, a_places: _Dims, b_places: _Dims,
    transposed: bool,
) -> Launch:  # fmt: skip
    """``y[i] = a[a_places[i]] @ b[b_places[i]]``; every matrix of b is packed into panels first.

    a: float32[p, m, k]; b: float32[q, k, n], or [q, n, k] if transposed; y: float32[r, m, n];
    panels: float32[q, n / 16, k, 16].
    """

def few_row_matmul(
    a: _Floats, b: _Floats, y: _Floats, a_places: _Dims, b_places: _Dims, transposed: bool,
) -> Launch:  # fmt: skip
    """As ``batch_matmul``, with b as it lies: for few rows of a."""

def couple_pairs(shares: _Floats, y: _Floats) -> Launch:
    """Probabilities of classes by those of their pairs, as the op of core says.

    shares: float32[rows, classes * (classes - 1) / 2]; y: float32[rows, classes].
    """

def integer_batch_matmul(
    a: _Integers, b: _Integers, y: _Integers, a_places: _Dims, b_places: _Dims
) -> Launch:
    """``y[i] = a[a_places[i]] @ b[b_places[i]]``, where sums wrap around.

    a: T[p, m, k]; b: T[q, k, n]; y: T[r, m, n]; T is int32 or int64. y overlaps no other.
    """

class HeadLayout:
    """How the axes of attention lie.

    q, k, v and y are [batch, heads, rows, columns], or [batch, rows, heads, columns] for each whose
    letter is in rows_first; k is [batch, heads, columns, rows] if k_transposed.
    """

    def __init__(self, rows_first: str = "", k_transposed: bool = False) -> None: ...

def attention(
    q: _Floats, k: _Floats, v: _Floats, mask: _Floats | None, y: _Floats, panels: _Floats,
    layout: HeadLayout, scale: float, nan_is_zero: bool,
) -> Launch:  # fmt: skip
    """``softmax(scale * q k^T + mask) v`` of each head, as ``cpu.attention`` says.

    q, k, v, y: float32 of four axes, which lie as ``layout`` says. mask: float32 of four axes, all
    but the last of which may be 1. panels: float32[n], room for all keys and values, packed.
    """

def rotary_embedding(
    x: _Floats, cos: _Floats, sin: _Floats, y: _Floats, interleaved: bool
) -> Launch:
    """Turn pairs of numbers, as ``rotary_embedding`` says.

    x, y: float32[batch, heads, steps, size], which may be the same array; cos, sin: float32[batch
    or 1, steps, pairs].
    """

def cache_write(
    x: NDArray[Any], past: NDArray[Any] | None, before: _Places, y: NDArray[Any], clears: bool,
) -> Launch:  # fmt: skip
    """``past``, or zeros, with the steps of x from ``before`` on, as ``cache_write`` says.

    x, past, y: [batch, heads, steps, size] of one dtype, past and y with as many steps as they
    have room for; past may be y itself. before: int64[batch]. The launch raises IndexError where
    a step is outside y.
    """

def cached_attention(
    q: _Floats, k: _Floats, v: _Floats, before: _Places, end: _Places | None,
    bias: _Floats | None, sink: _Floats | None, y: _Floats, panels: _Floats, scale: float,
    causal: bool, window: int, softcap: float,
) -> Launch:  # fmt: skip
    """Attention over the places that each step sees, as ``cached_attention`` says.

    q, k, v, bias, y: float32 of four axes; before, end: int64[batch]; sink: float32[heads].
    panels: float32[n], room for all keys and values, packed, if a head of keys has many queries.
    """

def recurrent_scratch(kind: str, steps: int, batch: int, features: int, hidden: int) -> int:
    """Floats of the scratch that ``recurrent`` needs."""

class RecurrentWeights:
    """Weights in the shapes of the ops of core, w and r packed; the biases are 0 if None.

    w is packed in groups for each direction, r likewise or, of a GRU, for each gate.
    """

    def __init__(self, w: _Floats, r: _Floats, b: _Floats | None = None) -> None: ...

class RecurrentState:
    """What a layer carries from step to step, float32[directions, batch, hidden] each."""

    def __init__(self, h: _Floats | None = None, c: _Floats | None = None) -> None: ...

def recurrent(
    kind: str, x: _Floats, weights: RecurrentWeights, begin: RecurrentState, y: _Floats,
    end: RecurrentState, scratch: _Floats, reversed: list[bool], linear_before_reset: bool,
    lengths: NDArray[np.int32] | None = None,
) -> Launch:  # fmt: skip
    """A ``lstm``, ``gru``, ``rnn`` or ``rnn_relu``, in the shapes of the ops of core.

    The activations are the usual ones, but for ``rnn_relu``.

    begin: where states begin, 0 where it has None; end: where they are written, those that it has.
    reversed: of each direction, whether it begins at the last step. lengths: int32[batch], the
    steps that each sequence has, or None: all. Nothing overlaps.
    """

class IntegerRecurrentWeights:
    """Weights as ``pack_integers`` makes them, what their sums are worth, what is subtracted.

    scale: of one element or float32[columns]; zeros: int32[columns], as the weights are packed.
    """

    def __init__(
        self,
        panels: NDArray[np.int8],
        sums: NDArray[np.int32],
        scale: _Floats,
        zeros: NDArray[np.int32] | None = None,
    ) -> None: ...

def integer_lstm_scratch(batch: int, hidden: int) -> int:
    """Floats of the scratch that ``integer_lstm`` needs."""

def integer_lstm(
    drive: _Floats, weights: IntegerRecurrentWeights, begin: RecurrentState, y: _Floats,
    end: RecurrentState, scratch: _Floats, reversed: bool,
) -> Launch:  # fmt: skip
    """An ``lstm_integer`` with the usual activations, in the shapes of the op of core.

    begin, end: as ``recurrent`` has them, float32[batch, hidden]. Nothing overlaps.
    """
