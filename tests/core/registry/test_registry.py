"""What callers of the registry get: a backend, or an error that says what to do."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.device import DeviceEntry
from headrace.errors import DeviceUnavailableError
from headrace.registry import BackendRegistry, State, default_registry
from headrace.registry.discover import discover

Make = Callable[..., SimpleNamespace]
Install = Callable[..., str]


def registry_of(folder: Path) -> BackendRegistry:
    return BackendRegistry(discover([str(folder)]), block=(), core_version="0.1.0")


def only_record_after_asking(registry: BackendRegistry) -> tuple[str, str, str]:
    """State, phase and cause of the one backend, which must be refused."""
    (record,) = registry.records()
    with pytest.raises(DeviceUnavailableError):
        registry.backend(record.tag)
    (record,) = registry.records()
    return record.state, record.phase, record.cause


def test_a_backend_is_imported_when_it_is_asked_for(site: Path, install: Install) -> None:
    """Looking at records imports nothing; asking for the tag does, and the record says so."""
    module = install(site, requires=["headrace>=0.1,<0.2"])
    registry = registry_of(site)

    before = registry.records()
    imported_early = module in sys.modules
    backend = registry.backend("toy")
    after = registry.records()

    assert not imported_early
    assert module in sys.modules
    assert [record.state for record in before] == ["found"]
    assert [record.state for record in after] == ["ready"]
    assert (backend.tag, backend.distribution, backend.version) == ("toy", "headrace-toy", "0.3.1")


def test_a_backend_is_loaded_once(make_plugin: Make) -> None:
    """The second question gets the first answer; hooks are not called again."""
    calls: list[str] = []

    def count() -> int:
        calls.append("count")
        return 2

    def headrace_devices() -> Iterator[DeviceEntry]:
        calls.append("devices")
        yield DeviceEntry("toy", count=count)

    registry = BackendRegistry.from_modules({"toy": make_plugin(headrace_devices=headrace_devices)})

    assert registry.backend("toy") is registry.backend("toy")
    assert registry.device_count("toy") == 2
    assert calls == ["devices", "count"]


def test_one_backend_is_asked_and_the_others_are_left_alone(site: Path, install: Install) -> None:
    """A broken backend harms nobody who does not ask for it."""
    install(site, "headrace-broken", tag="broken", source="raise RuntimeError('boom')")
    install(site)
    registry = registry_of(site)

    assert registry.backend("toy").tag == "toy"
    assert [record.state for record in registry.records()] == ["found", "ready"]


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("raise RuntimeError('boom\\n  twice')", "RuntimeError: boom twice"),
        ("raise ValueError", "ValueError"),
        ("import sys; sys.exit(3)", "it called sys.exit(3)"),
        ("raise GeneratorExit('odd')", "GeneratorExit: odd"),
        ("import not_there_at_all", "ModuleNotFoundError: No module named 'not_there_at_all'"),
        ("def f(:", "SyntaxError: invalid syntax (headrace_toy_plugin.py, line 1)"),
    ],
)
def test_an_import_that_fails_is_a_record(
    site: Path, install: Install, source: str, cause: str
) -> None:
    """Whatever is raised, the process goes on and the cause is kept."""
    install(site, source=source)

    assert only_record_after_asking(registry_of(site)) == ("import-failed", "import", cause)


def test_a_module_that_is_missing_is_a_record(site: Path, install: Install) -> None:
    """The entry point is there, the package's files are not."""
    (site / f"{install(site)}.py").unlink()

    state, _, cause = only_record_after_asking(registry_of(site))

    assert (state, cause) == (
        "import-failed", "ModuleNotFoundError: No module named 'headrace_toy_plugin'",
    )  # fmt: skip


def test_the_message_says_what_happened_and_what_to_do(site: Path, install: Install) -> None:
    """Tag, package, version, cause and one command, with the plugin's own error as the cause."""
    install(site, source="raise OSError('libtoy.so: cannot open shared object file')")

    with pytest.raises(DeviceUnavailableError) as caught:
        registry_of(site).backend("toy")

    assert str(caught.value) == (
        "backend 'toy' is installed (headrace-toy 0.3.1) but did not load: OSError: libtoy.so: "
        'cannot open shared object file. Try: python -c "import headrace_toy_plugin"'
    )
    assert isinstance(caught.value.__cause__, OSError)


def test_a_failure_is_remembered(site: Path, install: Install) -> None:
    """A broken module is imported once, and every question gets the same answer."""
    install(site, source="import builtins; builtins.toy_imports += 1; raise OSError('gone')")
    registry = registry_of(site)
    import builtins

    builtins.toy_imports = 0  # type: ignore[attr-defined]
    try:
        first, second = (only_record_after_asking(registry) for _ in range(2))
        assert first == second
        assert builtins.toy_imports == 1  # type: ignore[attr-defined]
    finally:
        del builtins.toy_imports  # type: ignore[attr-defined]


