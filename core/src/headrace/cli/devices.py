"""``headrace devices``: what is installed, what of it works, and why not the rest."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout, suppress
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from headrace.registry import BackendRecord, BackendRegistry

GOOD, BAD, LEFT_OUT = "green", "red", "yellow"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list, for programs.")
def devices(as_json: bool) -> None:
    """List the installed backends.

    Each is loaded and asked for its devices. A backend that does not work is listed with the
    cause; it makes neither the others nor this command fail.
    """
    from headrace.registry import default_registry

    rows = [_describe(registry, record) for registry, record in _load_all(default_registry())]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif rows:
        _print(rows)
    else:
        click.echo("no backend is installed. Try: pip install headrace-cpu")


def _load_all(registry: BackendRegistry) -> list[tuple[BackendRegistry, BackendRecord]]:
    """Load every backend that may be loaded; what went wrong is in the records."""
    from headrace.errors import DeviceUnavailableError

    # What a plugin prints while it loads must not end up in the JSON.
    with redirect_stdout(sys.stderr):
        for record in registry.records():
            with suppress(DeviceUnavailableError):
                registry.backend(record.tag)
    return [(registry, record) for record in registry.records()]


def _describe(registry: BackendRegistry, record: BackendRecord) -> dict[str, Any]:
    """A record and, where the backend is ready, what it offers, as JSON values."""
    row: dict[str, Any] = {
        "tag": record.tag,
        "state": str(record.state),
        "phase": str(record.phase),
        "distribution": record.distribution,
        "version": record.version,
        "module": record.module,
        "cause": record.cause,
        "hint": record.hint,
        "devices": 0,
        "memory": None,
        "kernels": 0,
        "ops": 0,
        "api_version": None,
        "capabilities": [],
        "versions": {},
    }
    if record.state == "ready":
        backend = registry.backend(record.tag)
        ops = backend.kernels.ops()
        row |= {
            "devices": registry.device_count(record.tag),
            "memory": backend.allocator.memory_kind.value,
            "kernels": sum(len(backend.kernels.entries(op)) for op in ops),
            "ops": len(ops),
            "api_version": ".".join(map(str, backend.device.api_version)),
            "capabilities": sorted(map(str, backend.device.capabilities)),
            "versions": {str(k): str(v) for k, v in backend.device.versions.items()},
        }
    return row


def _print(rows: list[dict[str, Any]]) -> None:
    from headrace.cli.show import print_table, printable

    colours = {"ready": GOOD, "blocked": LEFT_OUT, "no-hardware": LEFT_OUT}
    print_table(
        ("device", "state", "package", "devices", "memory", "kernels", "details"),
        [
            (
                row["tag"],
                printable(row["state"], colours.get(row["state"], BAD)),
                f"{row['distribution']} {row['version']}".strip() or row["module"],
                row["devices"] or "-",
                row["memory"] or "-",
                f"{row['kernels']} for {row['ops']} ops" if row["ops"] else "-",
                _details(row),
            )
            for row in rows
        ],
        right=("devices",),
    )


def _details(row: dict[str, Any]) -> str:
    if row["cause"]:
        return f"{row['cause']}. Try: {row['hint']}" if row["hint"] else str(row["cause"])
    return ", ".join(f"{name} {version}" for name, version in row["versions"].items())
