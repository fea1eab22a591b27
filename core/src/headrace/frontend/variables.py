"""``get_variable`` and ``assign``, for job functions; the variables of a session from outside."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from headrace.errors import VariableError
from headrace.frontend.initializers import zeros_initializer
from headrace.frontend.scope import current_placement
from headrace.frontend.tracing import Symbol, SymbolLike, as_dtype, as_tensor, current_builder
from headrace.frontend.variable_files import DONE, META, OUT
from headrace.graph import Variable
from headrace.initializer import Initializer, check_initializer
from headrace.placement import Placement
from headrace.sbp import Broadcast, NdSbp, PartialSum, Split
from headrace.tensor_spec import Array, TensorSpec

if TYPE_CHECKING:
    from headrace.frontend.session import Session

_PART_OF_NAME = re.compile(r"[A-Za-z0-9_\-][A-Za-z0-9_.\-]{0,199}\Z")


def get_variable(
    name: str,
    shape: Sequence[int],
    dtype: object = "float32",
    initializer: Initializer | None = None,
    trainable: bool = True,
    random_seed: int | None = None,
    distribute: object = None,
) -> Symbol:
    """A tensor that outlives calls; in a job function.

    All jobs of a session that name it share it, and must say the same of it. A job reads what it
    holds when the call begins. It lies on the devices of the scope, or of the job.

    Args:
        name: letters, digits and ``_.-``; slashes group names.
        shape: all dimensions.
        dtype: of its elements.
        initializer: what it begins with; default: zeros.
        trainable: whether an optimizer may change it.
        random_seed: of the initializer, 0 to 2**32 - 1; default: made from the name, so that a
            variable begins with the same numbers in every process, and with others than the next.
        distribute: how it lies over several devices: ``split(axis)`` or ``broadcast()`` of
            ``headrace.distribute``, one for each axis of their hierarchy, or a text such as
            ``"S(0),B"``; default: every device has all of it.

    Raises:
        JobError: called outside a job function.
        VariableError: name, initializer, seed or distribution will not do, or the job asked for
            another variable of this name.
        ShapeError, DTypeError: no tensor has this shape or dtype.
    """
    builder = current_builder("get_variable was called")
    _check_name(name)
    spec = TensorSpec(tuple(shape), dtype)
    placement = current_placement(builder.placement)
    rule = zeros_initializer() if initializer is None else initializer
    seed = crc32(name.encode()) if random_seed is None else random_seed
    if not isinstance(rule, Initializer):
        raise VariableError(
            f"variable {name!r}: {rule!r} is no initializer; take one of headrace, for example "
            "headrace.zeros_initializer()"
        )
    if type(seed) is not int or not 0 <= seed < 1 << 32:
        raise VariableError(f"variable {name!r}: random_seed {seed!r} is not 0 to 2**32 - 1")
    try:
        check_initializer(rule, spec)
    except VariableError as error:
        raise VariableError(f"variable {name!r}: {error}") from None
    sbp = _layout(name, distribute, spec, placement)
    made = Variable(name, spec, placement, sbp, rule, seed, bool(trainable))
    return Symbol(builder.variable(made), builder)


def assign(variable: Symbol, value: SymbolLike) -> None:
    """Let a variable hold ``value`` when the call is over; in a job function.

    Whatever the job reads of the variable, before this line or after it, is what it held when the
    call began.

    Args:
        variable: what ``get_variable`` returned.
        value: a tensor or array of the variable's shape and dtype, wherever it lies; or a number,
            for all its elements.

    Raises:
        JobError: called outside a job function.
        VariableError: it is no variable, was assigned to before, or has another shape or dtype.
    """
    builder = current_builder("assign was called")
    if not isinstance(variable, Symbol):
        raise VariableError(f"{variable!r} is no variable; assign to what get_variable returned")
    if isinstance(value, (int, float)):
        value = np.full(variable.shape, as_dtype(value, variable.dtype))
    tensor = as_tensor(builder, value, variable.dtype)
    assert tensor is not None
    builder.update(variable.tensor_in(builder), tensor)


def load_variables(
    values: Mapping[str, object], ignore_mismatch: bool = False, session: Session | None = None
) -> None:
    """Give the variables of a session new values; see ``Session.load_variables``."""
    _session(session).load_variables(values, ignore_mismatch)


def get_all_variables(session: Session | None = None) -> dict[str, Array]:
    """What each variable of a session holds, by name; see ``Session.get_all_variables``."""
    return _session(session).get_all_variables()


def _session(given: Session | None) -> Session:
    from headrace.frontend.global_function import default_session

    return given or default_session()


def _check_name(name: object) -> None:
    parts = name.split("/") if isinstance(name, str) else [""]
    for part in parts:
        if not _PART_OF_NAME.match(part) or part in (OUT, META, DONE):
            raise VariableError(
                f"{name!r} is no name of a variable: it takes letters, digits and _ . -, with "
                f"slashes between groups, and no group called {OUT}, {META} or {DONE}"
            )


def _layout(name: str, distribute: object, spec: TensorSpec, placement: Placement) -> NdSbp:
    axes = len(placement.hierarchy)
    sbp = _nd_sbp(name, distribute, axes)
    if len(sbp.axes) != axes:
        raise VariableError(
            f"variable {name!r} is distributed as {sbp} over the {axes} axes of '{placement}'; say "
            "it for each axis"
        )
    left = list(spec.shape)
    for part, count in zip(sbp.axes, placement.hierarchy, strict=True):
        if isinstance(part, PartialSum):
            raise VariableError(
                f"variable {name!r} holds a value, so it cannot be distributed as {sbp}"
            )
        if isinstance(part, Split):
            if part.axis >= spec.rank or left[part.axis] < count:
                raise VariableError(
                    f"variable {name!r} is {spec} and cannot be split along axis {part.axis} over "
                    f"{count} devices of '{placement}': each must hold some of it"
                )
            left[part.axis] //= count
    return sbp


def _nd_sbp(name: str, distribute: object, axes: int) -> NdSbp:
    match distribute:
        case None:
            return NdSbp.broadcast(axes)
        case NdSbp():
            return distribute
        case Split() | Broadcast() | PartialSum():
            return NdSbp((distribute,))
        case str():
            try:
                return NdSbp.parse(distribute)
            except ValueError as error:
                raise VariableError(f"variable {name!r}: distribute: {error}") from None
        case list() | tuple():
            parts = [part for part in distribute if isinstance(part, (Split, Broadcast))]
            if len(parts) == len(distribute):
                return NdSbp(tuple(parts))
    raise VariableError(
        f"variable {name!r}: {distribute!r} is no distribution; write 'S(axis)' or 'B', one "
        "for each axis of the devices' hierarchy"
    )