def test_ctrl_c_goes_through_and_leaves_no_trace(make_plugin: Make) -> None:
    """The user stops the loading, and the next question loads the plugin."""
    interrupt = [True]

    def headrace_devices() -> list[DeviceEntry]:
        if interrupt.pop():
            signal.raise_signal(signal.SIGINT)
        return [DeviceEntry("toy")]

    interrupt.insert(0, False)
    registry = BackendRegistry.from_modules({"toy": make_plugin(headrace_devices=headrace_devices)})

    # A shell that starts the tests in the background has them ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            registry.backend("toy")
    finally:
        signal.signal(signal.SIGINT, before)
    assert registry.records()[0].state is State.FOUND
    assert registry.backend("toy").tag == "toy"


def test_a_plugin_that_raises_keyboardinterrupt_is_no_user(make_plugin: Make) -> None:
    """It failed, like one that raises anything else; and the user's handler is as it was."""

    def headrace_devices() -> list[DeviceEntry]:
        raise KeyboardInterrupt("of my own")

    before = signal.getsignal(signal.SIGINT)
    registry = BackendRegistry.from_modules({"toy": make_plugin(headrace_devices=headrace_devices)})
    assert only_record_after_asking(registry)[2].endswith("KeyboardInterrupt: of my own")
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("raised", [OSError("no driver"), SystemExit("no driver")])
def test_no_hardware_is_a_state(make_plugin: Make, raised: BaseException) -> None:
    """No device, and a driver that does not open, are told apart by their cause."""

    def count() -> int:
        raise raised

    def with_count(count: Callable[[], int]) -> BackendRegistry:
        entry = DeviceEntry("toy", count=count)
        return BackendRegistry.from_modules({"toy": make_plugin(headrace_devices=lambda: [entry])})

    state, phase, cause = only_record_after_asking(with_count(count))
    assert (state, phase) == ("no-hardware", "count")
    assert "no driver" in cause
    assert only_record_after_asking(with_count(lambda: 0)) == (
        "no-hardware", "count", "it finds no device on this machine",
    )  # fmt: skip


def test_an_incompatible_backend_is_not_imported(site: Path, install: Install) -> None:
    """The range in its metadata decides before any of its code runs."""
    module = install(site, requires=["headrace>=0.2"])

    state, phase, _ = only_record_after_asking(registry_of(site))

    assert (state, phase) == ("incompatible", "discover")
    assert module not in sys.modules


def test_duplicates_are_refused_naming_both(site: Path, install: Install) -> None:
    """Neither of two packages with one tag is imported."""
    install(site, "headrace-toy")
    install(site, "rival-toy")

    with pytest.raises(
        DeviceUnavailableError, match=r"ambiguous: .*headrace-toy 0\.3\.1 and rival-toy 0\.3\.1"
    ):
        registry_of(site).backend("toy")
    assert not {"headrace_toy_plugin", "rival_toy_plugin"} & sys.modules.keys()


def test_of_a_chosen_pair_the_chosen_one_loads(site: Path, install: Install) -> None:
    """Blocking one distribution makes the tag the other's."""
    install(site, "headrace-toy")
    install(site, "rival-toy")
    registry = BackendRegistry(discover([str(site)]), block=["headrace-toy"], core_version="0.1")

    assert registry.backend("toy").distribution == "rival-toy"
    assert [record.state for record in registry.records()] == ["blocked", "ready"]


def test_a_blocked_backend_says_how_to_unblock_it(site: Path, install: Install) -> None:
    """It is not unknown: it is there, and a list leaves it out."""
    install(site)
    registry = BackendRegistry(discover([str(site)]), block=["toy"], core_version="0.1")

    with pytest.raises(
        DeviceUnavailableError, match=r"is blocked: .* Try: take it out of HEADRACE_DISABLE"
    ):
        registry.backend("toy")


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        (
            "ship",
            "no backend 'ship'; installed backends are train, truck. "
            "Try: pip install headrace-ship",
        ),
        (
            "trains",
            "no backend 'trains'; installed backends are train, truck. Did you mean 'train'? "
            "If not: pip install headrace-trains",
        ),
        (
            "TRAIN",
            "no backend 'TRAIN'; installed backends are train, truck. Did you mean 'train'? "
            "If not: pip install headrace-TRAIN",
        ),
        (
            "train:0",
            "no backend 'train:0'; installed backends are train, truck. Did you mean 'train'?",
        ),
    ],
)
def test_an_unknown_tag_says_what_there_is(make_plugin: Make, tag: str, message: str) -> None:
    """What is installed, what looks alike, and the package to install."""
    registry = BackendRegistry.from_modules(
        {"truck": make_plugin("truck"), "train": make_plugin("train")}
    )

    with pytest.raises(DeviceUnavailableError) as caught:
        registry.backend(tag)

    assert str(caught.value) == message
    with pytest.raises(DeviceUnavailableError):
        registry.device_count(tag)


