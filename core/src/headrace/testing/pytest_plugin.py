"""pytest plugin for tests that run on a backend.

    pytest -p headrace.testing.pytest_plugin --pyargs headrace.testing.conformance --device TAG

Without ``--device`` every test that needs a device skips. With it the device is required: a backend
that is absent, broken or without hardware ends the run with one message. Tests of what the backend
offers no kernels for skip and say so; with ``--complete`` they fail. Collecting loads no backend.
"""

from __future__ import annotations

import json
import platform
import threading
from collections.abc import Generator, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import DeviceUnavailableError, PlacementError, Reason
from headrace.placement import Placement
from headrace.registry import BackendRegistry, default_registry
from headrace.registry import registry as registries
from headrace.testing.case import Case
from headrace.testing.run import UncoveredError
from headrace.testing.suite import report
from headrace.testing.suite.rules import judge, stale_patterns
from headrace.testing.suite.tags import TAGS, is_chosen, tags_of_case
from headrace.testing.suite.witness import Evidence, WitnessedRegistry

SUITE = "headrace.testing.conformance"
PROPERTY = "headrace"
"""Name of the property by which a test's report carries its tags and the devices it ran on."""


def pytest_addoption(parser: pytest.Parser) -> None:
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


def pytest_configure(config: pytest.Config) -> None:
    """Refuse what cannot be right before anything is collected."""
    config.addinivalue_line("markers", "conformance(*tags): what a test of a backend is about")
    try:
        _asked(config)
    except PlacementError as error:
        raise pytest.UsageError(f"--device: {error}") from None
    floor = config.getoption("--min-ran")
    try:
        report.floor_missed((), floor or "0")
    except ValueError:
        raise pytest.UsageError(f"--min-ran {floor!r} is neither a number nor a share") from None
    config.pluginmanager.register(_Suite(config), "headrace-suite")


def pytest_report_header(config: pytest.Config) -> str:
    """Say which device of which distribution is tested. Reads metadata; loads no backend."""
    place = _asked(config)
    if place is None:
        return "headrace: no --device; tests that need one skip"
    origins = [r.origin for r in default_registry().records() if r.tag == place.tag]
    return f"headrace: device {_text(place)} of {' and '.join(origins) or 'no installed backend'}"


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> str:
    """The device under test, as ``TAG:INDEX``; its backend is loaded and has that device."""
    place = _asked(request.config)
    if place is None:
        pytest.skip("needs a device: give --device TAG")
    return _text(place)


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """Fail a test behind which a thread is still alive."""
    before = set(threading.enumerate())
    yield
    left = sorted(t.name for t in threading.enumerate() if t not in before and t.is_alive())
    assert not left, f"threads are still alive after the test: {', '.join(left)}"


