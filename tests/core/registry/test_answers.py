"""What a plugin answers while a device is opened or a job compiled is checked then."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from toy_backends import FarAllocator, FarBuffer, far, near

from headrace.device import (
    AllocatorEntry,
    KernelEntry,
    Launch,
    MemoryKind,
    OpCall,
)
from headrace.errors import PluginError
from headrace.hookspecs import hookimpl
from headrace.numpy_ops import NumpyKernel
from headrace.registry import BackendRegistry
from headrace.testing import Case, check_case

ALIGNMENT_BYTES = 64


def add_on(tag: str, plugin: object, hook: str, entry: object) -> None:
    """Add on the device of ``plugin``, of which one hook answers ``entry`` alone."""
    changed = SimpleNamespace(**{**vars(plugin), hook: hookimpl(lambda: [entry])})
    ones = np.ones(3, np.float32)
    case = Case("ones", "add", (ones, ones))
    check_case(f"{tag}:0", case, BackendRegistry.from_modules({tag: changed}))


def add_with_match(match: Callable[[OpCall], Any]) -> None:
    entry = KernelEntry("near", "add", NumpyKernel, match)
    add_on("near", near(), "headrace_kernels", entry)


class Small(FarAllocator):
    """Gives a byte less than it was asked for."""

    live = 0

    def allocate(self, nbytes: int) -> FarBuffer:
        return super().allocate(nbytes - 1)


class Askew(FarAllocator):
    """Gives memory that begins a byte late."""

    live = 0

    def allocate(self, nbytes: int) -> FarBuffer:
        buffer = super().allocate(nbytes)
        buffer.address = ALIGNMENT_BYTES + 1
        return buffer


@pytest.mark.parametrize(
    ("allocator", "words"),
    [
        (Small, r"allocate of .*Small returned \d+ bytes; it was asked for \d+"),
        (Askew, r"allocate of .*Askew returned memory at 0x41, which is no multiple of 64"),
    ],
)
def test_memory_is_as_large_and_as_aligned_as_was_promised(
    allocator: type[FarAllocator], words: str
) -> None:
    """What does not fit is refused before anything is computed in it, and given back."""
    entry = AllocatorEntry("far", MemoryKind.DEVICE, ALIGNMENT_BYTES, allocator)
    with pytest.raises(PluginError, match=words):
        add_on("far", far(), "headrace_allocators", entry)
    assert allocator.live == 0


def raises(call: OpCall) -> bool:
    raise KeyError("axis")


@pytest.mark.parametrize(
    ("match", "words"),
    [
        (raises, r"match .* device 'near' offers for 'add' raised KeyError: 'axis'"),
        (lambda call: "no", r"match .* device 'near' offers for 'add' returned 'no'"),
        (lambda call: None, r"match .* device 'near' offers for 'add' returned None"),
        (lambda call: np.array([True, False]), r"match .* for 'add' returned array"),
    ],
)
def test_a_match_answers_yes_or_no(match: Callable[[OpCall], Any], words: str) -> None:
    """Whatever else it does is an error that names device and op, and no choice is made by it."""
    with pytest.raises(PluginError, match=words):
        add_with_match(match)


@pytest.mark.parametrize("yes", [True, np.True_])
def test_a_match_may_answer_with_a_boolean_of_numpy(yes: object) -> None:
    """What numpy makes of a comparison of shapes is a boolean as well."""
    add_with_match(lambda call: yes)


class Leaves(NumpyKernel):
    """Ends the program, if it is let, as soon as it is made."""

    def __init__(self, call: OpCall) -> None:
        raise SystemExit(0)


class LeavesAtBind(NumpyKernel):
    """Ends the program, if it is let, when it gets its buffers."""

    def bind(self, *buffers: object) -> Launch:
        raise SystemExit(0)


class RaisesAtBind(NumpyKernel):
    """Cannot be bound."""

    def bind(self, *buffers: object) -> Launch:
        raise OSError("no such queue")


def leave(call: OpCall) -> bool:
    raise SystemExit(0)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (
            KernelEntry("near", "add", NumpyKernel, leave),
            r"for 'add' called sys.exit\(0\)",
        ),
        (KernelEntry("near", "add", Leaves), r"create of its kernel for add called sys.exit\(0\)"),
        (KernelEntry("near", "add", LeavesAtBind), r"bind of .* 'near' called sys.exit\(0\)"),
        (KernelEntry("near", "add", RaisesAtBind), r"bind of .* 'near' raised OSError: no such"),
    ],
    ids=["match", "create", "bind", "bind-raises"],
)
def test_a_kernel_that_cannot_be_had_ends_nothing(entry: KernelEntry, words: str) -> None:
    """``sys.exit`` in a plugin is the plugin's error and not the end of the program."""
    with pytest.raises(PluginError, match=words):
        add_on("near", near(), "headrace_kernels", entry)
