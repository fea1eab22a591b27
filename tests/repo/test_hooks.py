"""Every hook is documented, tested and implementable."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headrace import hookspecs

PREFIX = "headrace_"
HOOKS: dict[str, Callable[..., Any]] = {
    name: value for name, value in vars(hookspecs).items() if hasattr(value, "headrace_spec")
}
PLUGINS = ["cambricon", "cpu", "fakedevice"]


def implementations(module: ModuleType) -> dict[str, Callable[..., Any]]:
    return {name: value for name, value in vars(module).items() if hasattr(value, "headrace_impl")}


def unusable_parameters(implementation: Callable[..., Any]) -> list[str]:
    """Parameters to which pluggy would never pass the caller's value."""
    return [
        parameter.name
        for parameter in inspect.signature(implementation).parameters.values()
        if parameter.default is not parameter.empty
        or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD
    ]


def test_the_required_hooks_are_there() -> None:
    assert HOOKS.keys() >= set(hookspecs.REQUIRED_HOOKS)
    assert all(name.startswith(PREFIX) for name in HOOKS)


@pytest.mark.parametrize("hook", HOOKS)
def test_hook_says_when_and_what(hook: str) -> None:
    """When it is called, how often, and what it returns: the three questions of an implementer."""
    text = inspect.getdoc(HOOKS[hook]) or ""
    assert "Called " in text
    assert "Returns:" in text


@pytest.mark.parametrize("hook", HOOKS)
def test_hook_is_documented_or_its_example_runs(hook: str, root: Path) -> None:
    page = root / "docs/hooks.md"
    documented = page.is_file() and f"`{hook}`" in page.read_text("utf-8")
    finder = doctest.DocTestFinder(recurse=False)
    examples = finder.find(HOOKS[hook], hook, globs=dict(vars(hookspecs)))
    assert documented or any(test.examples for test in examples)
    output: list[str] = []
    runner = doctest.DocTestRunner()
    for test in examples:
        runner.run(test, out=output.append)
    assert runner.failures == 0, "".join(output)


@pytest.mark.parametrize("hook", HOOKS)
def test_the_page_shows_the_exact_signature(hook: str, root: Path) -> None:
    """docs/hooks.md has a heading for each hook, and under it the signature as it is."""
    signature = str(inspect.signature(HOOKS[hook])).replace("'", "")
    page = (root / "docs/hooks.md").read_text("utf-8")
    assert f"## {hook}\n\n`{hook}{signature}`" in page


@pytest.mark.parametrize("hook", HOOKS)
def test_hook_has_a_test_of_its_name(hook: str, root: Path) -> None:
    """Searched in the tests of core, in the conformance suite and in the plugins' own tests."""
    folders = ["tests", "core/src/headrace/testing", "plugins"]
    wanted = re.compile(rf"^\s*def test_\w*{hook}\b|^\s*def test_\w*{hook}_", re.MULTILINE)
    files = (path for folder in folders for path in (root / folder).rglob("test_*.py"))
    assert any(wanted.search(path.read_text("utf-8")) for path in files)


@pytest.mark.parametrize("tag", PLUGINS)
def test_implementations_take_what_core_passes(tag: str) -> None:
    """No default and no keyword-only parameter; no name that the hook does not have."""
    found = implementations(import_module(f"headrace_{tag}.plugin"))
    assert found.keys() >= set(hookspecs.REQUIRED_HOOKS)
    for name, implementation in found.items():
        assert unusable_parameters(implementation) == []
        allowed = inspect.signature(HOOKS[name]).parameters
        assert inspect.signature(implementation).parameters.keys() <= allowed.keys()


@pytest.mark.parametrize("tag", PLUGINS)
def test_records_are_frozen(tag: str) -> None:
    """What a plugin returned cannot change after core has read it."""
    module = import_module(f"headrace_{tag}.plugin")
    for hook, implementation in implementations(module).items():
        for record in implementation():
            assert dataclasses.is_dataclass(record), hook
            parameters = vars(type(record))["__dataclass_params__"]
            assert parameters.frozen, hook


def test_a_default_is_found() -> None:
    def with_default(a, b=1): ...
    def with_keyword_only(a, *, b): ...
    def plain(a, b): ...

    assert unusable_parameters(with_default) == ["b"]
    assert unusable_parameters(with_keyword_only) == ["b"]
    assert unusable_parameters(plain) == []
