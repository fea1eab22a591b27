"""``headrace explain``: where each node of a model runs, and why there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headrace.cli.feeds import model_options, read_inputs, specs_for

if TYPE_CHECKING:
    from headrace.onnx.explain import ExplainedModel, ExplainedNode


@click.command()
@model_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, for programs.")
@click.pass_context
def explain(
    ctx: click.Context,
    model: Path,
    device: str,
    fallback: str | None,
    inputs: Sequence[str],
    dims: Sequence[str],
    as_json: bool,
) -> None:
    """Show for each node of an ONNX MODEL where it runs, by which kernel, why, and what is copied.

    Nothing runs and no device is opened. Exits with 1 if the device cannot run all of it, and then
    lists what it lacks, most needed first.
    """
    from headrace.onnx import load

    with load(model, device, fallback=fallback) as loaded:
        arrays = read_inputs(inputs, [info.name for info in loaded.inputs])
        explained = loaded.explain({**specs_for(loaded, arrays, dims), **arrays})
    if as_json:
        document = {"format": 1, "runs": explained.job.runs, **asdict(explained)}
        click.echo(json.dumps(document, indent=1))
    else:
        _print(explained)
    ctx.exit(0 if explained.job.runs else 1)


def _print(explained: ExplainedModel) -> None:
    from headrace.cli.show import print_table, printable

    colours = {"fallback": "yellow", "unsupported": "red"}
    print_table(
        ("node", "op", "how", "where", "by", "to device", "to host"),
        [
            (
                node.node.partition(": ")[2] or node.node,
                node.op_type,
                printable(node.how, colours.get(node.how, "")),
                ", ".join(dict.fromkeys(op.device for op in node.ops)) or "-",
                _by(node),
                sum(op.h2d_bytes for op in node.ops) or "-",
                sum(op.d2h_bytes for op in node.ops) or "-",
            )
            for node in explained.nodes
        ],
        right=("to device", "to host"),
    )
    _summarise(explained)


def _by(node: ExplainedNode) -> str:
    kernels = dict.fromkeys(kernel for op in node.ops for kernel in op.kernels)
    reasons = dict.fromkeys(op.why for op in node.ops if op.why and op.how != "decomposed")
    formats = dict.fromkeys(op.data_format for op in node.ops if op.data_format)
    return "; ".join((*kernels, *reasons, *formats)) or "-"


def _summarise(explained: ExplainedModel) -> None:
    from headrace.cli.show import escape

    job = explained.job
    counts = ", ".join(f"{count} {how}" for how, count in explained.counts().items())
    click.echo(f"{len(explained.nodes)} nodes: {counts}")
    for ran in job.passes:
        click.echo(escape(str(ran)))
    if job.runs:
        to_device = sum(op.h2d_bytes for op in job.ops)
        to_host = sum(op.d2h_bytes for op in job.ops)
        click.echo(
            f"copied in each run: {to_device} bytes to devices, {to_host} bytes back for ops, "
            f"{job.result_bytes} bytes of results"
        )
        click.echo(f"weights: {job.constant_bytes} bytes; planned in all: {job.memory_bytes} bytes")
    if job.missing:
        click.echo(f"what {explained.device} lacks, most wanted first:")
        for what, count in job.missing:
            click.echo(f"  {count} x {what}")
