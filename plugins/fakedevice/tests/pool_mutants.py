"""Bugs planted in what keeps memory for the next job; as in ``runtime_mutants.py``."""

from __future__ import annotations

from typing import Any

from runtime_mutants import Patches

from headrace.memory_case import MemoryCase
from headrace.runtime import memories
from headrace.runtime.blocks import Block, BlockPool, Part
from headrace.runtime.memories import Memories
from headrace.runtime.resources import Resources


def handed_on_too_early() -> Patches:
    """A job gives its memory back while its streams still have work"""

    def close(self: Any) -> None:
        self._allocated.give_back()
        original(self)

    original = Resources.close
    return [(Resources, "close", close)]


def kept_and_given() -> Patches:
    """Memory that somebody has taken is still listed as idle"""
    original = BlockPool.find

    def find(self: Any, nbytes: int) -> Part | None:
        part = original(self, nbytes)
        if part is not None:
            part.is_idle = True
        return part

    return [(BlockPool, "find", find)]


def used_neighbours_are_united() -> Patches:
    """What becomes idle grows together with the part behind it, also with one that is used"""
    original = BlockPool.give

    def give(self: Any, part: Part, *, spoilt: bool = False) -> None:
        parts = part.block.parts
        behind = parts[parts.index(part) + 1 : parts.index(part) + 2]
        original(self, part, spoilt=spoilt)
        for one in behind:
            if one in parts:
                part.nbytes += one.nbytes
                parts.remove(one)

    return [(BlockPool, "give", give)]


def dropped_when_released() -> Patches:
    """What is kept is forgotten when it should be given back to its plugin"""
    return [(memories, "_free", lambda blocks: None)]


def refused_though_kept() -> Patches:
    """Memory is refused to a job while more than that is kept for nobody"""

    def release(self: Any, is_meant: object) -> int:
        return 0

    def of_device(self: Any, tag: str | None = None, index: int = 0) -> int:
        def is_meant(case: MemoryCase) -> bool:
            return tag is None or (case.pinned_for or case.tag, case.device_index) == (tag, index)

        with self.allocating:
            blocks: list[Block] = []
            for case, memory in self._memories.items():
                blocks += memory.pool.drain() if is_meant(case) else []
            memories._free(blocks)
        return sum(block.nbytes for block in blocks)

    return [(Memories, "_release", release), (Memories, "release", of_device)]
