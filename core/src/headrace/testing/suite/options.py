"""Options of the pytest plugin, and the refusal of those that cannot be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import PlacementError
from headrace.placement import Placement
from headrace.testing.suite import report

NEED_A_DEVICE = ("--if-present", "--complete", "--min-ran", "--report")
"""Options that say something of a device, and nothing when there is none."""


def add_options(parser: pytest.Parser) -> None:
    """Add the options of the suite."""
    group = parser.getgroup("headrace")
    group.addoption(
        "--device",
        metavar="TAG[:INDEX]",
        help="run on this device and fail if it cannot be used; without it, tests that need a "
        "device skip",
    )
    group.addoption(
        "--if-present",
        action="store_true",
        help="skip the run where the device's backend finds no hardware, instead of failing",
    )
    group.addoption(
        "--complete",
        action="store_true",
        help="the device must run every case: one that it has no kernels for fails, not skips",
    )
    group.addoption(
        "--tags",
        metavar="TAG,...",
        help="only tests with one of these tags; * and ? are those of file names",
    )
    group.addoption(
        "--list-tags", action="store_true", help="print the tags and how many tests each has"
    )
    group.addoption(
        "--min-ran",
        metavar="N|P%",
        help="fail when fewer tests ran on the device than that, or a smaller share of them",
    )
    group.addoption("--report", metavar="FILE.json", help="write what came of each test")


def check_options(config: pytest.Config) -> None:
    """Refuse what cannot be right, before anything is collected.

    Raises:
        pytest.UsageError: says which option, and why.
    """
    try:
        place = asked_device(config)
    except PlacementError as error:
        raise pytest.UsageError(f"--device: {error}") from None
    given = [option for option in NEED_A_DEVICE if config.getoption(option)]
    if given and place is None:
        raise pytest.UsageError(f"{given[0]} speaks of a device: give --device TAG too")
    floor = config.getoption("--min-ran")
    try:
        report.floor_missed((), floor or "0")
    except ValueError as error:
        raise pytest.UsageError(f"--min-ran: {error}") from None
    file = config.getoption("--report")
    if file and (not Path(file).absolute().parent.is_dir() or Path(file).is_dir()):
        raise pytest.UsageError(f"--report {file!r} is no file in a folder that exists")
    if config.getoption("--tags") is not None and not asked_tags(config):
        raise pytest.UsageError("--tags names no tag; --list-tags prints those there are")


def asked_device(config: pytest.Config) -> Placement | None:
    """The device under test.

    Raises:
        PlacementError: the text is no device.
    """
    text = config.getoption("--device")
    return None if text is None else Placement.of_device(text)


def asked_tags(config: pytest.Config) -> list[str]:
    """The patterns of ``--tags``."""
    words = (config.getoption("--tags") or "").split(",")
    return [word.strip() for word in words if word.strip()]
