"""``headrace plan``: what would run, as text or as a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headrace.cli.feeds import model_options, read_inputs, specs_for
from headrace.cli.options import OutputFile

if TYPE_CHECKING:
    from headrace.plan import Plan
    from headrace.plan.saved import PassRun
    from headrace.tensor_spec import Array, TensorSpec


@click.command()
@model_options
@click.option(
    "--stage",
    metavar="NAME",
    help="Show the result of one stage of compiling instead of the final plan; "
    "'all': every stage; 'changes': what each pass removed and added.",
)
@click.option(
    "--html",
    type=OutputFile(),
    metavar="FILE",
    help="Write the plan to FILE as a web page: ops, streams, memory over time.",
)
def plan(
    model: Path,
    device: str,
    fallback: str | None,
    inputs: Sequence[str],
    dims: Sequence[str],
    stage: str | None,
    html: Path | None,
) -> None:
    """Show the plan of an ONNX MODEL, or of a plan file: actors, tasks, memory, plugins' passes.

    The plan is for one set of input shapes; --dim and --input choose it. Nothing runs. --html
    writes a page instead of the text; docs/plan.md says how to read both.

    Stages, in order: building, remove_dead_ops, merge_equal_ops, cancel_moves, fold_normalization,
    remove_what_is_left, shard_ops, choose_layouts, TAG.PASS for passes of plugins over quantized
    numbers, fold_late, TAG.PASS for their other passes, fold_last, lower_ops, boxing, op_graph,
    task_graph, chains, memory_plan, plan.
    """
    from headrace.frontend.plan_file import is_plan_file

    if is_plan_file(model):
        if inputs or dims or fallback or stage is not None:
            raise click.UsageError("a plan takes --html and nothing else: it is compiled already")
        _show_file(model, html)
    else:
        _show_model(model, device, fallback, inputs, dims, stage, html)


def _show_file(path: Path, html: Path | None) -> None:
    from headrace.frontend.plan_file import read_plan_file
    from headrace.page import render_page

    saved = read_plan_file(path).saved
    if html is not None:
        _write(html, render_page(saved.plan))
    else:
        _print_plan(saved.plan, saved.passes)


def _show_model(
    model: Path,
    device: str,
    fallback: str | None,
    inputs: Sequence[str],
    dims: Sequence[str],
    stage: str | None,
    html: Path | None,
) -> None:
    from headrace.frontend.stages import stage_text
    from headrace.onnx import load

    with load(model, device, fallback=fallback) as loaded:
        arrays = read_inputs(inputs, [info.name for info in loaded.inputs])
        specs = specs_for(loaded, arrays, dims)
        feeds: dict[str, TensorSpec | Array] = {**specs, **arrays}
        if html is not None:
            _write(html, loaded.plan_page(feeds))
        if stage is not None:
            _print_lines(stage_text(loaded.stages_for(feeds), stage))
        elif html is None:
            _print_plan(loaded.plan_for(feeds), loaded.passes_for(feeds))


def _print_plan(plan: Plan, passes: Sequence[PassRun]) -> None:
    from headrace.plan import dump

    _print_lines(dump(plan).splitlines())
    _print_lines(map(str, passes))


def _print_lines(lines: Iterable[str]) -> None:
    from headrace.cli.show import escape

    for line in lines:
        click.echo(escape(line))


def _write(html: Path, text: str) -> None:
    from headrace.cli.show import escape

    html.write_text(text, "utf-8")
    click.echo(f"wrote {escape(str(html))}", err=True)
