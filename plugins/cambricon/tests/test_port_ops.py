"""The op tests of the first port to these cards, at its shapes, attributes and tolerances.

They run in the era of the library that the process has; ``test_eras.py`` runs them in the others.
"""

from __future__ import annotations

import numpy as np
import pytest

from headrace.testing import Case, call_of, check_case
from headrace_cambricon.kernels.match import Takes
from headrace_cambricon.library import library

RANDOM = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, np.float32)


def conv(id: str, x: tuple[int, ...], stride: int, same: bool) -> Case:
    height = x[1]
    total = max((-(-height // stride) - 1) * stride + 3 - height, 0) if same else 0
    pads = (total // 2, total // 2, total - total // 2, total - total // 2)
    attrs = {"strides": (stride, stride), "pads": pads, "data_format": "channels_last"}
    return Case(id, "conv", (floats(*x), floats(1, 3, 3, x[-1])), attrs, rtol=1e-3, atol=1e-4)


def pool(id: str, op: str, channels: int, same: bool, **tolerance: float) -> Case:
    pads = (0, 0, 1, 1) if same else ()  # an even length, in strides of 2
    attrs = {"kernel": (3, 3), "strides": (2, 2), "pads": pads, "data_format": "channels_last"}
    return Case(id, op, (floats(1, 100, 100, channels),), attrs, **tolerance)


NORMS = (floats(1, 4, 1, 2), *(abs(floats(2)) for _ in range(4)))
CASES = [
    Case("relu", "relu", (floats(1, 224, 224, 3),), rtol=0, atol=0),
    Case("sigmoid", "sigmoid", (floats(1, 224, 224, 3),)),
    Case("softmax", "softmax", (floats(5, 3),), rtol=1e-3, atol=1e-4),
    Case("add_n", "add_n", tuple(floats(1, 100, 100, 32) for _ in range(10)), atol=1e-5),
    Case("bias_add", "bias_add", (floats(1, 1000), floats(1000)), {"axis": -1}),
    Case(
        "matmul",
        "matmul",
        (floats(1, 2048), floats(1000, 2048)),
        {"transpose_b": True},
        rtol=1e-3,
        atol=1e-3,
    ),
    *(
        conv(f"conv-{x[1]}-stride-{stride}-{'same' if same else 'valid'}", x, stride, same)
        for x, stride in (((1, 224, 224, 3), 2), ((3, 10, 10, 3), 1), ((3, 11, 11, 3), 1))
        for same in (True, False)
    ),
    pool("max-valid", "max_pool", 2, False),
    pool("avg-same", "avg_pool", 2, True, rtol=1e-3, atol=1e-5),
    pool("avg-valid", "avg_pool", 2, False, rtol=1e-3, atol=1e-5),
    pool("max-same", "max_pool", 5, True),
    Case("norm", "normalization", NORMS, {"axis": -1, "epsilon": 1e-4}, rtol=1e-2, atol=1e-2),
    Case("norm-defaults", "normalization", NORMS, {"axis": -1}, rtol=1e-2, atol=1e-2),
    Case(
        "instance-norm",
        "instance_norm",
        (floats(2, 512, 512, 3), floats(3), floats(3)),
        {"data_format": "channels_last"},
        atol=1e-4,
    ),
    Case("prelu", "prelu", (floats(1, 256, 256, 3), floats(1, 1, 3))),
    *(
        Case(f"transpose-{perm}", "transpose", (floats(10, 224, 224, 13),), {"perm": perm})
        for perm in ((2, 0, 1, 3), (1, 0, 2, 3), (3, 2, 1, 0), (3, 1, 2, 0))
    ),
    *(
        Case(f"concat-{axis}", "concat", (floats(10, 20, 30, 40),) * 2, {"axis": axis})
        for axis in range(4)
    ),
    Case(
        "upsample",
        "resize",
        (floats(1, 3, 3, 1),),
        {"sizes": (6, 6), "axes": (1, 2), "mode": "linear", "coordinates": "half_pixel"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_ports_own_tests(case: Case) -> None:
    """What it tested runs here, in every era, and agrees with an oracle in float64."""
    check_case("cambricon:0", case)


def test_what_a_release_has_not_is_refused_by_name() -> None:
    """A kernel whose function the library has not says which one."""
    absent = "cnnlReduce" if library().has("cnnlReduce_v2") else "cnnlReduce_v2"
    takes = Takes((), (absent,))
    assert str(takes) == f"any (but the library has no {absent})"
    assert not takes(call_of(CASES[0]))
