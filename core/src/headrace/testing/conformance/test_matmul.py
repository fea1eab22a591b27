"""Products of matrices, on a device."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.dtypes import FLOATS, NUMBERS
from headrace.tensor_spec import Array
from headrace.testing.case import Case
from headrace.testing.run import check_case

_RANDOM = np.random.default_rng(7)


def _filled(shape: tuple[int, ...]) -> Array:
    return _RANDOM.standard_normal(shape).astype(np.float32)


_SHAPES = tuple(
    Case(id, "matmul", (_filled(a), _filled(b)))
    for id, a, b in (
        ("matrices", (3, 4), (4, 5)),
        ("one-by-one", (1, 1), (1, 1)),
        ("row-by-matrix", (1, 7), (7, 3)),
        ("vectors", (6,), (6,)),
        ("vector-by-matrix", (4,), (4, 5)),
        ("matrix-by-vector", (3, 4), (4,)),
        ("batch", (2, 3, 4), (2, 4, 5)),
        ("batch-by-matrix", (2, 3, 4), (4, 5)),
        ("matrix-by-batch", (3, 4), (2, 4, 5)),
        ("batch-by-vector", (2, 3, 4), (4,)),
        ("vector-by-batch", (4,), (2, 4, 5)),
        ("batches-broadcast", (2, 1, 3, 4), (5, 4, 2)),
        ("batches-both-ways", (1, 3, 2, 4), (2, 1, 4, 2)),
        ("nothing-summed", (2, 0), (0, 3)),
        ("no-rows", (0, 4), (4, 3)),
        ("no-batch", (0, 2, 3), (3, 2)),
        ("odd-sizes", (17, 33), (33, 19)),
        ("long", (2, 1000), (1000, 2)),
    )
)
_FLAGS = tuple(
    Case(f"{id}-{name}", "matmul", (_filled(a), _filled(b)), {"transpose_a": ta, "transpose_b": tb})
    for name, batch in (("matrices", ()), ("batch", (2,)))
    for id, ta, tb in (("a", True, False), ("b", False, True), ("both", True, True))
    for a, b in [((*batch, *((4, 3) if ta else (3, 4))), (*batch, *((5, 4) if tb else (4, 5))))]
)
_VECTOR_FLAGS = (
    Case("a-by-vector", "matmul", (_filled((4, 3)), _filled((4,))), {"transpose_a": True}),
    Case("vector-by-b", "matmul", (_filled((4,)), _filled((3, 4))), {"transpose_b": True}),
)
_DTYPES = tuple(
    Case(
        str(dtype),
        "matmul",
        (
            np.arange(12).reshape(3, 4).astype(dtype.numpy),
            (np.arange(8) * 9).reshape(4, 2).astype(dtype.numpy),
        ),
        {},
        rtol=2**-7 if dtype.itemsize == 2 and dtype in FLOATS else None,
    )
    for dtype in sorted(NUMBERS)
)
_WIDE = tuple(
    # 4096 terms of 1: a sum in float16 would stop at 2048, in bfloat16 at 256.
    Case(
        f"sums-in-float32-{dtype}",
        "matmul",
        (np.ones((1, 4096), dtype.numpy), np.ones((4096, 1), dtype.numpy)),
    )
    for dtype in sorted(FLOATS)
)

CASES: tuple[Case, ...] = (*_SHAPES, *_FLAGS, *_VECTOR_FLAGS, *_DTYPES, *_WIDE)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_matmul(device: str, case: Case) -> None:
    """Vectors, batches and transposed matrices multiply as numpy's matmul."""
    check_case(device, case)
