"""``headrace cache``: the plans that were kept for the next start, and how to be rid of them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from headrace.cli.group import CommandError

if TYPE_CHECKING:
    from headrace.frontend.plan_cache import PlanStore, StoredFile


@click.command()
@click.option("--clear", is_flag=True, help="Remove all of them.")
def cache(clear: bool) -> None:
    """List the plans that are kept on disk, the latest used first.

    `headrace run` and headrace.onnx.load take them instead of compiling the same model again. Those
    used longest ago go by themselves; nothing is lost by removing any.
    """
    from headrace.frontend.plan_cache import PlanStore, limit_bytes, plan_folder

    limit, folder = limit_bytes(), plan_folder()
    if folder is None:
        raise CommandError("there is no folder for plans; choose one with HEADRACE_CACHE")
    store = PlanStore(folder, limit)
    if clear:
        _clear(store)
    else:
        _show(store)


def _clear(store: PlanStore) -> None:
    from headrace.cli.show import escape

    before = store.files()
    left = store.clear()
    if left:
        raise CommandError(
            f"{len(left)} of {len(before)} files in {store.folder} cannot be removed, the first: "
            f"{left[0].path}. Try: delete the folder as a user who may"
        )
    plans = sum(file.is_plan for file in before)
    nbytes = sum(file.nbytes for file in before)
    click.echo(escape(f"removed {_plans(plans)} of {nbytes:,} bytes from {store.folder}"))


def _show(store: PlanStore) -> None:
    from headrace.cli.show import escape, print_table

    files = store.files()
    plans = [file for file in reversed(files) if file.is_plan]
    if plans:
        columns = ("plan", "device", "inputs", "bytes", "last used")
        print_table(columns, map(_row, plans), right=("bytes",))
    nbytes = sum(file.nbytes for file in files)
    most = f"at most {store.limit:,}" if store.limit else "switched off by HEADRACE_PLAN_CACHE=0"
    click.echo(escape(f"{_plans(len(plans))} in {store.folder}: {nbytes:,} bytes, {most}"))


def _row(file: StoredFile) -> tuple[str, str, str, str, str]:
    from headrace.errors import PlanError
    from headrace.frontend.plan_file import read_kept_file
    from headrace.frontend.versions import devices_of

    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(file.used_ns / 1e9))
    try:
        saved = read_kept_file(file.path).saved
    except PlanError as error:  # it is made again by whoever wants it
        return file.path.name, "-", str(error), f"{file.nbytes:,}", used
    devices = ", ".join(f"{tag}:{index}" for tag, index in devices_of(saved.plan))
    inputs = ", ".join(f"{port.name}: {port.spec}" for port in saved.inputs)
    return saved.plan.name, devices, inputs, f"{file.nbytes:,}", used


def _plans(count: int) -> str:
    return f"{count} plan" if count == 1 else f"{count} plans"
