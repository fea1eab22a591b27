"""What a user is told, to the letter, for every reason why a device cannot be had.

The texts are in ``messages.txt``. A change to one is a change to what people search for and what
their notes quote: make it on purpose, and change the file with it.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.device import DeviceEntry
from headrace.errors import DeviceUnavailableError, Reason
from headrace.registry import BackendRegistry
from headrace.registry.discover import discover
from headrace.registry.quarantine import Crash, Quarantine

Install = Callable[..., str]
Make = Callable[..., SimpleNamespace]

GOLDEN = Path(__file__).with_name("messages.txt")


def golden() -> dict[str, str]:
    """Title -> text of each message."""
    lines = [line for line in GOLDEN.read_text("utf-8").splitlines() if line]
    return dict(zip(lines[::2], lines[1::2], strict=True))


def message(registry: BackendRegistry, tag: str = "toy", index: int = 0) -> tuple[Reason, str]:
    with pytest.raises(DeviceUnavailableError) as caught:
        registry.check_index(tag, index)
    return caught.value.reason, str(caught.value)


@pytest.fixture
def messages(
    site: Path,
    install: Install,
    make_plugin: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, str]:
    """Title -> text, as they are."""
    monkeypatch.chdir(tmp_path)
    found: dict[str, str] = {}
    numbers = itertools.count()

    def note(title: str, registry: BackendRegistry, *words: object) -> None:
        reason, text = message(registry, *words)  # type: ignore[arg-type]
        found[f"{reason}: {title}"] = text

    def of(source: str | None = None, **how: object) -> BackendRegistry:
        """A registry of one plugin, written anew."""
        folder = site / str(next(numbers))
        folder.mkdir()
        requires = how.pop("requires", ())
        given = {} if source is None else {"source": source}
        install(folder, requires=requires, **given)
        monkeypatch.syspath_prepend(folder)
        sys.modules.pop("headrace_toy_plugin", None)
        return BackendRegistry(discover([str(folder)]), core_version="0.1", **how)  # type: ignore[arg-type]

    note("nothing is installed", BackendRegistry(installed=()))
    note("something else is", of(), "tay")
    note("something quite different is", of(), "cuda")
    note("no more than one device", of(), "toy", 3)
    note("by the block-list", of(block=["toy"]))
    note("by the allow-list", of(allow=["cpu"]))
    note("by the lock", of(strict=True, lock=Path("headrace.lock")))
    quarantine = Quarantine(tmp_path / "state")
    when = "2026-01-02 03:04:05"
    quarantine.add(Crash("toy", "headrace-toy", "0.3.1", "import", "signal SIGSEGV", when))
    note("by quarantine", of(quarantine=quarantine))
    note("another headrace", of(requires=["headrace>=9"]))
    note("it raises", of("raise OSError('libtoy.so: cannot open shared object file')"))
    note("it exits", of("import sys; sys.exit(0)"))
    note("a hook is missing", of("import headrace.hookspecs"))
    note("a hook is misspelt", of("from headrace.hookspecs import hookimpl\n"
                                  "@hookimpl\ndef headrace_kernel(): ..."))  # fmt: skip
    (site / "rivals").mkdir()
    install(site / "rivals")
    install(site / "rivals", "rival-toy")
    rivals = discover([str(site / "rivals")])
    note("two distributions", BackendRegistry(rivals, core_version="0.1"))
    none = make_plugin(headrace_devices=lambda: [DeviceEntry("toy", count=lambda: 0)])
    note("no card", BackendRegistry.from_modules({"toy": none}))
    newer = make_plugin(headrace_devices=lambda: [DeviceEntry("toy", api_version=(1, 99))])
    note("a newer contract", BackendRegistry.from_modules({"toy": newer}))
    asking: list[BackendRegistry] = []
    itself = make_plugin(headrace_devices=lambda: asking[0].backend("toy"))
    asking.append(BackendRegistry.from_modules({"toy": itself}))
    note("it asks for itself", asking[0])
    return found


def test_every_message_is_as_written(messages: dict[str, str]) -> None:
    """One sentence why, with the distribution and its version, and one next step."""
    assert messages == golden()


def test_every_reason_has_a_message() -> None:
    """A reason that nobody wrote a message for would be found by a user."""
    reasons = {title.partition(":")[0] for title in golden()}
    # What asks for itself is told so while it is loaded, and is invalid for everybody else.
    assert reasons | {"loading"} == set(Reason)
