"""How many products an op adds up, counted one by one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest

from headrace.op_call import OpCall
from headrace.ops import get_op, make_call
from headrace.tensor_spec import TensorSpec

Shape = tuple[int, ...]


def call_of(op: str, shapes: tuple[Shape, ...], attrs: Mapping[str, object]) -> OpCall:
    """A checked call on float32 of these shapes."""
    return make_call(get_op(op), op, [TensorSpec(shape, "float32") for shape in shapes], attrs)


def counted(shapes: tuple[Shape, ...], groups: int, transposed: bool) -> int:
    """Of a convolution without padding, by walking over what it multiplies."""
    (images, channels, *size), (first, second, *kernel) = shapes
    out = [s + k - 1 if transposed else s - k + 1 for s, k in zip(size, kernel, strict=True)]
    makes = second * groups if transposed else first
    walked = itertools.product(range(images), *map(range, size if transposed else out))
    a_place = (channels * makes // groups) * kernel[0] * kernel[1]
    return sum(a_place for _ in walked)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions(groups: int, transposed: bool) -> None:
    """Each output element reads its group; of a transposed one, each input element is spread."""
    x = (2, 4, 6, 5)
    weight = (4, 6 // groups, 3, 2) if transposed else (6, 4 // groups, 3, 2)
    op = "conv_transpose" if transposed else "conv"
    call = call_of(op, (x, weight), {"groups": groups})
    assert get_op(op).products(call) == counted((x, weight), groups, transposed)


@pytest.mark.parametrize(
    ("a", "b", "attrs", "products"),
    [
        ((3, 4), (4, 5), {}, 3 * 4 * 5),
        ((4, 3), (5, 4), {"transpose_a": True, "transpose_b": True}, 3 * 4 * 5),
        ((2, 1, 3, 4), (7, 4, 5), {}, 2 * 7 * 3 * 4 * 5),
        ((4,), (4, 5), {}, 4 * 5),
        ((4,), (4,), {}, 4),
        ((3, 0), (0, 5), {}, 0),
    ],
)
def test_products_of_matrices(
    a: Shape, b: Shape, attrs: Mapping[str, object], products: int
) -> None:
    """Rows times columns times what is summed, for each of the matrices."""
    assert get_op("matmul").products(call_of("matmul", (a, b), attrs)) == products


def test_what_is_read_element_by_element_has_none() -> None:
    """Its bytes say what it takes."""
    assert get_op("relu").products(call_of("relu", ((3, 4),), {})) == 0
