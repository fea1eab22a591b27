"""Variables of the environment: what they may be, and what is said when they are not."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

import headrace as flow
from headrace.compiler.pipeline import verifies
from headrace.errors import JobError, SettingError
from headrace.frontend.fallback import fallback_of
from headrace.frontend.memory_options import memory_options_of
from headrace.frontend.plan_cache import limit_bytes
from headrace.runtime.limits import stated_memory_limit


@pytest.mark.parametrize(
    ("variable", "value", "allowed", "read"),
    [
        ("HEADRACE_VERIFY", "yes", "0 or 1", verifies),
        ("HEADRACE_ENABLE_INPLACE", "no", "0 or 1", memory_options_of),
        ("HEADRACE_ENABLE_REUSE_MEM", "2", "0 or 1", memory_options_of),
        ("HEADRACE_FALLBACK", "never", "one of error, warn, allow", lambda: fallback_of(None)),
        ("HEADRACE_MEMORY_LIMIT", "4GB", "a number of bytes", stated_memory_limit),
        ("HEADRACE_MEMORY_LIMIT", "-1", "a number of bytes", stated_memory_limit),
        ("HEADRACE_PLAN_CACHE", "1e9", "0 for no cache, or its size in bytes", limit_bytes),
    ],
)
def test_what_a_variable_cannot_be_is_said(
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    allowed: str,
    read: Callable[[], object],
) -> None:
    """With its name, what it is and what it may be; nothing passes for the default."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingError) as caught:
        read()
    assert f"{variable} is {value!r}; it must be {allowed}" in str(caught.value)
    monkeypatch.setenv(variable, "")
    read()


def test_the_error_survives_a_process() -> None:
    """A worker may hand it to its parent."""
    error = pickle.loads(pickle.dumps(SettingError("HEADRACE_X", "a", "b")))
    assert (str(error), error.variable) == ("HEADRACE_X is 'a'; it must be b", "HEADRACE_X")


@pytest.mark.parametrize("option", ["enable_inplace", "enable_reuse_mem"])
@pytest.mark.parametrize("value", ["no", 0, 1.0])
def test_what_an_option_cannot_be_is_said(option: str, value: object) -> None:
    """A text is no switch: "no" would be yes."""
    config = flow.FunctionConfig()
    setattr(config, option, value)
    with pytest.raises(JobError, match=f"{option} is {value!r}; it must be True, False or None"):
        _ = config.memory


@pytest.mark.parametrize("wrong", ["cpu", None, flow.scope.consistent_view()])
def test_a_placement_is_given_as_a_scope(wrong: object) -> None:
    """The name of a device is none; how to make one is said."""
    with pytest.raises(JobError, match=r"default_placement_scope was given .*scope\.placement\("):
        flow.FunctionConfig().default_placement_scope(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["mirrored", flow.scope.placement("cpu", "0:0")])
def test_a_view_is_given_as_a_scope(wrong: object) -> None:
    """Its name is none; the error says what may be given instead."""
    with pytest.raises(JobError, match=r"default_logical_view was given .*mirrored_view\(\) or"):
        flow.FunctionConfig().default_logical_view(wrong)  # type: ignore[arg-type]
