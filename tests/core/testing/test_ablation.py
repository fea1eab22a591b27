"""Nothing of a backend can be missing in silence: one removal after the other."""

from __future__ import annotations

from typing import Any

import pytest
from toy_backends import far, near

from headrace.testing.ablation import Removal, ablate, removals

PLUGINS: dict[str, Any] = {"near": near(), "far": far()}


@pytest.mark.parametrize(
    ("tag", "removal"),
    [(tag, removal) for tag, plugin in PLUGINS.items() for removal in removals(plugin)],
    ids=str,
)
def test_a_removal_misleads_nobody(tag: str, removal: Removal) -> None:
    """An error that names what is missing, or the default and right numbers."""
    result = ablate(tag, PLUGINS[tag], removal)
    assert result.is_sound, result


@pytest.mark.parametrize(
    ("removal", "outcome"),
    [
        (Removal("headrace_kernels", "left out"), "refused"),
        (Removal("headrace_device_contexts", "left out"), "refused"),
        (Removal("DeviceContext.synchronize", "left out"), "refused"),
        (Removal("DeviceContext.host_synchronous", "left out"), "refused"),
        (Removal("DeviceContext.wait_event", "left out"), "same"),
        (Removal("Event.synchronize", "left out"), "refused"),
        (Removal("Buffer.view", "left out"), "refused"),
        (Removal("Device.close", "absent"), "refused"),
    ],
    ids=str,
)
def test_what_comes_of_a_removal(removal: Removal, outcome: str) -> None:
    """Of a device with late streams and memory of its own: required things are refused."""
    assert ablate("far", PLUGINS["far"], removal).outcome == outcome


def test_a_device_that_computes_nothing_is_found() -> None:
    """The programs can fail: numbers are compared, not only errors counted."""
    from toy_backends import FarKernel

    class Idle(FarKernel):
        def enqueue(self, context: Any, work: Any) -> Any:
            return lambda: None

    result = ablate("far", far(kernel=Idle), Removal("nothing", "left out"))
    assert result.outcome == "wrong"
