"""``headrace plan``: what would run, as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headrace.cli.feeds import model_options, read_inputs, specs_for

if TYPE_CHECKING:
    from headrace.tensor_spec import Array, TensorSpec


@click.command()
@model_options
def plan(
    model: Path,
    device: str,
    fallback: str | None,
    inputs: Sequence[str],
    dims: Sequence[str],
) -> None:
    """Show the plan of an ONNX MODEL: actors, their tasks, memory, and passes of plugins.

    The plan is for one set of input shapes; --dim and --input choose it. Nothing runs.
    """
    from headrace.cli.show import escape
    from headrace.onnx import load
    from headrace.plan.dump import dump

    with load(model, device, fallback=fallback) as loaded:
        arrays = read_inputs(inputs, loaded)
        specs = specs_for(loaded, arrays, dims)
        feeds: dict[str, TensorSpec | Array] = {**specs, **arrays}
        for line in dump(loaded.plan_for(feeds)).splitlines():
            click.echo(escape(line))
        for ran in loaded.passes_for(feeds):
            click.echo(escape(str(ran)))
