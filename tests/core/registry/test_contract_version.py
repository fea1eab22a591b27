"""Which versions of the contract with plugins are served."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.device import DeviceEntry
from headrace.errors import DeviceUnavailableError
from headrace.registry import BackendRegistry

Make = Callable[..., object]


@pytest.mark.parametrize(
    ("api_version", "state"),
    [
        ((1, 0), "ready"),
        ((1, 1), "ready"),
        ((1, 2), "ready"),
        ((1, 3), "ready"),
        ((1, 4), "ready"),
        ((1, 5), "ready"),
        ((1, 6), "incompatible"),
        ((0, 9), "incompatible"),
        ((2, 0), "incompatible"),
    ],
)
def test_the_contract_version_decides(
    make_plugin: Make, api_version: tuple[int, int], state: str
) -> None:
    """Same major, and no newer minor; the message names both versions."""
    entry = DeviceEntry("toy", api_version=api_version)
    registry = BackendRegistry.from_modules({"toy": make_plugin(headrace_devices=lambda: [entry])})
    if state == "ready":
        assert registry.backend("toy").device is entry
    else:
        named = ".".join(map(str, api_version))
        with pytest.raises(
            DeviceUnavailableError, match=rf"version {named} .* this headrace has 1\.5"
        ):
            registry.backend("toy")
    assert registry.records()[0].state == state


def test_an_older_minor_is_served(make_plugin: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a later minor added is filled with defaults."""
    monkeypatch.setattr("headrace.registry.check.API_VERSION", (1, 4))
    entry = DeviceEntry("toy", api_version=(1, 2))

    registry = BackendRegistry.from_modules({"toy": make_plugin(headrace_devices=lambda: [entry])})
    assert registry.backend("toy").device is entry