def test_with_nothing_installed_the_message_says_so() -> None:
    """An empty list of backends is not printed as one."""
    with pytest.raises(DeviceUnavailableError) as caught:
        BackendRegistry(()).backend("ship")

    assert str(caught.value) == (
        "no backend 'ship'; no backend is installed. Try: pip install headrace-ship"
    )


def test_a_plugin_that_asks_for_itself_gets_an_error(make_plugin: Make) -> None:
    """Recursion ends in a message, and not in a deadlock or a half-made backend."""

    def headrace_kernels() -> tuple[()]:
        registry.backend("toy")
        return ()

    registry = BackendRegistry.from_modules({"toy": make_plugin(headrace_kernels=headrace_kernels)})

    state, _, cause = only_record_after_asking(registry)

    assert state == "invalid"
    assert "backend 'toy' (module SimpleNamespace) is being loaded and asks for itself" in cause


def test_a_plugin_may_ask_for_another(make_plugin: Make) -> None:
    """Backends may build upon each other through the registry."""

    def headrace_kernels() -> tuple[()]:
        assert registry.backend("base").tag == "base"
        return ()

    registry = BackendRegistry.from_modules(
        {"toy": make_plugin(headrace_kernels=headrace_kernels), "base": make_plugin("base")}
    )

    assert registry.backend("toy").kernels.ops() == ()


def test_threads_that_ask_together_get_one_backend(make_plugin: Make) -> None:
    """The first loads; the others wait for it and get the very same object."""
    calls: list[int] = []
    started, all_asking = threading.Barrier(5), threading.Event()

    def headrace_devices() -> list[DeviceEntry]:
        all_asking.wait(timeout=30)
        calls.append(1)
        return [DeviceEntry("toy")]

    registry = BackendRegistry.from_modules({"toy": make_plugin(headrace_devices=headrace_devices)})
    backends: list[object] = []

    def ask() -> None:
        started.wait(timeout=30)
        backends.append(registry.backend("toy"))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    started.wait(timeout=30)
    all_asking.set()
    for thread in threads:
        thread.join(timeout=30)

    assert len(backends) == 4
    assert len({id(backend) for backend in backends}) == 1
    assert calls == [1]


def test_threads_that_ask_for_different_tags_load_each_once(make_plugin: Make) -> None:
    """Sixteen threads, four backends that ask for each other in a chain: no deadlock."""
    tags = ["a", "b", "c", "d"]
    calls: list[str] = []
    started = threading.Barrier(16)

    def devices(tag: str, needs: str) -> Callable[[], list[DeviceEntry]]:
        def headrace_devices() -> list[DeviceEntry]:
            calls.append(tag)
            if needs:
                registry.backend(needs)
            return [DeviceEntry(tag)]

        return headrace_devices

    registry = BackendRegistry.from_modules(
        {
            tag: make_plugin(tag, headrace_devices=devices(tag, needs))
            for tag, needs in zip(tags, ["b", "c", "d", ""], strict=True)
        }
    )
    got: list[tuple[str, int]] = []

    def ask(tag: str) -> None:
        started.wait(timeout=30)
        got.append((tag, id(registry.backend(tag))))

    threads = [threading.Thread(target=ask, args=[tags[n % 4]], daemon=True) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert len(got) == 16
    assert len(set(got)) == 4
    assert sorted(calls) == tags


def test_from_modules_is_deaf_to_the_environment(
    make_plugin: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A registry of given modules holds exactly these."""
    monkeypatch.setenv("HEADRACE_BACKENDS", "other")
    monkeypatch.setenv("HEADRACE_DISABLE", "toy")

    registry = BackendRegistry.from_modules({"toy": make_plugin()})

    assert registry.backend("toy").distribution == ""
    assert registry.records()[0].origin.startswith("module ")


def test_the_default_registry_stays() -> None:
    """The same for the life of the process, so that nothing is loaded twice."""
    assert default_registry() is default_registry()


def test_a_record_prints_itself(site: Path, install: Install) -> None:
    """Tag, package, state and cause in one line."""
    install(site, source="raise OSError('gone')")
    registry = registry_of(site)
    found = str(registry.records()[0])
    only_record_after_asking(registry)

    assert found == "toy (headrace-toy 0.3.1): found"
    assert str(registry.records()[0]) == ("toy (headrace-toy 0.3.1): import-failed: OSError: gone")
