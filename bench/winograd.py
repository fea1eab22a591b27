"""When Winograd's convolutions pay: the table of ``headrace_cpu.kernels.winograd``.

    python bench/winograd.py [--threads 1]

For images of many sizes and channels, the fastest of several runs of each way to convolve, in
turns; then, for each number of channels, from how many tiles of 4x4 outputs on 2x2 and 4x4 tiles
are a fifth faster than each way whose weights take less memory.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
from arguments import positive
from turns import seconds

import headrace_cpu
from headrace_cpu import _native
from headrace_cpu.ops.places import PANEL, panel_count

CHANNELS = (4, 8, 16, 32, 64, 128, 256, 512)
SIZES = (4, 8, 12, 16, 20, 28, 56)
ROUNDS = 12
GAIN = 0.8
"""Larger tiles have larger weights, so what they save must be more than a fifth."""


def main() -> None:
    """Print a line for each shape, and the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=positive, default=1)
    headrace_cpu.set_threads(parser.parse_args().threads)
    table = []
    for channels in CHANNELS:
        best = {}
        for size in SIZES:
            if size * size * channels * channels > 40_000_000:
                continue
            times = measured(size, channels)
            best[math.ceil(size / 4) ** 2] = times
            shown = "  ".join(f"{name} {seconds * 1e6:8.1f} us" for name, seconds in times.items())
            print(f"{size:3} x {size:3} x {channels:3}:  {shown}")
        two = begin(best, lambda t: min(t["2x2"], t["4x4"]) < GAIN * t["taps"])
        four = begin(best, lambda t: t["4x4"] < GAIN * min(t["taps"], t["2x2"]))
        table.append((channels, two, four))
    for line in table:
        print(line)


def begin(best: dict[int, dict[str, float]], pays: Callable[[dict[str, float]], bool]) -> float:
    """The number of tiles from which on it always pays."""
    result = math.inf
    for tiles in sorted(best, reverse=True):
        if not pays(best[tiles]):
            break
        result = tiles
    return result


def measured(size: int, channels: int) -> dict[str, float]:
    """Seconds of each way, for an image of ``size`` x ``size`` and as many outputs as channels."""
    random = np.random.default_rng(0)
    x = random.standard_normal((1, size, size, channels), np.float32)
    weight = random.standard_normal((channels, 3, 3, channels), np.float32)
    y = np.zeros_like(x)
    panels = np.zeros((panel_count(channels), 9 * channels, PANEL), np.float32)
    _native.pack(weight.reshape(channels, -1), panels, 1, True)()
    pads = (1, 1)
    window = _native.Window((3, 3), (1, 1), (1, 1), pads)
    launches = {"taps": _native.conv(x, panels, y, window, 1)}
    for tile in (2, 4):
        packed = packed_for(weight, tile)
        launches[f"{tile}x{tile}"] = _native.winograd_conv(x, packed, y, tile, pads)
    best = dict.fromkeys(launches, math.inf)
    for _ in range(ROUNDS):
        for name, launch in launches.items():
            best[name] = min(best[name], seconds(launch))
    return best


def packed_for(weight: np.ndarray, tile: int) -> np.ndarray:
    """Transformed weights in panels."""
    outputs, channels = weight.shape[0], weight.shape[3]
    panels = np.empty(((tile + 2) ** 2, panel_count(outputs), channels, PANEL), np.float32)
    _native.winograd_pack(weight, panels, tile)()
    return panels


if __name__ == "__main__":
    main()
