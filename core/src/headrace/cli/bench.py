"""``headrace bench``: how fast a model is, beside another runtime."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headrace.cli.feeds import (
    model_options,
    random_arrays,
    read_inputs,
    read_shapes,
    specs_for,
)
from headrace.cli.options import OutputFile, random_inputs_option

if TYPE_CHECKING:
    from headrace.bench import Comparison, Spread
    from headrace.tensor_spec import Array


PEERS = ("onnxruntime", "openvino")
"""Those of ``headrace.bench.runtimes``; numpy, which that needs, may be what is broken."""


class _Counts(click.ParamType[tuple[int, ...]]):
    """Numbers of threads, with commas."""

    name = "counts"

    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            counts = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            counts = ()
        if not counts or min(counts) < 1:
            self.fail(f"{value!r} is not a list of numbers of threads, such as 1,2", param, ctx)
        return tuple(dict.fromkeys(counts))


@click.command()
@model_options
@click.option(
    "--against",
    type=click.Choice(PEERS),
    default="onnxruntime",
    show_default=True,
    help="The runtime to compare with; a package of that name must be installed.",
)
@click.option(
    "--threads",
    type=_Counts(),
    default="1",
    show_default=True,
    metavar="N[,N...]",
    help="Threads of each runtime; several numbers are measured one after another.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Turns of each runtime, one after the other.",
)
@click.option(
    "--loads",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Processes of each runtime that load the model, one after the other.",
)
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="NAME=N,N,...",
    help="Shape of an input that gets random values.",
)
@random_inputs_option(0)
@click.option(
    "--json",
    "output",
    type=OutputFile(),
    metavar="FILE",
    help="Write what was measured to FILE as well.",
)
def bench(
    model: Path,
    device: str,
    fallback: str | None,
    inputs: Sequence[str],
    dims: Sequence[str],
    against: str,
    threads: tuple[int, ...],
    rounds: int,
    loads: int,
    shapes: Sequence[str],
    seed: int,
    output: Path | None,
) -> None:
    """Measure an ONNX MODEL on --device and in another runtime, side by side.

    Each runtime has a process of its own; they take turns, and ratios compare turns of one round.
    Load time is from the file to the first outputs, in a new process each time: first, when
    headrace compiles the model, and next, when it finds the plan that an earlier process kept.
    Memory is the peak of resident memory.
    """
    from headrace.bench import compare
    from headrace.bench.runtimes import require_peer
    from headrace.cli.progress import counting
    from headrace.cli.show import escape
    from headrace.onnx import load

    require_peer(against)
    with load(model, device, fallback=fallback) as loaded:
        arrays = read_inputs(inputs, [info.name for info in loaded.inputs])
        shaped = read_shapes(shapes, loaded, arrays)
        specs = specs_for(loaded, {**shaped, **arrays}, dims)
        feeds = arrays | random_arrays({**shaped, **specs}, seed)
        device = loaded.device
    steps = (loads + rounds) * len(threads)
    with counting(f"measuring {escape(str(model))}", steps) as one_more:
        compared = compare(
            model,
            feeds,
            device=device,
            against=against,
            fallback=fallback,
            threads=threads,
            rounds=rounds,
            loads=loads,
            after_each=one_more,
        )
    _print(compared, device, against)
    if output is not None:
        asked = {
            "model": str(model),
            "device": device,
            "against": against,
            "rounds": rounds,
            "loads": loads,
        }
        _write(output, asked, feeds, compared)
        click.echo(f"wrote {escape(str(output))}", err=True)


def _write(
    output: Path,
    asked: Mapping[str, object],
    feeds: Mapping[str, Array],
    compared: Sequence[Comparison],
) -> None:
    document = {
        "format": 1,
        **asked,
        "inputs": {name: [array.dtype.name, *array.shape] for name, array in feeds.items()},
        "compared": [comparison.as_dict() for comparison in compared],
    }
    output.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


def _print(compared: Sequence[Comparison], device: str, against: str) -> None:
    from headrace.cli.show import print_table

    columns = ("threads", "", "headrace", against, "ratio", "10 % .. 90 %")
    rows = [row for comparison in compared for row in _rows(comparison)]
    print_table(columns, rows, right=columns[2:])
    apart = max(each.difference for each in compared)
    click.echo(f"on {device}; outputs differ by {apart:.1e} of the largest")
    finite = min(each.finite for each in compared)
    if finite < 1:
        click.echo(
            f"only {finite:.0%} of the numbers of an output are finite in both, and others tell "
            "little; give other inputs with --input, or look at the weights of the model"
        )


def _rows(comparison: Comparison) -> Iterator[tuple[object, ...]]:
    """The rows of one number of threads, which only the first of them names."""
    ours, theirs = comparison.headrace, comparison.peer
    call = ours.call_seconds, theirs.call_seconds, comparison.ratio
    first_load = ours.load_seconds, theirs.load_seconds, comparison.load_ratio
    next_load = comparison.next_load_seconds, theirs.load_seconds, comparison.next_load_ratio
    yield comparison.threads, "a call, ms", *_times(*call)
    yield "", "first load, ms", *_times(*first_load)
    yield "", "next load, ms", *_times(*next_load)
    megabytes = (f"{each.peak_bytes / 1e6:.1f}" for each in (ours, theirs))
    yield "", "peak memory, MB", *megabytes, f"{ours.peak_bytes / theirs.peak_bytes:.2f}", ""


def _times(ours: Spread, theirs: Spread, ratio: Spread) -> tuple[object, ...]:
    return (_milliseconds(ours), _milliseconds(theirs), *_ratio(ratio))


def _milliseconds(spread: Spread) -> str:
    return f"{spread.median * 1e3:.3f} ({spread.p10 * 1e3:.3f} .. {spread.p90 * 1e3:.3f})"


def _ratio(spread: Spread) -> tuple[object, str]:
    """The median, and where eight of ten lie."""
    from headrace.cli.show import printable

    colour = "green" if spread.median <= 1 else "yellow"
    return (
        printable(f"{spread.median:.2f}", colour),
        f"{spread.p10:.2f} .. {spread.p90:.2f}",
    )
