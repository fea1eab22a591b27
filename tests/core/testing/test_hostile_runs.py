"""Runs of the suite that end early, are spread over processes, or meet a backend that cheats."""

from __future__ import annotations

import json

import pytest

pytest_plugins = ["pytester"]

SUITE = (
    "-p",
    "headrace.testing.pytest_plugin",
    "-p",
    "no:cacheprovider",
    "--pyargs",
    "headrace.testing.conformance",
)
RUN = (*SUITE, "--device", "hostile")
WORKERS = ("-p", "xdist", "-n", "1")
xdist = pytest.mark.usefixtures("_xdist")

BACKEND = """
import os
from headrace.device import (
    AllocatorEntry, ConformanceProfile, DeviceEntry, HostAllocator, KernelEntry, MemoryKind)
from headrace.errors import UnsupportedError
from headrace.hookspecs import hookimpl
from headrace.numpy_ops import NumpyKernel

class Ends(NumpyKernel):
    def bind(self, *buffers):
        os._exit(3)

class Refuses(NumpyKernel):
    def __init__(self, call):
        raise UnsupportedError("not today")

@hookimpl
def headrace_devices():
    yield DeviceEntry("hostile", count=lambda: {count})

@hookimpl
def headrace_allocators():
    yield AllocatorEntry("hostile", MemoryKind.HOST, 64, HostAllocator)

@hookimpl
def headrace_kernels():
    yield KernelEntry("hostile", "add", {kernel})

@hookimpl
def headrace_conformance_profiles():
    yield ConformanceProfile("hostile", {unsupported})
"""


@pytest.fixture
def _xdist() -> None:
    pytest.importorskip("xdist", reason="spreads tests over processes")


def install(
    pytester: pytest.Pytester,
    count: int = 1,
    kernel: str = "NumpyKernel",
    unsupported: dict[str, str] | None = None,
) -> None:
    """Install a backend that only adds, beside the test."""
    text = BACKEND.format(count=count, kernel=kernel, unsupported=unsupported or {})
    pytester.makepyfile(headrace_hostile=text)
    metadata = pytester.mkdir("headrace_hostile-1.0.dist-info")
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: headrace-hostile\nVersion: 1.0\n"
    )
    (metadata / "entry_points.txt").write_text("[headrace.backends]\nhostile = headrace_hostile\n")
    pytester.syspathinsert()


def said(result: pytest.RunResult) -> str:
    return result.stdout.str() + result.stderr.str()


@xdist
def test_a_test_that_ends_its_process_has_failed(pytester: pytest.Pytester) -> None:
    """Its setup had passed and its report never came: it must not be counted as passed."""
    install(pytester, kernel="Ends")
    chosen = ("--tags", "core", "-k", "add-float32", "--report", "report.json")
    result = pytester.runpytest_subprocess(*RUN, *WORKERS, *chosen)
    assert result.ret == 1
    document = json.loads((pytester.path / "report.json").read_text("utf-8"))
    assert document["counts"] == {"failed": 1}
    (test,) = document["tests"]
    assert (test["name"], test["executed_on"]) == ("test_binary[add-float32]", [])
    assert test["tags"] == ["ops/binary/float32", "core"]
    assert "crashed" in test["reason"]


def test_a_kernel_that_claims_a_call_and_refuses_it_fails(pytester: pytest.Pytester) -> None:
    """A gap is what no kernel matches; whoever matches everything cannot skip everything."""
    install(pytester, kernel="Refuses")
    result = pytester.runpytest_subprocess(*RUN, "--tags", "core", "-k", "add-float32")
    result.assert_outcomes(failed=1, deselected=result.parseoutcomes()["deselected"])
    assert "not today" in said(result)


@xdist
@pytest.mark.parametrize(
    ("options", "unsupported", "says"),
    [
        (("--tags", "corre"), {}, "--tags: no test has corre"),
        ((), {"test_gone": "gone"}, "speaks of tests that do not exist: test_gone"),
    ],
)
def test_a_refusal_reaches_the_user_from_other_processes(
    pytester: pytest.Pytester, options: tuple[str, ...], unsupported: dict[str, str], says: str
) -> None:
    """One line and a usage error, as in one process; no worker seems to have crashed."""
    install(pytester, unsupported=unsupported)
    result = pytester.runpytest_subprocess(*RUN, *WORKERS, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert says in said(result)
    assert "INTERNALERROR" not in said(result)


@xdist
def test_tags_are_listed_also_when_workers_are_asked_for(pytester: pytest.Pytester) -> None:
    """With counts, and without loading a backend: none of this name is installed."""
    chosen = ("--device", "nowhere", "--list-tags")
    result = pytester.runpytest_subprocess(*SUITE, *WORKERS, *chosen)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["* core  what every backend must do*", "* ops/matmul/float32"])


@xdist
@pytest.mark.parametrize("workers", [(), WORKERS])
def test_absent_hardware_misses_no_floor(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    """What ``--if-present`` lets pass, ``--min-ran`` does not fail; without it, it fails."""
    install(pytester, count=0)
    floor = (*workers, "--tags", "core", "--min-ran", "95%")
    result = pytester.runpytest_subprocess(*RUN, *floor, "--if-present")
    assert result.ret == 0
    assert "skipped: backend 'hostile'" in said(result)
    assert pytester.runpytest_subprocess(*RUN, *floor).ret == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--device", "hostile", "--report", "nowhere/report.json"), "no file in a folder that"),
        (("--device", "hostile", "--report", "."), "no file in a folder that exists"),
        (("--device", "hostile", "--min-ran=-5"), "neither a number nor a share"),
        (("--device", "hostile", "--tags", " , "), "names no tag"),
        (("--device", "hostile", "--tags", ""), "names no tag"),
        (("--min-ran", "5"), "--min-ran speaks of a device: give --device TAG too"),
        (("--report", "report.json"), "--report speaks of a device"),
        (("--complete",), "--complete speaks of a device"),
        (("--if-present",), "--if-present speaks of a device"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    pytester: pytest.Pytester, options: tuple[str, ...], says: str
) -> None:
    """Before the run, not after it, and never in silence."""
    result = pytester.runpytest_subprocess(*SUITE, *options, "--collect-only", "-q")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert says in said(result)


def test_tags_may_have_spaces_between_them(pytester: pytest.Pytester) -> None:
    """``core, memory`` are two tags."""
    chosen = ("--tags", "core, memory", "--collect-only", "-q")
    assert pytester.runpytest_subprocess(*SUITE, *chosen).ret == 0


def test_a_case_that_asks_for_no_device_need_not_run_on_one(pytester: pytest.Pytester) -> None:
    """A plugin may try its own helpers on cases, in the same run."""
    install(pytester)
    pytester.makepyfile(
        """
        import pytest
        from headrace.testing import Case

        @pytest.mark.parametrize("case", [Case("plain", "add", ())])
        def test_helper(case):
            assert case.op == "add"
        """
    )
    plugin = ("-p", "headrace.testing.pytest_plugin", "--device", "hostile")
    pytester.runpytest_subprocess(*plugin).assert_outcomes(passed=1)


def test_memory_is_reported_with_the_device_that_holds_it(pytester: pytest.Pytester) -> None:
    """What a fixture did counts as the test's: it opened the device before the test began."""
    install(pytester)
    chosen = ("--tags", "memory", "-k", "aligned", "--report", "report.json")
    assert pytester.runpytest_subprocess(*RUN, *chosen).ret == 0
    tests = json.loads((pytester.path / "report.json").read_text("utf-8"))["tests"]
    assert {tuple(test["executed_on"]) for test in tests} == {("hostile:0",)}
