"""``check_case`` with a plugin's own op: what it should give is what it decomposes into."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from plugin_ops import AddRelu, add_relu, hello

from headrace.device import KernelEntry, dtypes
from headrace.errors import OpError
from headrace.graph import OpEntry
from headrace.numpy_ops import NumpyKernel
from headrace.registry import BackendRegistry
from headrace.testing import Case, check_case

X = np.array([1, -2, 3], np.float32)
DOUBLED = Case("doubled", "hello.add_relu", (X, X), {"gain": 2.0})


class Opaque(AddRelu):
    """An op that nothing says more simply."""

    name = "hello.opaque"

    @classmethod
    def decompose(cls, call: Any, inputs: Any, builder: Any) -> None:
        return None


def registry_of(*kernels: KernelEntry) -> BackendRegistry:
    ops = [OpEntry("hello", AddRelu, add_relu), OpEntry("hello", Opaque, add_relu)]
    return BackendRegistry.from_modules({"hello": hello(ops=ops, kernels=kernels)})


def wrong(call: Any, inputs: Any, outputs: Any) -> None:
    """Forgets the gain."""
    outputs[0][...] = np.maximum(inputs[0] + inputs[1], 0)


def test_a_right_kernel_passes() -> None:
    """The kernel of the plugin, against the oracles of add, relu and multiply."""
    check_case("hello", DOUBLED, registry_of())


def test_a_wrong_kernel_is_told() -> None:
    """A kernel that is not what the op decomposes into fails, with the element and both values."""
    entry = KernelEntry(
        "hello",
        "hello.add_relu",
        partial(NumpyKernel, function=wrong),
        match=dtypes("float32"),
        priority=1,
    )
    with pytest.raises(AssertionError, match=r"2 of 3 elements .*\[2\].*6\.0.*12\.0"):
        check_case("hello", DOUBLED, registry_of(entry))


def test_an_op_that_does_not_decompose_needs_a_reference() -> None:
    """Without one nothing can be said; with one both right and wrong results are told apart."""
    registry = registry_of(
        KernelEntry("hello", "hello.opaque", partial(NumpyKernel, function=add_relu))
    )
    with pytest.raises(OpError, match=r"hello\.opaque.*no decompose; give the case a reference"):
        check_case("hello", Case("bare", "hello.opaque", (X, X)), registry)

    def scaled(a: Any, b: Any, *, gain: float) -> Any:
        return np.where(a + b > 0, (a + b) * np.float32(gain), np.float32(0))

    right = Case("right", "hello.opaque", (X, X), {"gain": 3.0}, reference=scaled)
    check_case("hello", right, registry)
    off = Case("off", "hello.opaque", (X, X), reference=lambda a, b, gain: a)
    with pytest.raises(AssertionError, match="elements differ"):
        check_case("hello", off, registry)
