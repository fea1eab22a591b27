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

from headrace.errors import DeviceUnavailableError, Reason
from headrace.placement import Placement
from headrace.registry import BackendRegistry, default_registry
from headrace.registry.registry import replace_default_registry
from headrace.testing.run import UncoveredError, computes_nothing
from headrace.testing.suite import report
from headrace.testing.suite.items import case_run_by, is_whole, outcome_of, tags_of
from headrace.testing.suite.options import add_options, asked_device, asked_tags, check_options
from headrace.testing.suite.rules import judge, stale_patterns
from headrace.testing.suite.tags import TAGS, is_chosen
from headrace.testing.suite.witness import Evidence, WitnessedRegistry

PROPERTY = "headrace"
"""Name of the property by which a test's report carries its tags and the devices it ran on."""
REFUSAL = "headrace-refusal"
"""Key by which a worker of pytest-xdist tells the main process why it ran nothing."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the suite."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse what cannot be right before anything is collected."""
    config.addinivalue_line("markers", "conformance(*tags): what a test of a backend is about")
    check_options(config)
    config.pluginmanager.register(_Suite(config), "headrace-suite")


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Count the tests of each tag in this process, which with pytest-xdist collects nothing."""
    if config.getoption("--list-tags") and hasattr(config.option, "numprocesses"):
        config.option.numprocesses = 0
    return (yield)


def pytest_report_header(config: pytest.Config) -> str:
    """Say which device of which distribution is tested. Reads metadata; loads no backend."""
    place = asked_device(config)
    if place is None:
        return "headrace: no --device; tests that need one skip"
    origins = [r.origin for r in default_registry().records() if r.tag == place.tag]
    return f"headrace: device {_text(place)} of {' and '.join(origins) or 'no installed backend'}"


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> str:
    """The device under test, as ``TAG:INDEX``; its backend is loaded and has that device."""
    place = asked_device(request.config)
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
        self._place = asked_device(config)
        self._evidence = Evidence()
        self._outcomes: dict[str, report.Outcome] = {}
        self._begun: dict[str, dict[str, Any]] = {}
        self._refusal = ""
        self._absent = False
        self._registry: BackendRegistry | None = None
        self._deselected = False

    # --- collection ------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests with the wanted tags; then load the backend, once for the run."""
        try:
            self._choose(items)
            if not (self._config.option.collectonly or self._config.getoption("--list-tags")):
                self._begin(items)
        except pytest.UsageError as error:
            if not self._is_worker:
                raise
            # A worker that ends early is taken for one that crashed: it says why, and has no tests.
            self._config.workeroutput[REFUSAL] = str(error)  # type: ignore[attr-defined]
            items.clear()

    def _choose(self, items: list[pytest.Item]) -> None:
        patterns = asked_tags(self._config)
        if not patterns:
            return
        unknown = [p for p in patterns if not any(is_chosen(tags_of(i), [p]) for i in items)]
        if unknown:
            known = ", ".join(TAGS)
            raise pytest.UsageError(f"--tags: no test has {', '.join(unknown)}; tags are {known}")
        chosen = [item for item in items if is_chosen(tags_of(item), patterns)]
        kept = set(chosen)
        self._config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = chosen

    def _begin(self, items: list[pytest.Item]) -> None:
        if self._place is None or not items:
            return
        registry = default_registry()
        self._check_device(registry)
        self._apply_profile(items, registry)
        self._registry = replace_default_registry(WitnessedRegistry(registry, self._evidence))

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Part of the suite was asked for: a pattern that fits nothing may be right."""
        self._deselected = self._deselected or bool(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> object:
        """Print the tags; refuse the device also where other processes run the tests."""
        if self._config.getoption("--list-tags"):
            self._print_tags(session.items)
            return True
        if self._place is not None and not self._config.option.collectonly:
            self._check_device(default_registry())
        return None

    def _check_device(self, registry: BackendRegistry) -> None:
        """End the run with one message when the device cannot be used."""
        assert self._place is not None
        try:
            registry.check_index(self._place.tag, self._place.devices[0][1])
        except DeviceUnavailableError as error:
            self._absent = error.reason is Reason.NO_HARDWARE
            if self._absent and self._config.getoption("--if-present"):
                pytest.exit(f"skipped: {error}", returncode=0)
            pytest.exit(f"--device {_text(self._place)} cannot be used: {error}", returncode=1)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Hear from a worker of pytest-xdist why it ran nothing."""
        said = getattr(node, "workeroutput", {}).get(REFUSAL, "")
        self._refusal = self._refusal or said

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Give the process its registry back, write the report, hold the floor."""
        if self._registry is not None:
            replace_default_registry(self._registry)
            self._registry = None
        if self._is_worker or self._absent:
            return
        if self._refusal:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
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
        if self._refusal:
            terminalreporter.write_line(f"ERROR: {self._refusal}", red=True)
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

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Forget what the test before this one was seen doing."""
        self._evidence.clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Hold that the device did the work, and skip what it does not claim to run."""
        try:
            yield
        except UncoveredError as error:
            if item.config.getoption("--complete"):
                raise
            pytest.skip(str(error))
        case = case_run_by(item)
        if self._place is None or case is None:
            return
        wanted, seen = {_text(self._place)}, self._evidence.computed
        if seen or not computes_nothing(_text(self._place), case):
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
        tags = tags_of(item)
        if tags:
            where = sorted(self._evidence.computed or self._evidence.used)
            made.user_properties.append((PROPERTY, {"tags": tags, "executed_on": where}))
        return made

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the outcome of a test: the worst of its phases.

        Passing setup is no outcome: the process may yet end in the middle of the test, and then
        pytest-xdist makes a report of its own, of no phase and with nothing in it.
        """
        carried: Any = dict(report.user_properties).get(PROPERTY)
        if carried is None and report.failed and report.when not in ("setup", "call", "teardown"):
            carried = self._begun.get(report.nodeid, {"tags": (), "executed_on": ()})
        if carried is None:
            return
        self._begun[report.nodeid] = {"tags": carried["tags"], "executed_on": ()}
        if report.when == "call" or not report.passed:
            self._outcomes[report.nodeid] = outcome_of(report, carried)

    # --- helpers ---------------------------------------------------------------------------

    @property
    def _is_worker(self) -> bool:
        return hasattr(self._config, "workerinput")

    def _apply_profile(self, items: list[pytest.Item], registry: BackendRegistry) -> None:
        assert self._place is not None
        profile = registry.backend(self._place.tag).profile
        tests = [(item.name, tags) for item in items if (tags := tags_of(item))]
        if tests and not self._deselected and is_whole(items):
            stale = stale_patterns(profile, tests)
            if stale:
                raise pytest.UsageError(
                    f"the profile of {self._place.tag!r} speaks of tests that do not exist: "
                    f"{', '.join(stale)}; take them out of its ConformanceProfile"
                )
        for item in items:
            tags = tags_of(item)
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
        for tag in (tag for item in items for tag in tags_of(item)):
            counts[tag] = counts.get(tag, 0) + 1
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        assert reporter is not None
        for tag, count in sorted(counts.items(), key=lambda pair: ("/" in pair[0], pair)):
            reporter.write_line(f"{count:6} {tag}  {TAGS.get(tag, '')}".rstrip())


def _text(place: Placement) -> str:
    return f"{place.tag}:{place.devices[0][1]}"
