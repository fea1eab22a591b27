"""Views: one tensor over its devices, or one on each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from toy_backends import near

import headrace as flow
import headrace.typing as tp
from headrace.errors import InputError, JobError, SbpError
from headrace.registry import BackendRegistry

OPS = ("add", "relu", "matmul", "slice", "concat", "softmax", "reduce_sum", "identity", "add_n")
X = np.arange(-12, 12, dtype=np.float32).reshape(4, 6)
Matrix = tp.Numpy.Placeholder((4, 6))
Halves = tp.ListNumpy.Placeholder((2, 6))


@pytest.fixture
def registry() -> BackendRegistry:
    return BackendRegistry.from_modules({"near": near(OPS)})


def on_two(session: flow.Session, *, mirrored: bool = False) -> Callable[..., Any]:
    """``global_function`` over two devices."""
    config = flow.FunctionConfig()
    config.default_placement_scope(flow.scope.placement("near", ["0:0", "0:1"]))
    if mirrored:
        config.default_logical_view(flow.scope.mirrored_view())
    return flow.global_function(function_config=config, session=session)


def test_each_device_is_given_all_of_a_tensor(session: flow.Session) -> None:
    """And computes the same, so that the sum of both is twice that."""

    @on_two(session)
    def job(x: Matrix) -> tp.Tuple[tp.ListNumpy, tp.Numpy]:
        with flow.scope.mirrored_view():
            y = flow.relu(x)
        assert y.shape == (4, 6)
        return y, flow.add_n(y.parts)

    both, total = job(X)
    want = np.maximum(X, 0)
    assert [each.tolist() for each in both] == [want.tolist()] * 2
    assert total.tolist() == (2 * want).tolist()


def test_each_device_is_given_its_part_of_a_split_tensor(session: flow.Session) -> None:
    """A softmax over the split axis is then of each part by itself: devices know of no other."""

    @on_two(session, mirrored=True)
    def job(x: Matrix) -> tp.ListNumpy:
        return flow.softmax(x.with_distribute(flow.distribute.split(1)), axis=1)

    for got, half in zip(job(X), np.split(X, 2, axis=1), strict=True):
        power = np.exp(half - half.max(axis=1, keepdims=True))
        np.testing.assert_allclose(got, power / power.sum(axis=1, keepdims=True), rtol=1e-5)


def test_lists_are_fed_and_returned(session: flow.Session) -> None:
    """An array for each device; a weight is on both, and the sum of gradients is one tensor."""
    w = np.ones((6, 3), np.float32)

    @on_two(session, mirrored=True)
    def job(x: Halves) -> tp.Tuple[tp.ListNumpy, tp.Numpy]:
        y = flow.matmul(x, w)
        z = flow.apply_op("reduce_sum", [y + 1], axes=(0,), name="sum")
        with flow.scope.consistent_view():
            return y, flow.add_n(z.parts) + 0

    parts, total = job([X[:2], X[2:]])
    assert [part.tolist() for part in parts] == [(X[:2] @ w).tolist(), (X[2:] @ w).tolist()]
    np.testing.assert_allclose(total, (X @ w + 1).sum(axis=0))
    names = {task.name for task in session.plan().tasks}
    assert {"sum_0", "sum_1"} <= names


def test_ops_are_on_their_own_devices(session: flow.Session) -> None:
    """The part of device 1 is computed there, from beginning to end."""

    @on_two(session, mirrored=True)
    def job(x: Halves) -> tp.ListNumpy:
        return flow.relu(x + 1)

    job([X[:2], X[2:]])
    at = [op.device for op in session.explain("job").ops if op.op.startswith(("add", "relu"))]
    assert at == ["near:0", "near:1", "near:0", "near:1"]


def test_mirrored_and_consistent_are_not_mixed(session: flow.Session) -> None:
    """In the consistent view a mirrored tensor is none; the error says how to make one."""

    @on_two(session)
    def mixed(x: Matrix) -> tp.Numpy:
        with flow.scope.mirrored_view():
            y = flow.relu(x)
        return x + y

    @on_two(session)
    def returned(x: Matrix) -> tp.Numpy:
        with flow.scope.mirrored_view():
            return flow.relu(x)

    @on_two(session)
    def hinted(x: Halves) -> tp.ListNumpy:
        return x.with_distribute("B")

    with pytest.raises(JobError, match=r"add \(test_views.py:\d+\) is applied in the consistent"):
        mixed(X)
    with pytest.raises(JobError, match=r"annotated as tp.Numpy, and .* returned MirroredSymbol"):
        returned(X)
    with pytest.raises(JobError, match="is mirrored, and is wanted here as one tensor"):
        hinted([X[:2], X[2:]])


@pytest.mark.parametrize(
    ("distribute", "why"),
    [
        ("P", "its parts are terms, of which no device has what the tensor is"),
        ("S(0),B", "a mirrored tensor lies over one axis of devices"),
    ],
)
def test_what_has_no_part_for_each_device_is_refused(
    session: flow.Session, distribute: str, why: str
) -> None:
    """With op, tensor and placement."""

    @on_two(session)
    def job(x: Matrix) -> tp.ListNumpy:
        with flow.scope.mirrored_view():
            return flow.relu(x.with_distribute(distribute))

    with pytest.raises(
        SbpError, match=rf"relu runs mirrored on 'near 0:0-1' and reads .*'?x.*{why}"
    ):
        job(X)


def test_a_split_that_is_not_even_is_refused(session: flow.Session) -> None:
    """Parts of a mirrored tensor are alike."""

    @on_two(session)
    def job(x: tp.Numpy.Placeholder((3, 2))) -> tp.ListNumpy:
        with flow.scope.mirrored_view():
            return flow.relu(x.with_distribute("S(0)"))

    with pytest.raises(SbpError, match="its axis 0 does not divide by 2"):
        job(np.zeros((3, 2), np.float32))


@pytest.mark.parametrize("given", [X[:2], [X[:2]], [X[:2]] * 3])
def test_a_list_must_have_an_array_for_each_device(session: flow.Session, given: object) -> None:
    """Not one, nor three, nor an array that is no list."""

    @on_two(session, mirrored=True)
    def job(x: Halves) -> tp.ListNumpy:
        return flow.relu(x)

    with pytest.raises(InputError, match="'x' must be a list with an array for each of 2 devices"):
        job(given)


def test_another_number_of_devices_is_refused(session: flow.Session) -> None:
    """What lies on two devices is no input of an op on one."""

    @on_two(session, mirrored=True)
    def job(x: Halves) -> tp.ListNumpy:
        with flow.scope.placement("near", "0:0"):
            return flow.relu(x)

    with pytest.raises(JobError, match="relu runs mirrored on 'near 0:0', 1 devices, and reads"):
        job([X[:2], X[2:]])
