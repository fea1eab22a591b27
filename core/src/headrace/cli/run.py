"""``headrace run``: one run of a model, its outputs as a table and as files; or a program."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from headrace.cli.feeds import model_options, random_arrays, read_inputs, specs_for, unsized_dims
from headrace.cli.options import random_inputs_option
from headrace.cli.outputs import show_outputs, write_outputs
from headrace.cli.program import run_program

if TYPE_CHECKING:
    from headrace.tensor_spec import Array, TensorSpec


@click.command()
@model_options
@random_inputs_option(None)
@click.option(
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write each output to DIR as a .npy file.",
)
@click.option(
    "--plan-cache/--no-plan-cache",
    default=True,
    help="Take the plan of MODEL that an earlier process kept, or keep it for the next. Default: "
    "as HEADRACE_PLAN_CACHE says.",
)
@click.argument("args", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGS...]")
def run(
    model: Path,
    args: Sequence[str],
    device: str,
    fallback: str | None,
    inputs: Sequence[str],
    dims: Sequence[str],
    seed: int | None,
    folder: Path | None,
    plan_cache: bool,
) -> None:
    """Run an ONNX MODEL or a compiled plan once and show its outputs, or run a Python program.

    A plan (a file that `headrace compile` wrote, whatever its name) runs where it was compiled for.
    Jobs and models of a program (MODEL ends in .py) that name no device run on --device; what
    follows `--` are its arguments.
    """
    if model.suffix == ".py":
        if inputs or dims or fallback or seed is not None or folder is not None:
            raise click.UsageError("a program takes --device and, after --, its own arguments")
        run_program(model, device, args)
        return
    from headrace.frontend.plan_file import is_plan_file

    if args:
        raise click.UsageError(f"a model takes no arguments; got {' '.join(args)}")
    if is_plan_file(model):
        if dims or fallback:
            raise click.UsageError(
                "a plan takes no --dim and no --fallback: it is compiled already"
            )
        asked = click.get_current_context().get_parameter_source("device")
        run_plan(
            model, device if asked is ParameterSource.COMMANDLINE else None, inputs, seed, folder
        )
        return
    run_model(model, device, fallback, inputs, dims, seed, folder, plan_cache)


def run_model(
    model: Path,
    device: str,
    fallback: str | None,
    inputs: Sequence[str],
    dims: Sequence[str],
    seed: int | None,
    folder: Path | None,
    plan_cache: bool = True,
) -> None:
    """Run a model once, show its outputs, and write them to ``folder`` if there is one."""
    from headrace.errors import InvalidModelError
    from headrace.onnx import load

    with load(model, device, fallback=fallback, plan_cache=plan_cache) as loaded:
        arrays = read_inputs(inputs, [info.name for info in loaded.inputs])
        specs = specs_for(loaded, arrays, dims)
        feeds = arrays | _drawn("model", specs, seed)
        started = time.perf_counter()
        try:
            loaded.prepare(feeds)
        except InvalidModelError as error:
            guessed = unsized_dims(loaded, arrays, dims)
            if not guessed:
                raise
            sizes = " ".join(f"--dim {dim}=N" for dim in guessed)
            raise InvalidModelError(
                f"{error} (open dimensions were taken as 1; say what they are with {sizes})"
            ) from error
        compiled = time.perf_counter()
        outputs = loaded.run(feeds)
        ended = time.perf_counter()
        _tell(outputs, compiled - started, ended - compiled, str(loaded.device), folder)


def run_plan(
    path: Path, device: str | None, inputs: Sequence[str], seed: int | None, folder: Path | None
) -> None:
    """Run a compiled plan once, show its outputs, and write them to ``folder`` if there is one."""
    from headrace.frontend.loaded_plan import load_plan

    started = time.perf_counter()
    with load_plan(path) as loaded:
        if device is not None and _named(device) != list(loaded.devices):
            raise click.UsageError(
                f"{path} was compiled for {', '.join(loaded.devices)}, not for {device}"
            )
        opened = time.perf_counter()
        arrays = read_inputs(inputs, [*loaded.inputs, *loaded.fixed])
        specs = {name: spec for name, spec in loaded.inputs.items() if name not in arrays}
        feeds = arrays | _drawn("plan", specs, seed)
        begun = time.perf_counter()
        outputs = loaded.run(feeds)
        ended = time.perf_counter()
        _tell(outputs, opened - started, ended - begun, ", ".join(loaded.devices), folder)


def _tell(
    outputs: Mapping[str, object], ready: float, ran: float, where: str, folder: Path | None
) -> None:
    """Show what came out, and after how many seconds, and write it if there is a folder for it."""
    show_outputs(outputs)
    click.echo(f"ready in {_duration(ready)}, ran in {_duration(ran)} on {where}")
    if folder is not None:
        write_outputs(outputs, folder)


def _drawn(what: str, specs: Mapping[str, TensorSpec], seed: int | None) -> dict[str, Array]:
    """Random values of the inputs that were not given, if there may be such."""
    if specs and seed is None:
        names = ", ".join(f"--input {name}=FILE.npy" for name in specs)
        raise click.UsageError(f"the {what} needs {names}, or --random-inputs SEED")
    return random_arrays(specs, seed or 0)


def _named(devices: str) -> list[str]:
    from headrace.placement import Placement

    place = Placement.of_devices(devices)
    return [place.device(index).name for index in range(place.parallel_num)]


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.2f} ms"
