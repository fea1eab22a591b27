"""What the scripts can measure; anything else ends them with one line that says why."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from pathlib import Path


def at_least(least: int) -> Callable[[str], int]:
    """A type of ``argparse``: a whole number that is no smaller."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(
                f"{text!r} is no whole number from {least} on; give one"
            )
        return int(text)

    return number


positive = at_least(1)


def duration(text: str) -> float:
    """A type of ``argparse``: seconds, more than none."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no time in seconds; give one above 0")
    return seconds


def positives(text: str) -> list[int]:
    """A type of ``argparse``: numbers from 1 on, with commas between them."""
    return [positive(part) for part in text.split(",")]


def model_file(text: str) -> Path:
    """A type of ``argparse``: a file that is there."""
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text!r}")
    return Path(text)


def named_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """A type of ``argparse``: an input and its shape, ``INPUT=1,3,224,224``."""
    name, equals, dims = text.rpartition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} shapes no input; give INPUT=1,3,224,224")
    return name, tuple(positives(dims))


def check_devices(parser: argparse.ArgumentParser, devices: Iterable[str]) -> None:
    """End the script, with why, unless each of ``devices`` can be used.

    No type of ``argparse``: it loads backends, which a process whose start is measured must not.
    """
    from headrace.errors import HeadraceError
    from headrace.placement import Placement
    from headrace.registry import default_registry

    for device in devices:
        try:
            place = Placement.of_devices(device)
            for _, index in place.devices:
                default_registry().check_index(place.tag, index)
        except HeadraceError as error:
            parser.error(f"--device: {error}")
