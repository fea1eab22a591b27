"""What a user is told when a device cannot be had: one sentence why, and one next step."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import DeviceUnavailableError, Reason
from headrace.registry.record import BackendRecord, State
from headrace.registry.screen import CORE, TAG

_SAYS = {
    State.BLOCKED: "is blocked",
    State.INCOMPATIBLE: "does not fit this headrace",
    State.DUPLICATE: "is ambiguous",
    State.IMPORT_FAILED: "did not load",
    State.INVALID: "breaks the plugin contract",
    State.NO_HARDWARE: "has no device here",
}


def refused_backend(record: BackendRecord) -> DeviceUnavailableError:
    """The backend is installed, and ``record`` says why it is not served."""
    text = f"backend {record.tag!r} is installed ({record.origin}) but {_SAYS[record.state]}"
    if record.cause:
        text += f": {record.cause}"
    if record.hint:
        text += f"{'' if text.endswith('?') else '.'} Try: {record.hint}"
    return _error(text, Reason(record.state), record)


def being_loaded(record: BackendRecord, by_way_of: Sequence[str] = ()) -> DeviceUnavailableError:
    """A plugin asks for its own device while it is being loaded, perhaps through others."""
    way = f" by way of {', '.join(map(repr, by_way_of))}" if by_way_of else ""
    return _error(
        f"backend {record.tag!r} ({record.origin}) is being loaded and asks for itself{way}; "
        "a plugin must not use its own device while it is imported",
        Reason.LOADING,
        record,
    )


def no_such_index(record: BackendRecord, index: int, count: int) -> DeviceUnavailableError:
    """The backend works, and has fewer devices than that."""
    tag = record.tag
    there = f"{count} devices, {tag}:0 to {tag}:{count - 1}" if count > 1 else f"only {tag}:0"
    return _error(
        f"there is no device {tag}:{index}; {record.origin} has {there}",
        Reason.NO_SUCH_INDEX,
        record,
    )


def not_installed(tag: str, records: Sequence[BackendRecord]) -> DeviceUnavailableError:
    """No installed backend offers ``tag``."""
    tags = list(dict.fromkeys(record.tag for record in records))
    if tags:
        text = f"no backend {tag!r}; installed backends are {', '.join(tags)}"
    else:
        text = f"no backend {tag!r}; no backend is installed"
    hint = f"pip install {CORE}-{tag}" if TAG.match(tag) else ""
    from difflib import get_close_matches

    close = get_close_matches(tag.lower(), tags, 1)
    if close:
        text += f". Did you mean {close[0]!r}?"
        text += f" If not: {hint}" if hint else ""
    elif hint:
        text += f". Try: {hint}"
    return DeviceUnavailableError(text, tag=tag, reason=Reason.NOT_INSTALLED, hint=hint)


def _error(text: str, reason: Reason, record: BackendRecord) -> DeviceUnavailableError:
    return DeviceUnavailableError(
        text,
        tag=record.tag,
        reason=reason,
        distribution=record.distribution,
        version=record.version,
        entry_point=f"{record.tag} = {record.module}",
        phase=str(record.phase),
        cause=record.cause,
        hint=record.hint,
    )
