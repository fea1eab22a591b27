"""Signatures: the annotations of a job function, and trees of values that fit them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args, get_origin

from headrace import typing as tp
from headrace.errors import InputError, JobError
from headrace.frontend.mirrored import MirroredSymbol
from headrace.frontend.tracing import Symbol
from headrace.tensor_spec import TensorSpec

Tree = Any
"""A leaf, or a tuple, list or dict of trees."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter and the specs of its leaves: one spec, or a nested tuple of them.

    A list of specs is one for each device, of a mirrored tensor.
    """

    name: str
    specs: Tree

    def leaves(self) -> Iterator[tuple[str, TensorSpec]]:
        """(name, spec) of each leaf: ``x``, or ``x.0``, ``x.1`` for a tuple."""
        yield from leaves(self.name, self.specs)

    def bind(self, value: Tree) -> Iterator[tuple[str, object]]:
        """(name, value) of each leaf of an argument.

        Raises:
            InputError: the argument is nested in another way.
        """
        yield from _bind(self.name, self.specs, value)


@dataclass(frozen=True)
class JobSignature:
    """The parameters of a job function and the annotation of its result.

    ``delivers`` says that calls return before they are over, and give their result to a callback.
    """

    name: str
    parameters: tuple[Parameter, ...]
    result: Any
    delivers: bool = False

    @staticmethod
    def of(function: Callable[..., Any], devices: int = 1) -> JobSignature:
        """Read the annotations of ``function``.

        Args:
            function: the job function.
            devices: how many arrays a ``ListNumpy`` has.

        Raises:
            JobError: a parameter is not annotated with a placeholder, is ``*args`` or keyword-only,
                or the result is not annotated.
        """
        name = function.__name__
        try:
            signature = inspect.signature(function, eval_str=True)
        except (AttributeError, NameError, SyntaxError) as error:
            raise JobError(
                f"job {name!r}: an annotation cannot be read: {error}; annotations that are text, "
                "as 'from __future__ import annotations' makes them, see names of the module only"
            ) from None
        parameters = []
        for parameter in signature.parameters.values():
            if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
                raise JobError(f"job {name!r}: parameter {parameter} must be a plain parameter")
            specs = _specs(name, parameter.name, parameter.annotation, devices)
            parameters.append(Parameter(parameter.name, specs))
        if signature.return_annotation is signature.empty:
            raise JobError(
                f"job {name!r}: annotate what it returns, for example '-> tp.Numpy' or '-> None'"
            )
        result = signature.return_annotation
        delivers = get_origin(result) is tp.Callback
        if delivers:
            (result,) = get_args(result)
        return JobSignature(name, tuple(parameters), result, delivers)

    @cached_property
    def inputs(self) -> tuple[tuple[str, TensorSpec], ...]:
        """(name, spec) of each leaf of the parameters, in order."""
        return tuple(leaf for parameter in self.parameters for leaf in parameter.leaves())

    @cached_property
    def _flat(self) -> tuple[str, ...] | None:
        """Names of the parameters, if each is one leaf."""
        is_flat = all(isinstance(parameter.specs, TensorSpec) for parameter in self.parameters)
        return tuple(parameter.name for parameter in self.parameters) if is_flat else None

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Leaf values by name, from the arguments of a call.

        Raises:
            InputError: too many, missing, unknown or doubled arguments, or other nesting.
        """
        if not kwargs and self._flat is not None and len(args) == len(self._flat):
            return dict(zip(self._flat, args, strict=True))  # as most calls; a small job is shorter
        names = [parameter.name for parameter in self.parameters]
        if len(args) > len(names):
            raise InputError(
                f"job {self.name!r} takes {', '.join(names) or 'no arguments'}; {len(args)} "
                "arguments were given"
            )
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                raise InputError(
                    f"job {self.name!r} has no parameter {name!r}; it has "
                    f"{', '.join(names) or 'none'}"
                )
            if name in given:
                raise InputError(f"job {self.name!r}: argument {name!r} was given twice")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise InputError(f"job {self.name!r}: arguments {missing} are missing")
        return {
            leaf: value
            for parameter in self.parameters
            for leaf, value in parameter.bind(given[parameter.name])
        }

    def check_result(self, result: Tree) -> None:
        """Check that what the function returned fits its annotation.

        Raises:
            JobError: it does not; says where.
        """
        _check(self.name, "result", self.result, result)


