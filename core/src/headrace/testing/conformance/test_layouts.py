"""The order of elements in memory: permuted, stretched, stepped over, packed, absent.

Tensors lie in row-major order at multiples of the allocator's alignment, side by side with others.
Kernels run here on buffers with known bytes around them; copies, which know no elements, begin and
end at any byte.
"""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest

from headrace.tensor_spec import Array, TensorSpec
from headrace.testing.case import Case
from headrace.testing.fenced import Fence, run_fenced
from headrace.testing.opened import OpenedDevice
from headrace.testing.run import call_of, compare

pytestmark = pytest.mark.conformance("layouts")

RANKS = range(9)
DIMS = (2, 3, 1, 4, 2, 3, 2, 2)
LENGTHS = (*range(1, 18), 31, 32, 33, 63, 64, 65, 127, 129)
OFFSETS = (1, 3, 7, 29)


def check(opened: OpenedDevice, *cases: Case) -> None:
    """Hold that the device's kernels agree with the oracle, and keep to their memory."""
    known = [case for case in cases if opened.backend.kernels.select(call_of(case))]
    if not known:
        pytest.skip(f"device {opened.backend.tag!r} has no kernel for {cases[0].op}")
    for case in known:
        compare(case, run_fenced(opened, case), f"on {opened.backend.tag}")


def numbered(shape: tuple[int, ...], dtype: str = "float32") -> Array:
    """Elements that differ, as far as the dtype can tell them apart."""
    return (np.arange(math.prod(shape)) % 251).astype(dtype).reshape(shape)


def some_permutations(rank: int) -> list[tuple[int, ...]]:
    """All of them up to rank 4; then the reversal, each rotation, and some that are neither."""
    if rank <= 4:
        return list(permutations(range(rank)))
    axes = tuple(range(rank))
    random = np.random.default_rng(rank)
    rotations = [axes[k:] + axes[:k] for k in range(1, rank)]
    return [axes[::-1], *rotations, *(tuple(random.permutation(rank).tolist()) for _ in range(8))]


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
@pytest.mark.parametrize("rank", RANKS)
def test_axes_are_permuted(opened: OpenedDevice, rank: int, dtype: str) -> None:
    """Of every rank up to eight, with elements of one, two, four and eight bytes."""
    x = numbered(DIMS[:rank], dtype)
    check(
        opened,
        *(
            Case("".join(map(str, perm)), "transpose", (x,), {"perm": perm})
            for perm in some_permutations(rank)
        ),
    )


@pytest.mark.parametrize("rank", range(1, 7))
def test_slices_step_over_elements(opened: OpenedDevice, rank: int) -> None:
    """Forwards and backwards, along several axes at once."""
    x, random = numbered((5, 4, 3, 2, 3, 2)[:rank]), np.random.default_rng(rank)
    cases = []
    for number in range(8):
        steps = random.choice([-3, -2, -1, 1, 2, 3], rank)
        first, last = random.integers(0, 2, rank), random.integers(3, 6, rank)
        forwards = steps > 0
        bounds = (np.where(forwards, first, last), np.where(forwards, last, first))
        starts, ends = (tuple(bound.tolist()) for bound in bounds)
        attrs = {"starts": starts, "ends": ends, "steps": tuple(steps.tolist())}
        cases.append(Case(f"{number}", "slice", (x,), {**attrs, "axes": tuple(range(rank))}))
    check(opened, *cases)


def test_axes_are_stretched(opened: OpenedDevice) -> None:
    """Each input along every choice of axes, so that no input is read as if it were whole."""
    dims = (2, 3, 4)
    masks = list(product((False, True), repeat=3))
    cases = []
    for a, b in product(masks, masks):
        shapes = [
            tuple(1 if one else dim for one, dim in zip(mask, dims, strict=True)) for mask in (a, b)
        ]
        inputs = (numbered(shapes[0]), 100 + numbered(shapes[1]) * 7)
        cases.append(Case(f"{shapes[0]}-{shapes[1]}", "add", inputs))
    check(opened, *cases)


@pytest.mark.parametrize("op", ["add", "subtract", "multiply", "relu", "identity", "cast"])
def test_a_kernel_keeps_to_its_output(opened: OpenedDevice, op: str) -> None:
    """At lengths around those of vectors and cache lines, not a byte beside it is written."""
    cases = []
    for length in LENGTHS:
        x = numbered((length,)) - 40
        inputs = (x, x[::-1].copy()) if op in ("add", "subtract", "multiply") else (x,)
        attrs = {"dtype": "int16"} if op == "cast" else {}
        cases.append(Case(f"{length}", op, inputs, attrs))
    check(opened, *cases)