class _Suite:
    """What the run knows: the device, what it was seen doing, and the outcomes.

    With pytest-xdist each worker has one that runs tests, and the main process one that hears of
    their outcomes.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._place = _asked(config)
        self._evidence = Evidence()
        self._outcomes: dict[str, report.Outcome] = {}
        self._registry: BackendRegistry | None = None
        self._deselected = False

    # --- collection ------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests with the wanted tags."""
        text = self._config.getoption("--tags")
        if not text:
            return
        patterns = [word for word in text.split(",") if word]
        unknown = [p for p in patterns if not any(is_chosen(_tags(i), [p]) for i in items)]
        if unknown:
            known = ", ".join(TAGS)
            raise pytest.UsageError(f"--tags: no test has {', '.join(unknown)}; tags are {known}")
        chosen = [item for item in items if is_chosen(_tags(item), patterns)]
        left_out = [item for item in items if item not in set(chosen)]
        self._config.hook.pytest_deselected(items=left_out)
        items[:] = chosen

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Part of the suite was asked for: a pattern that fits nothing may be right."""
        self._deselected = self._deselected or bool(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> object:
        """Load the backend, once for the run, and mark what its profile speaks of."""
        if self._config.getoption("--list-tags"):
            self._print_tags(session.items)
            return True
        if self._config.option.collectonly or self._place is None:
            return None
        registry = default_registry()
        try:
            registry.check_index(self._place.tag, self._place.devices[0][1])
        except DeviceUnavailableError as error:
            absent = error.reason is Reason.NO_HARDWARE
            if absent and self._config.getoption("--if-present"):
                pytest.exit(f"skipped: {error}", returncode=0)
            pytest.exit(f"--device {_text(self._place)} cannot be used: {error}", returncode=1)
        if session.items:
            self._apply_profile(session.items, registry)
            self._registry = registry
            registries._DEFAULT = WitnessedRegistry(registry, self._evidence)
        return None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Give the process its registry back, write the report, hold the floor."""
        if self._registry is not None:
            registries._DEFAULT, self._registry = self._registry, None
        if hasattr(self._config, "workerinput"):
            return
        outcomes = tuple(self._outcomes.values())
        file = self._config.getoption("--report")
        if file and self._place is not None:
            document = report.as_json(outcomes, self._facts())
            Path(file).write_text(json.dumps(document, indent=1) + "\n", "utf-8")
        floor = self._config.getoption("--min-ran")
        missed = report.floor_missed(outcomes, floor) if floor else ""
        if missed and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what ran, by tag, op family and dtype."""
        outcomes = tuple(self._outcomes.values())
        if self._place is None or not any(outcome.tags for outcome in outcomes):
            return
        terminalreporter.section(f"conformance of {_text(self._place)}")
        for line in report.table(outcomes):
            terminalreporter.write_line(line)
        floor = self._config.getoption("--min-ran")
        missed = report.floor_missed(outcomes, floor) if floor else ""
        if missed:
            terminalreporter.write_line(missed, red=True)

    # --- each test -------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Hold that the device did the work, and skip what it does not claim to run."""
        self._evidence.clear()
        try:
            yield
        except UncoveredError as error:
            if item.config.getoption("--complete"):
                raise
            pytest.skip(str(error))
        if self._place is not None and _case(item) is not None:
            wanted, seen = {_text(self._place)}, self._evidence.computed
            assert seen == wanted, (
                f"the work was done by {', '.join(sorted(seen)) or 'no device at all'}, "
                f"not by {_text(self._place)}"
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send tags and devices along with the report, also from a worker."""
        made = yield
        tags = _tags(item)
        if tags:
            where = sorted(self._evidence.computed or self._evidence.used)
            made.user_properties.append((PROPERTY, {"tags": tags, "executed_on": where}))
        return made

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the outcome of a test: the worst of its phases."""
        carried: Any = dict(report.user_properties).get(PROPERTY)
        before = self._outcomes.get(report.nodeid)
        if carried is None or (before is not None and report.passed and report.when != "call"):
            return
        self._outcomes[report.nodeid] = _outcome(report, carried)

    # --- helpers ---------------------------------------------------------------------------

    def _apply_profile(self, items: list[pytest.Item], registry: BackendRegistry) -> None:
        assert self._place is not None
        profile = registry.backend(self._place.tag).profile
        tests = [(item.name, tags) for item in items if (tags := _tags(item))]
        if tests and not self._deselected and _is_whole(items):
            stale = stale_patterns(profile, tests)
            if stale:
                raise pytest.UsageError(
                    f"the profile of {self._place.tag!r} speaks of tests that do not exist: "
                    f"{', '.join(stale)}; take them out of its ConformanceProfile"
                )
        for item in items:
            tags = _tags(item)
            verdict = judge(profile, item.name, tags) if tags else None
            if verdict is not None and verdict.kind == "skip":
                item.add_marker(pytest.mark.skip(reason=f"unsupported: {verdict.reason}"))
            elif verdict is not None:
                item.add_marker(pytest.mark.xfail(reason=verdict.reason, strict=True))

    def _facts(self) -> dict[str, str]:
        assert self._place is not None
        records = [r for r in default_registry().records() if r.tag == self._place.tag]
        return {
            "headrace": version("headrace"),
            "device": _text(self._place),
            "distribution": records[0].distribution if records else "",
            "version": records[0].version if records else "",
            "python": platform.python_version(),
            "platform": platform.platform(),
        }

    def _print_tags(self, items: list[pytest.Item]) -> None:
        counts: dict[str, int] = {}
        for tag in (tag for item in items for tag in _tags(item)):
            counts[tag] = counts.get(tag, 0) + 1
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        assert reporter is not None
        for tag, count in sorted(counts.items(), key=lambda pair: ("/" in pair[0], pair)):
            reporter.write_line(f"{count:6} {tag}  {TAGS.get(tag, '')}".rstrip())


def _outcome(made: pytest.TestReport, carried: dict[str, Any]) -> report.Outcome:
    outcome, reason = str(made.outcome), ""
    if hasattr(made, "wasxfail"):
        outcome, reason = ("xfailed" if made.skipped else "failed"), str(made.wasxfail)
    elif made.skipped and isinstance(made.longrepr, tuple):
        reason = str(made.longrepr[2]).removeprefix("Skipped: ")
    elif made.failed:
        reason = str(made.longreprtext).strip().rpartition("\n")[2]
    return report.Outcome(
        name=made.nodeid.rpartition("::")[2],
        tags=tuple(carried["tags"]),
        outcome=outcome,
        reason=reason,
        executed_on=tuple(carried["executed_on"]),
        seconds=made.duration,
    )


def _tags(item: pytest.Item) -> tuple[str, ...]:
    """The tags of a test of the suite; none for other tests."""
    marks = [str(tag) for mark in item.iter_markers("conformance") for tag in mark.args]
    case = _case(item)
    if case is not None and _module(item).startswith(f"{SUITE}.test_"):
        marks += tags_of_case(_module(item).removeprefix(f"{SUITE}.test_"), case)
    return tuple(dict.fromkeys(marks))


def _case(item: pytest.Item) -> Case | None:
    parameters = getattr(item, "callspec", None)
    case = None if parameters is None else parameters.params.get("case")
    return case if isinstance(case, Case) else None


def _module(item: pytest.Item) -> str:
    return getattr(getattr(item, "module", None), "__name__", "")


def _is_whole(items: list[pytest.Item]) -> bool:
    """True when every module of the suite was collected."""
    import headrace.testing.conformance as suite

    there = {path.stem for path in Path(suite.__path__[0]).glob("test_*.py")}
    return there <= {_module(item).removeprefix(f"{SUITE}.") for item in items}


def _asked(config: pytest.Config) -> Placement | None:
    text = config.getoption("--device")
    return None if text is None else Placement.of_device(text)


def _text(place: Placement) -> str:
    return f"{place.tag}:{place.devices[0][1]}"
