"""Every test of the stand-in runs in a child process and for each era."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

import pytest
from net import Net
from stand_in import StandIn, folder, fork

ERAS = (4, 5, 6)


class Starter:
    """Loads the libraries when the test calls it, which is in the child."""

    def __init__(self, era: int) -> None:
        self.era = era
        self.started: StandIn | None = None

    def __call__(self, **settings: object) -> StandIn:
        place = folder()
        assert place is not None
        settings = {"quiet": 1, "seed": 1} | settings
        self.started = StandIn(self.era, place, **settings)
        return self.started

    def end(self) -> None:
        """What the end of a process tells; a test has taken every report that it expected."""
        if self.started:
            self.started.call("mlusim_check_leaks")
            assert self.started.reports() == []


@pytest.fixture(params=ERAS, ids=lambda era: f"era{era}")
def start(request: pytest.FixtureRequest) -> Starter:
    """Starts the stand-in of an era: ``sim = start(cards=2)`` sets MLUSIM_CARDS=2."""
    if folder() is None:
        pytest.skip("the stand-in is not built: install headrace-cambricon or set MLUSIM_FOLDER")
    return Starter(request.param)


@pytest.fixture
def sim(start: Starter) -> StandIn:
    """The stand-in with one card."""
    return Late(start)


@pytest.fixture
def net(sim: StandIn) -> Net:
    """A handle of the library on a queue, and careful calls of its ops."""
    return Late(lambda: Net(sim))


class Late:
    """An object that is made in the child, when it is first used."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make, self._made = make, None

    def __getattr__(self, name: str) -> object:
        if self._made is None:
            self._made = self._make()
        return getattr(self._made, name)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run the test in a child of this process and bring back what it raised."""
    starter = pyfuncitem.funcargs.get("start")
    if not isinstance(starter, Starter):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}

    def test() -> None:
        pyfuncitem.obj(**arguments)
        starter.end()

    problem = run_in_child(test)
    if problem:
        pytest.fail(problem, pytrace=False)
    return True


def run_in_child(function: Callable[[], None]) -> str:
    """The traceback of what it raised, or how the child died; empty when it went well."""
    read, write = os.pipe()
    sys.stdout.flush()
    child = fork()
    if child == 0:
        try:
            function()
        except BaseException:  # noqa: BLE001 - the parent gets it, whatever it is
            os.write(write, traceback.format_exc().encode()[-60000:])
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        problem = pipe.read()
    status = os.waitpid(child, 0)[1]
    return problem or (f"the process ended with status {status}" if status else "")