def leaves(name: str, tree: Tree) -> Iterator[tuple[str, Any]]:
    """(name, leaf) of each leaf of a tree, in order."""
    if isinstance(tree, Mapping):
        for key, item in tree.items():
            yield from leaves(f"{name}.{key}", item)
    elif isinstance(tree, (tuple, list)):
        for index, item in enumerate(tree):
            yield from leaves(f"{name}.{index}", item)
    elif isinstance(tree, MirroredSymbol):
        yield from leaves(name, tree.parts)
    elif tree is not None:
        yield name, tree


def rebuild(name: str, tree: Tree, values: Mapping[str, Any]) -> Tree:
    """A tree of the shape of ``tree`` whose leaves are ``values`` by leaf name."""
    if type(tree) is Symbol:
        return values[name]
    if isinstance(tree, Mapping):
        return {key: rebuild(f"{name}.{key}", item, values) for key, item in tree.items()}
    if isinstance(tree, MirroredSymbol):
        return rebuild(name, [*tree.parts], values)
    if isinstance(tree, (tuple, list)):
        items = (rebuild(f"{name}.{i}", item, values) for i, item in enumerate(tree))
        make = getattr(tree, "_make", type(tree))  # a named tuple takes its items one by one
        return make(items)
    return None if tree is None else values[name]


def _specs(job: str, name: str, annotation: Any, devices: int) -> Tree:
    if get_origin(annotation) is tuple:
        return tuple(
            _specs(job, f"{name}.{index}", item, devices)
            for index, item in enumerate(get_args(annotation))
        )
    spec = getattr(annotation, "spec", None)
    if not isinstance(spec, TensorSpec):
        raise JobError(
            f"job {job!r}: annotate parameter {name!r} with tp.Numpy.Placeholder(shape, dtype)"
        )
    return [spec] * devices if issubclass(annotation, tp.ListNumpy) else spec


def _bind(name: str, specs: Tree, value: Tree) -> Iterator[tuple[str, object]]:
    if not isinstance(specs, (tuple, list)):
        yield name, value
        return
    if not isinstance(value, (tuple, list)) or len(value) != len(specs):
        if isinstance(specs, list):
            raise InputError(
                f"argument {name!r} must be a list with an array for each of {len(specs)} devices"
            )
        raise InputError(f"argument {name!r} must be a tuple of {len(specs)} items")
    for index, (inner, item) in enumerate(zip(specs, value, strict=True)):
        yield from _bind(f"{name}.{index}", inner, item)


def _check(job: str, where: str, annotation: Any, result: Tree) -> None:
    def wrong(expected: str) -> JobError:
        return JobError(
            f"job {job!r}: its {where} is annotated as {expected}, "
            f"and the function returned {type(result).__name__}"
        )

    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is None:
        if result is not None:
            raise wrong("None")
    elif annotation is tp.Numpy:
        if isinstance(result, (tuple, list, Mapping, MirroredSymbol)) or result is None:
            raise wrong("tp.Numpy")
    elif annotation is tp.ListNumpy:
        if not isinstance(result, MirroredSymbol):
            raise wrong("tp.ListNumpy")
    elif origin is tuple:
        if not isinstance(result, tuple) or len(result) != len(args):
            raise wrong(f"a tuple of {len(args)}")
        for index, (inner, item) in enumerate(zip(args, result, strict=True)):
            _check(job, f"{where}.{index}", inner, item)
    elif origin is list:
        if not isinstance(result, list):
            raise wrong("a list")
        for index, item in enumerate(result):
            _check(job, f"{where}.{index}", args[0], item)
    elif origin is dict:
        if not isinstance(result, dict):
            raise wrong("a dict")
        for key, item in result.items():
            _check(job, f"{where}.{key}", args[1], item)
    elif origin is not tp.Bundle:
        raise JobError(
            f"job {job!r}: its {where} is annotated as {annotation!r}; use tp.Numpy, "
            "tp.ListNumpy, tp.Tuple, tp.List, tp.Dict, tp.Bundle[tp.Numpy] or None"
        )
