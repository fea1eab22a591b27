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
@click.option(
    "--stage",
    metavar="NAME",
    help="Show what one stage of compiling made, not the plan that came of it; "
    "'all': every stage; 'changes': what each pass took away and brought.",
)
def plan(
    model: Path,
    device: str,
    fallback: str | None,
    inputs: Sequence[str],
    dims: Sequence[str],
    stage: str | None,
) -> None:
    """Show the plan of an ONNX MODEL: actors, their tasks, memory, and passes of plugins.

    The plan is for one set of input shapes; --dim and --input choose it. Nothing runs.

    Stages, in order: building, remove_dead_ops, merge_equal_ops, cancel_moves, fold_normalization,
    remove_what_is_left, shard_ops, then TAG.PASS for passes of plugins, lower_ops, op_graph,
    task_graph, chains, memory_plan, plan.
    """
    from headrace.cli.show import escape
    from headrace.onnx import load
    from headrace.plan.dump import dump

    with load(model, device, fallback=fallback) as loaded:
        arrays = read_inputs(inputs, loaded)
        specs = specs_for(loaded, arrays, dims)
        feeds: dict[str, TensorSpec | Array] = {**specs, **arrays}
        if stage is not None:
            from headrace.frontend.stages import stage_text

            for line in stage_text(loaded.stages_for(feeds), stage):
                click.echo(escape(line))
            return
        for line in dump(loaded.plan_for(feeds)).splitlines():
            click.echo(escape(line))
        for ran in loaded.passes_for(feeds):
            click.echo(escape(str(ran)))
