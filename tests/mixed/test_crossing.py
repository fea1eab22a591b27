"""Jobs that cross devices and backends, with every backend of this repository installed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import headrace as flow
import headrace.typing as tp
from headrace.registry.registry import default_registry

DEVICES = (("cpu", "0:0"), ("fakedevice", "0:0"), ("fakedevice", "0:1"))
X = np.linspace(-3, 3, 48, dtype=np.float32).reshape(2, 2, 3, 4)


@pytest.mark.parametrize("places", list(itertools.product(DEVICES, repeat=3)), ids=str)
def test_a_job_gives_one_answer_on_any_mix_of_devices(places: tuple[tuple[str, str], ...]) -> None:
    """Three ops over all triples of devices, two calls each, equal numpy."""
    first, second, third = places
    with flow.Session() as session:

        @flow.global_function(session=session)
        def job(x: tp.Numpy.Placeholder(X.shape)) -> tp.Tuple[tp.Numpy, tp.Numpy]:
            with flow.scope.placement(*first):
                a = flow.reflection_pad2d(x, padding=1)
            with flow.scope.placement(*second):
                b = flow.relu(a) + np.float32(1)
            with flow.scope.placement(*third):
                return b * a, b

        for x in (X, X * 2):
            padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="reflect")
            left, right = job(x)
            np.testing.assert_array_equal(right, np.maximum(padded, 0) + 1)
            np.testing.assert_array_equal(left, (np.maximum(padded, 0) + 1) * padded)


def test_each_tag_belongs_to_one_distribution() -> None:
    """Nothing shadows anything: every record is found once, and ready when asked for."""
    registry = default_registry()
    tags = [record.tag for record in registry.records()]
    assert sorted(tags) == sorted(set(tags))
    for tag in ("cpu", "fakedevice"):
        assert registry.backend(tag).distribution == f"headrace-{tag}"
