"""``headrace compile``: an ONNX model for one set of input shapes, as a plan file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headrace.cli.feeds import dim_option, read_array, specs_for, split_inputs
from headrace.cli.options import OutputFile, device_option, fallback_option

if TYPE_CHECKING:
    from headrace.tensor_spec import Array, TensorSpec

_SHAPE = re.compile(r"[0-9]+(,[0-9]+)*\Z")


@click.command("compile")
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@device_option
@fallback_option
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=SHAPE",
    help="Shape of an input, like 1,3,224,224; or NAME=FILE.npy, its value, where that decides "
    "shapes.",
)
@dim_option
@click.option(
    "-o",
    "--output",
    "output",
    required=True,
    type=OutputFile(),
    metavar="FILE",
    help="Where the plan and its weights are written.",
)
def compile_model(
    model: Path,
    device: str,
    fallback: str | None,
    inputs: Sequence[str],
    dims: Sequence[str],
    output: Path,
) -> None:
    """Compile an ONNX MODEL for a device into a FILE that `headrace run` takes instead of it.

    FILE is for one set of input shapes, and for this version of headrace and of the device's
    plugin. Running it needs neither MODEL nor the package onnx.
    """
    from headrace.cli.show import escape
    from headrace.onnx import load
    from headrace.tensor_spec import TensorSpec

    with load(model, device, fallback=fallback) as loaded:
        dtypes = {info.name: info.dtype for info in loaded.inputs}
        given: dict[str, TensorSpec | Array] = {
            name: TensorSpec([int(dim) for dim in text.split(",")], dtypes[name])
            if _SHAPE.match(text)
            else read_array(name, text)
            for name, text in split_inputs(inputs, dtypes).items()
        }
        loaded.save_plan(output, given | specs_for(loaded, given, dims))
    click.echo(escape(f"{model} for {loaded.device} -> {output} ({output.stat().st_size:,} bytes)"))
