"""The conformance suite finds the bugs that backends have, and none in a backend without."""

from __future__ import annotations

import pytest
from late_backend import TAG, late
from planted_bugs import BUGS

from headrace.registry import BackendRegistry

pytest_plugins = ["pytester"]

SUITE = "headrace.testing.conformance"
CONTRACT = (
    "allocator",
    "device",
    "errors",
    "in_place",
    "layouts",
    "multi_device",
    "stream_errors",
    "streams",
)


@pytest.fixture
def failing(pytester: pytest.Pytester, install):
    """Run files or tests of the suite on a backend in this process; the names of what failed."""

    def run(module: object, *chosen: str) -> set[str]:
        install(BackendRegistry.from_modules({TAG: module}))
        plugins = ("headrace.testing.pytest_plugin", "no:cacheprovider", "no:hypothesispytest")
        options = (*(word for name in plugins for word in ("-p", name)), "--tb=no")
        asked = [f"{SUITE}.test_{name}" for name in chosen]
        done = pytester.inline_run(*options, "--device", TAG, "--pyargs", *asked)
        passed, _, failed = done.listoutcomes()
        assert passed or failed, "nothing ran"
        return {report.nodeid.rpartition("::")[2] for report in failed}

    return run


def test_a_backend_that_keeps_the_contract_passes(failing) -> None:
    """What the bugs are planted in has none, so that each of them is what its tests find."""
    assert failing(late(), *CONTRACT) == set()


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(failing, bug: str) -> None:
    """By each of the tests that are about it."""
    planted = BUGS[bug]
    wanted = {name.partition("::")[2] for name in planted.found_by}
    assert failing(planted.module, *planted.found_by) == wanted
