"""The pytest plugin: what happens with and without ``--device``, and threads that stay."""

from __future__ import annotations

import json

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


def test_a_device_that_is_absent_ends_the_run(pytester: pytest.Pytester) -> None:
    """One message and exit code 1: neither a skip nor an error for each test."""
    pytester.makepyfile(NEEDS_A_DEVICE)
    result = pytester.runpytest_subprocess(*PLUGIN, "--device", "nosuch:1")
    assert result.ret == 1
    result.assert_outcomes()
    result.stdout.fnmatch_lines(
        [
            "headrace: device nosuch:1 of no installed backend",
            "*cannot be used: no backend 'nosuch'*",
        ]
    )


def test_a_broken_backend_ends_the_run_with_its_cause(pytester: pytest.Pytester) -> None:
    """Installed is not enough; collecting, however, does not load it."""
    backend(pytester, "raise OSError('no driver')")
    pytester.makepyfile(NEEDS_A_DEVICE)
    result = pytester.runpytest_subprocess(*PLUGIN, "--device", "broken")
    assert result.ret == 1
    result.assert_outcomes()
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


def test_hardware_that_is_absent_fails_unless_it_may_be(pytester: pytest.Pytester) -> None:
    """A test that nobody ran is not one that passed; ``--if-present`` says so and ends with 0."""
    text = ADDS_ONLY.replace('DeviceEntry("broken")', 'DeviceEntry("broken", count=lambda: 0)')
    backend(pytester, text)
    pytester.makepyfile(NEEDS_A_DEVICE)
    result = pytester.runpytest_subprocess(*PLUGIN, "--device", "broken")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*cannot be used: *has no device here*"])
    result = pytester.runpytest_subprocess(*PLUGIN, "--device", "broken", "--if-present")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*skipped: *has no device here*"])


def test_a_job_that_ran_elsewhere_fails(pytester: pytest.Pytester) -> None:
    """A right result proves nothing of a device that did not compute it."""
    backend(pytester, ADDS_ONLY)
    pytester.makepyfile(TWO_CASES.replace("check_case(device, case)", "pass"))
    result = pytester.runpytest_subprocess(*PLUGIN, "--device", "broken")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*the work was done by no device at all, not by broken:0*"])


PROFILE = """
from headrace.device import ConformanceProfile

@hookimpl
def headrace_conformance_profiles():
    yield ConformanceProfile("broken", {unsupported}, {expected})
"""
SUITE = (*PLUGIN, "--device", "broken", "--pyargs", "headrace.testing.conformance")


def test_a_profile_skips_and_expects_failures(pytester: pytest.Pytester) -> None:
    """What is unsupported skips with its reason; an expected failure that passes fails."""
    profile = PROFILE.format(
        unsupported={"test_binary[[]add-empty-by-one]": "no empties"},
        expected={"core": "all of it, says the profile"},
    )
    backend(pytester, ADDS_ONLY + profile)
    result = pytester.runpytest_subprocess(*SUITE, "--tags", "core", "-k", "test_binary", "-rs")
    outcomes = result.parseoutcomes()
    assert outcomes["skipped"] == 1
    assert outcomes["failed"] > 5
    assert "passed" not in outcomes
    result.stdout.fnmatch_lines(["*[[]XPASS(strict)]*", "*unsupported: no empties*"])


def test_a_stale_pattern_stops_the_whole_suite(pytester: pytest.Pytester) -> None:
    """It is named; where only part of the suite was asked for, it may be right."""
    backend(
        pytester, ADDS_ONLY + PROFILE.format(unsupported={"test_gone[[]x]": "gone"}, expected={})
    )
    result = pytester.runpytest_subprocess(*SUITE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*speaks of tests that do not exist: test_gone*"])
    assert pytester.runpytest_subprocess(*SUITE, "--tags", "core").ret == 0


def test_the_report_says_what_ran_where(pytester: pytest.Pytester) -> None:
    """Tags, outcomes, reasons and devices of every test, and the floor holds the run to them."""
    backend(pytester, ADDS_ONLY)
    chosen = (*SUITE, "--tags", "core,ops/matmul/float32", "--report", "report.json")
    result = pytester.runpytest_subprocess(*chosen, "--min-ran", "5")
    assert result.ret == 0
    document = json.loads((pytester.path / "report.json").read_text("utf-8"))
    facts = (document["device"], document["distribution"], document["version"])
    assert facts == ("broken:0", "headrace-broken", "1.0")
    tests = {test["name"]: test for test in document["tests"]}
    added = tests["test_binary[add-float32]"]
    assert (added["outcome"], added["executed_on"]) == ("passed", ["broken:0"])
    assert added["tags"] == ["ops/binary/float32", "core"]
    skipped = tests["test_matmul[matmul-vectors]"]
    assert skipped["outcome"] == "skipped"
    assert "no kernel for 'matmul'" in skipped["reason"]
    assert sum(document["counts"].values()) == len(tests)
    result = pytester.runpytest_subprocess(*chosen, "--min-ran", "90%")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*tests ran on the device; --min-ran asks for 90%*"])


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--tags", "corre", "no test has corre"),
        ("--min-ran", "most", "neither a number nor a share"),
    ],
)
def test_an_option_that_cannot_be_right_is_a_usage_error(
    pytester: pytest.Pytester, option: str, value: str, says: str
) -> None:
    """Before anything runs."""
    backend(pytester, ADDS_ONLY)
    result = pytester.runpytest_subprocess(*SUITE, option, value)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert says in result.stdout.str() + result.stderr.str()


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
