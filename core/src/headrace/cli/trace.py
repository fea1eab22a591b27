"""``headrace trace``: where the time of a model goes, as a table and as a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from headrace.cli.feeds import model_options, random_arrays, read_inputs, specs_for
from headrace.cli.options import OutputFile, random_inputs_option


@click.command()
@model_options
@random_inputs_option(0)
@click.option(
    "--calls", type=click.IntRange(min=1), default=10, show_default=True, help="How many to record."
)
@click.option(
    "-o",
    "--output",
    type=OutputFile(),
    metavar="FILE.json",
    help="Write the timeline to FILE.json, for ui.perfetto.dev or chrome://tracing.",
)
@click.option(
    "--html",
    type=OutputFile(),
    metavar="FILE",
    help="Write the timeline to FILE as a web page, with the plan beside it.",
)
def trace(
    model: Path,
    device: str,
    fallback: str | None,
    inputs: Sequence[str],
    dims: Sequence[str],
    seed: int,
    calls: int,
    output: Path | None,
    html: Path | None,
) -> None:
    """Run an ONNX MODEL and show which ops took how long, on which device.

    Every task is waited for, so that its time is its own. A first call warms up and is not counted.
    """
    from headrace.cli.progress import counting
    from headrace.cli.show import escape, print_table
    from headrace.onnx import load

    with load(model, device, fallback=fallback) as loaded:
        arrays = read_inputs(inputs, [info.name for info in loaded.inputs])
        feeds = arrays | random_arrays(specs_for(loaded, arrays, dims), seed)
        with counting(f"tracing {escape(str(model))}", calls) as one_more:
            traced = loaded.trace(feeds, calls, after_each=one_more)
    columns = ("task", "device", "count a call", "ms a call", "share")
    rows = [
        (
            time.what,
            time.device,
            f"{time.count / calls:g}",
            f"{time.seconds / calls * 1e3:.3f}",
            f"{time.share:.1%}",
        )
        for time in traced.times()
    ]
    print_table(columns, rows, right=columns[2:])
    click.echo(f"{traced.seconds / calls * 1e3:.3f} ms a call, each task waited for")
    if output is not None:
        traced.save(output)
        click.echo(f"wrote {escape(str(output))}; open it at ui.perfetto.dev", err=True)
    if html is not None:
        traced.save_page(html)
        click.echo(f"wrote {escape(str(html))}; open it in a browser", err=True)
