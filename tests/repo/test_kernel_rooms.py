"""The rooms of the CPU's kernels stand on each other as their map says, and in no circle."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

KERNELS = "plugins/cpu/csrc/kernels"
ROW = re.compile(r"^\| `(\w+)/` \|.*\| ([^|]*)\|$", re.MULTILINE)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def map_of_rooms(root: Path) -> dict[str, set[str]]:
    """Room -> the rooms that it may include, as the table of the README has them."""
    rows = ROW.findall((root / KERNELS / "README.md").read_text("utf-8"))
    return {room: {"machine", room, *re.findall(r"`(\w+)/`", on)} for room, on in rows}


def test_each_room_stands_on_those_that_the_map_names(root: Path) -> None:
    """A header of another room is included only if the map says so; all are named in full."""
    allowed = map_of_rooms(root)
    rooms = {path.name: path for path in (root / KERNELS).iterdir() if path.is_dir()}
    assert set(rooms) == set(allowed)
    used: dict[str, set[str]] = {room: {"machine", room} for room in rooms}
    for room, folder in rooms.items():
        for source in (*folder.glob("*.h"), *folder.glob("*.cpp")):
            for header in INCLUDE.findall(source.read_text("utf-8")):
                assert (root / "plugins/cpu/csrc" / header).is_file(), (source, header)
                assert header.startswith("kernels/"), f"{source} includes {header} of the bindings"
                used[room].add(header.split("/")[1])
    assert used == allowed


def test_no_room_stands_on_itself_by_way_of_others(root: Path) -> None:
    """What is below can be read without what is above."""
    graph = {room: on - {room} for room, on in map_of_rooms(root).items()}
    assert next(iter(TopologicalSorter(graph).static_order())) == "machine"
