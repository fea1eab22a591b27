"""The pytest plugin: what happens with and without ``--device``, and threads that stay."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

PLUGIN = ("-p", "headrace.testing.pytest_plugin", "-p", "no:cacheprovider")
NEEDS_A_DEVICE = "def test_one(device): assert device\ndef test_two(device): assert device\n"


def test_without_a_device_tests_skip(pytester: pytest.Pytester) -> None:
    """And the report says how to give one; tests that need none run."""
    pytester.makepyfile(NEEDS_A_DEVICE + "def test_three(): pass\n")
    result = pytester.runpytest_subprocess(*PLUGIN, "-rs")
    result.assert_outcomes(skipped=2, passed=1)
    result.stdout.fnmatch_lines(["headrace: no --device*", "*needs a device: give --device TAG*"])


def test_a_device_that_is_absent_fails(pytester: pytest.Pytester) -> None:
    """A required device never turns into a skip."""
    pytester.makepyfile(NEEDS_A_DEVICE)
    result = pytester.runpytest_subprocess(*PLUGIN, "--device", "nosuch:1")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        ["headrace: device nosuch:1 of no installed backend", "*no backend 'nosuch'*"]
    )


def test_a_broken_backend_fails_with_its_cause(pytester: pytest.Pytester) -> None:
    """Installed is not enough; collecting, however, does not load it."""
    backend(pytester, "raise OSError('no driver')")
    pytester.makepyfile(NEEDS_A_DEVICE)
    result = pytester.runpytest_subprocess(*PLUGIN, "--device", "broken")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        ["headrace: device broken:0 of headrace-broken 1.0", "*did not load*no driver*"]
    )
    collected = pytester.runpytest_subprocess(*PLUGIN, "--device", "broken", "--collect-only")
    assert collected.ret == 0


def backend(pytester: pytest.Pytester, text: str) -> None:
    """Install a backend ``broken`` beside the test, whose module holds ``text``."""
    pytester.makepyfile(headrace_broken=text)
    metadata = pytester.mkdir("headrace_broken-1.0.dist-info")
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: headrace-broken\nVersion: 1.0\n"
    )
    (metadata / "entry_points.txt").write_text("[headrace.backends]\nbroken = headrace_broken\n")
    pytester.syspathinsert()


ADDS_ONLY = """
from headrace.device import AllocatorEntry, DeviceEntry, HostAllocator, KernelEntry, MemoryKind
from headrace.hookspecs import hookimpl
from headrace.numpy_ops import NumpyKernel

@hookimpl
def headrace_devices():
    yield DeviceEntry("broken")

@hookimpl
def headrace_allocators():
    yield AllocatorEntry("broken", MemoryKind.HOST, 64, HostAllocator)

@hookimpl
def headrace_kernels():
    yield KernelEntry("broken", "add", NumpyKernel)
"""

TWO_CASES = """
import numpy as np
import pytest
from headrace.testing.case import Case
from headrace.testing.run import check_case

ONE = np.ones(2, np.float32)

@pytest.mark.parametrize("case", [Case("plain", "add", (ONE, ONE)), Case("plain", "relu", (ONE,))])
def test_case(device, case):
    check_case(device, case)
"""


def test_a_case_without_kernels_skips_unless_the_device_must_be_complete(
    pytester: pytest.Pytester,
) -> None:
    """A device that only adds passes what it claims; ``--complete`` asks for the rest too."""
    backend(pytester, ADDS_ONLY)
    pytester.makepyfile(TWO_CASES)
    result = pytester.runpytest_subprocess(*PLUGIN, "--device", "broken", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*relu*cannot run * of float32*"])
    result = pytester.runpytest_subprocess(*PLUGIN, "--device", "broken", "--complete")
    result.assert_outcomes(passed=1, failed=1)


@pytest.mark.parametrize("text", ["cpu:x", "", ":0", "a b"])
def test_a_text_that_is_no_device_is_a_usage_error(pytester: pytest.Pytester, text: str) -> None:
    """Said before anything is collected."""
    pytester.makepyfile(NEEDS_A_DEVICE)
    result = pytester.runpytest_subprocess(*PLUGIN, "--device", text)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--device: *"])


def test_a_thread_that_stays_fails_its_test_and_no_other(pytester: pytest.Pytester) -> None:
    """The thread is named, and the next test is not blamed for it."""
    pytester.makepyfile(
        """
        import threading

        STOP = threading.Event()

        def test_leaves():
            threading.Thread(target=STOP.wait, name="left over", daemon=True).start()

        def test_is_innocent():
            STOP.set()
        """
    )
    result = pytester.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*threads are still alive after the test: left over*"])
