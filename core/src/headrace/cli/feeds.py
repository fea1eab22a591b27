"""Inputs of a model from options: files, random numbers, sizes of open dimensions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from headrace.cli.options import device_option, fallback_option

if TYPE_CHECKING:
    import numpy as np

    from headrace.dtypes import DType
    from headrace.onnx.model import Model
    from headrace.onnx.signature import TensorInfo
    from headrace.tensor_spec import Array, TensorSpec

_Function = TypeVar("_Function", bound=Callable[..., Any])

DEFAULT_SIZE = 1
"""Size of an open dimension that neither ``--dim`` nor an input of the user decides."""

LARGEST_RANDOM_BYTES = 1 << 32
"""Of an input that is made up: a larger one is a mistyped size more often than it is meant."""

dim_option = click.option(
    "--dim",
    "dims",
    multiple=True,
    metavar="NAME=N",
    help="Size of an open dimension of the inputs, by its name in the model. Default: 1.",
)


def model_options(function: _Function) -> _Function:
    """Add the argument and the options that every command about a model has."""
    for decorate in (
        dim_option,
        click.option(
            "--input",
            "inputs",
            multiple=True,
            metavar="NAME=FILE.npy",
            help="Value of an input.",
        ),
        fallback_option,
        device_option,
        click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path)),
    ):
        function = decorate(function)
    return function


def split_inputs(texts: Sequence[str], names: Collection[str]) -> dict[str, str]:
    """What ``--input`` gives for each of the inputs that it names.

    Raises:
        InputError: an option is malformed, or names no input, or one twice.
    """
    from headrace.errors import InputError

    given: dict[str, str] = {}
    for text in texts:
        # Both the name and the path may hold '=': the split is where a name of the model ends.
        name = next((n for n in names if text.startswith(f"{n}=")), None)
        if name is None:
            known = ", ".join(map(repr, names)) or "none"
            raise InputError(
                f"--input {text!r} does not begin with the name of an input and '='; "
                f"the model's inputs are {known}"
            )
        if name in given:
            raise InputError(f"--input gives {name!r} twice")
        given[name] = text[len(name) + 1 :]
    return given


def read_inputs(texts: Sequence[str], names: Collection[str]) -> dict[str, Array]:
    """The arrays that ``--input`` names.

    Raises:
        InputError: as ``split_inputs``, or a file is no array.
    """
    return {name: read_array(name, file) for name, file in split_inputs(texts, names).items()}


def specs_for(
    model: Model, given: Mapping[str, Array | TensorSpec], dim_texts: Sequence[str]
) -> dict[str, TensorSpec]:
    """Specs of the required inputs of which nothing is given, with all dimensions decided.

    An open dimension has the size that ``--dim`` says, else the one that what is given has
    where the model uses the same name, else 1.

    Raises:
        InputError: ``--dim`` is malformed or names no dimension; the rank of an input is open.
    """
    from headrace.errors import InputError
    from headrace.tensor_spec import TensorSpec

    sizes = _sizes_of(model, given) | _read_dims(dim_texts, model)
    specs = {}
    for info in model.inputs:
        if info.optional or info.name in given:
            continue
        if info.kind != "tensor":
            raise InputError(
                f"input {info.name!r} is {info}, of which nothing is made up; give its value: "
                f"--input {info.name}=FILE.npy"
            )
        if info.shape is None:
            raise InputError(
                f"input {info.name!r} has no rank in the model; give its value: "
                f"--input {info.name}=FILE.npy"
            )
        shape = [
            dim if isinstance(dim, int) else sizes.get(dim or "", DEFAULT_SIZE)
            for dim in info.shape
        ]
        specs[info.name] = TensorSpec(shape, info.dtype)
    return specs


def read_shapes(
    texts: Sequence[str], model: Model, given: Mapping[str, Array]
) -> dict[str, TensorSpec]:
    """Specs of the inputs whose shape ``--shape`` gives.

    Raises:
        InputError: an option is malformed, or names no input, or one twice or of ``given``.
    """
    from headrace.errors import InputError
    from headrace.tensor_spec import TensorSpec

    known = {info.name: info for info in model.inputs}
    specs: dict[str, TensorSpec] = {}
    for text in texts:
        name, _, sizes = text.rpartition("=")
        dims = sizes.split(",") if sizes else []
        if not name or not all(dim.isascii() and dim.isdecimal() for dim in dims):
            raise InputError(f"--shape {text!r} is not NAME=N,N,..., for example x=1,3,224,224")
        if name not in known:
            names = ", ".join(map(repr, known)) or "none"
            raise InputError(f"--shape {text!r}: the model's inputs are {names}")
        if name in specs or name in given:
            raise InputError(f"--shape {text!r}: input {name!r} is given already")
        specs[name] = TensorSpec(tuple(map(int, dims)), known[name].dtype)
    return specs


def unsized_dims(model: Model, arrays: Mapping[str, Array], dim_texts: Sequence[str]) -> list[str]:
    """The open dimensions of the model that ``specs_for`` takes as 1 for want of a size."""
    sizes = _sizes_of(model, arrays) | _read_dims(dim_texts, model)
    fed = [info for info in model.inputs if not info.optional and info.name not in arrays]
    return [dim for dim in _open_dims(fed) if dim not in sizes]


def random_arrays(specs: Mapping[str, TensorSpec], seed: int) -> dict[str, Array]:
    """An array for each spec, the same for the same seed.

    Floats are from the standard normal distribution, bytes are 0 to 255, other integers are 0 or
    1: these are often indices, and a model has at least two of whatever it looks up.
    """
    import numpy as np

    from headrace.errors import InputError

    for name, spec in specs.items():
        if spec.nbytes > LARGEST_RANDOM_BYTES:
            raise InputError(
                f"input {name!r} would be {spec}, {spec.nbytes} bytes; random inputs have at most "
                f"{LARGEST_RANDOM_BYTES}. Choose smaller dimensions with --dim"
            )
    generator = np.random.default_rng(seed)
    return {name: _random(generator, spec.shape, spec.dtype) for name, spec in specs.items()}


def _random(generator: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    import numpy as np

    if dtype.is_float:
        drawn = np.float64 if dtype.itemsize == 8 else np.float32
        return generator.standard_normal(shape, drawn).astype(dtype.numpy, copy=False)
    high = 256 if dtype.name == "uint8" else 2
    return generator.integers(0, high, shape).astype(dtype.numpy)


def read_array(name: str, file: str) -> Array:
    """The array in a file that is given for an input.

    Raises:
        InputError: there is none.
    """
    import numpy as np

    from headrace.errors import InputError

    try:
        array = np.load(file, allow_pickle=False)
    except FileNotFoundError:
        raise InputError(f"input {name!r}: there is no file {file!r}") from None
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"input {name!r}: {file!r} cannot be read: {reason}") from None
    except (ValueError, EOFError, MemoryError):  # numpy's words tell of unpickling, which is unsafe
        raise InputError(
            f"input {name!r}: {file!r} is not a .npy file of numbers, or is damaged; write one "
            "with numpy.save"
        ) from None
    if not isinstance(array, np.ndarray):
        array.close()
        raise InputError(f"input {name!r}: {file!r} holds several arrays; save one with numpy.save")
    return array


def _sizes_of(model: Model, given: Mapping[str, Array | TensorSpec]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for info in model.inputs:
        value = given.get(info.name)
        if value is not None and info.shape is not None and len(value.shape) == len(info.shape):
            for dim, size in zip(info.shape, value.shape, strict=True):
                if isinstance(dim, str):
                    sizes.setdefault(dim, size)
    return sizes


def _read_dims(texts: Sequence[str], model: Model) -> dict[str, int]:
    from headrace.errors import InputError

    known = _open_dims(model.inputs)
    sizes: dict[str, int] = {}
    for text in texts:
        name, _, size = text.rpartition("=")
        if not name or not size.isdecimal():
            raise InputError(f"--dim {text!r} is not NAME=N, for example batch=4")
        if name in sizes:
            raise InputError(f"--dim gives {name!r} twice")
        if name not in known:
            open_dims = ", ".join(map(repr, known)) or "none"
            raise InputError(
                f"--dim {text!r}: no input has a dimension of that name; open are {open_dims}"
            )
        sizes[name] = int(size)
    return sizes


def _open_dims(inputs: Sequence[TensorInfo]) -> list[str]:
    dims = [dim for info in inputs for dim in info.shape or () if isinstance(dim, str)]
    return list(dict.fromkeys(dims))