def test_tensors_lie_side_by_side(opened: OpenedDevice) -> None:
    """Five results in one chunk, one right behind the other, as a plan places them."""
    sizes, step = (1, 5, 300, 17, 2), opened.backend.allocator.alignment_bytes
    starts, total = [], 0
    for size in sizes:
        starts.append(total)
        total += -(-size * 4 // step) * step
    chunk, context = opened.allocate(total), opened.compute()
    buffers = [chunk.view(start, 4 * n) for start, n in zip(starts, sizes, strict=True)]
    if not opened.backend.kernels.entries("add"):
        pytest.skip(f"device {opened.backend.tag!r} has no kernel for add")
    arrays = [numbered((size,)) + size for size in sizes]
    # The last one first: a write that reaches over the end would be over what is there already.
    for buffer, array in reversed(list(zip(buffers, arrays, strict=True))):
        spec = TensorSpec.of(array)
        inputs = [(spec, opened.upload(array)), (spec, opened.upload(array))]
        opened.bind(context, "add", inputs, [buffer])()
    context.synchronize()
    for buffer, array in zip(buffers, arrays, strict=True):
        result = opened.download(buffer, TensorSpec.of(array))
        assert np.array_equal(result, array + array)


@pytest.mark.parametrize("op", ["add", "relu", "identity", "transpose", "reshape", "concat"])
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2, 4), (1, 0, 0, 5)], ids=str)
def test_what_has_no_elements_is_computed(
    opened: OpenedDevice, op: str, shape: tuple[int, ...]
) -> None:
    """Nothing is written, and nothing fails."""
    x = np.empty(shape, np.float32)
    inputs = (x, x) if op in ("add", "concat") else (x,)
    attrs: dict[str, object] = {}
    if op == "concat":
        attrs["axis"] = 0
    if op == "reshape":
        attrs["shape"] = shape[::-1]
    check(opened, Case("empty", op, inputs, attrs))


@pytest.mark.parametrize(
    ("op", "shapes", "attrs"),
    [
        ("add", [(), ()], {}),
        ("add", [(), (2, 3)], {}),
        ("relu", [()], {}),
        ("transpose", [()], {"perm": ()}),
        ("reshape", [()], {"shape": (1, 1)}),
        ("reshape", [(1, 1)], {"shape": ()}),
        ("expand", [()], {"shape": (2, 3)}),
        ("reduce_sum", [(2, 3)], {"axes": (0, 1), "keep_dims": False}),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else None,
)
def test_a_tensor_of_rank_0_is_one_element(
    opened: OpenedDevice, op: str, shapes: list[tuple[int, ...]], attrs: dict[str, object]
) -> None:
    """It is neither nothing nor a line."""
    check(opened, Case("scalar", op, tuple(numbered(shape) + 1 for shape in shapes), attrs))


@pytest.mark.parametrize("nbytes", [0, 1, 13, 4097])
@pytest.mark.parametrize("offset", OFFSETS)
def test_copies_begin_at_any_byte(opened: OpenedDevice, offset: int, nbytes: int) -> None:
    """Into, within and out of the device, at odd places on both sides; the bytes beside stay."""
    data = np.random.default_rng(nbytes + offset).integers(0, 256, nbytes, np.uint8)
    empty, context = np.zeros_like(data), opened.compute()
    first, second = Fence(opened, empty, offset), Fence(opened, empty, 2 * offset + 3)
    context.copy_h2d(first.buffer, opened.host_copy(data))
    context.copy_d2d(second.buffer, first.buffer)
    back = opened.host(nbytes + 2 * offset)
    context.copy_d2h(back.view(offset, nbytes), second.buffer)
    context.synchronize()
    assert np.array_equal(first.read(), data)
    assert np.array_equal(second.read(), data)
    assert np.array_equal(back.memory[offset : offset + nbytes], data)
    assert not back.memory[:offset].any()
    assert not back.memory[offset + nbytes :].any()


def test_a_view_of_a_view_is_copied(opened: OpenedDevice) -> None:
    """Offsets add up, also where the views begin between two elements."""
    data, context = numbered((200,), "uint8"), opened.compute()
    source, destination = opened.upload(data), opened.upload(np.zeros(200, np.uint8))
    context.copy_d2d(
        destination.view(11, 100).view(5, 60).view(3, 7),
        source.view(1, 150).view(30, 50).view(2, 7),
    )
    context.synchronize()
    result = opened.download(destination, TensorSpec((200,), "uint8"))
    wanted = np.zeros(200, np.uint8)
    wanted[19:26] = data[33:40]
    assert np.array_equal(result, wanted)
