"""Errors in other processes: what a worker raises is what its parent gets."""

from __future__ import annotations

import copy
import inspect
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from onnx_models import IDENTITY
from toy_backends import near

import headrace as flow
from headrace import errors
from headrace.errors import (
    DeviceUnavailableError,
    HeadraceError,
    LaunchError,
    Reason,
    RunError,
    SessionError,
    SettingError,
)
from headrace.numpy_ops import FUNCTIONS
from headrace.registry.registry import BackendRegistry

_MADE: dict[type[HeadraceError], HeadraceError] = {
    DeviceUnavailableError: DeviceUnavailableError(
        "no", tag="toy", reason=Reason.NO_HARDWARE, hint="plug it in"
    ),
    LaunchError: LaunchError(3),
    RunError: RunError("stopped", op="relu_0", device="toy:0", transitions=("ready",)),
    SettingError: SettingError("HEADRACE_VERIFY", "maybe", "0 or 1"),
}
_KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, HeadraceError)
]


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_is_pickled_with_all_that_it_says(
    kind: type[HeadraceError], protocol: int
) -> None:
    """Of every class: its message, attributes and notes, by every protocol, and when copied."""
    error = _MADE.get(kind) or kind("a message")
    error.add_note("a note")
    for again in (pickle.loads(pickle.dumps(error, protocol)), copy.deepcopy(error)):
        assert type(again) is kind
        assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


def test_a_worker_process_that_finds_no_device_says_so() -> None:
    """It comes from a pool as what it is, and the pool goes on."""
    model = IDENTITY.SerializeToString()
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        for _ in range(2):
            with pytest.raises(DeviceUnavailableError, match="nowhere") as caught:
                pool.submit(flow.onnx.load, model, "nowhere").result()
            assert (caught.value.tag, caught.value.reason) == ("nowhere", Reason.NOT_INSTALLED)


def test_what_holds_a_device_is_neither_pickled_nor_copied() -> None:
    """A model and a session say so, and work as before."""
    registry = BackendRegistry.from_modules({"near": near(tuple(FUNCTIONS))})
    x = np.ones((2, 3), np.float32)
    with flow.onnx.load(IDENTITY, "near", registry=registry) as model:
        for made in (model, flow.Session()):
            for way in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(SessionError, match=f"a {type(made).__name__} .* of its own"):
                    way(made)
        np.testing.assert_array_equal(model.run({"x": x})["y"], x)
