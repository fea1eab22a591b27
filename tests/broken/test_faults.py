"""A broken backend costs nobody else anything, whichever way it is broken."""

from __future__ import annotations

import os

import pytest

from headrace.testing.faults import FAULTS, Fault, inject

DEVICE = os.environ.get("TAG", "cpu")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_nobody_is_harmed(fault: Fault) -> None:
    """A job elsewhere is right, the error says what is wrong, doctor names the culprit."""
    assert inject(fault, DEVICE).complaints == ()


def test_a_device_that_works_is_no_fault() -> None:
    """The injection can fail: a backend without a fault draws complaints, a broken job as well."""
    good = next(fault for fault in FAULTS if fault.name == "raises-at-import")
    working = Fault("works", source=good.source.split("\n", 1)[1], state=good.state,
                    phase=good.phase, cause=good.cause)  # fmt: skip
    assert inject(working, DEVICE).complaints
    assert "ended with" in inject(good, "nosuch").complaints[0]


def test_names_are_unique() -> None:
    """They are what people type, and what the test environments are called."""
    names = [fault.name for fault in FAULTS]
    assert len(set(names)) == len(names) >= 16
