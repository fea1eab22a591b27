"""``@global_function``: makes a job of a Python function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from headrace.errors import JobError
from headrace.frontend.config import FunctionConfig
from headrace.frontend.future import Future
from headrace.frontend.session import Session

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Result_co = TypeVar("_Result_co", covariant=True)


class JobFunction(Protocol[_Arguments, _Result_co]):
    """A job, as ``global_function`` makes it."""

    def __call__(self, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result_co:
        """Call the job; see ``Session.run``."""

    def submit(self, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Future[_Result_co]:
        """Start a call; see ``Session.submit``."""


class _Default:
    """The session that ``global_function`` uses when none is given; made when first needed."""

    session: Session | None = None


def default_session() -> Session:
    """The process's default session; made when first needed, closed at exit."""
    if _Default.session is None:
        _Default.session = Session()
    return _Default.session


def clear_default_session() -> None:
    """Close the default session and forget its jobs."""
    session, _Default.session = _Default.session, None
    if session is not None:
        session.close()


def global_function(
    type: str = "predict",
    function_config: FunctionConfig | None = None,
    *,
    session: Session | None = None,
) -> Callable[[Callable[_Arguments, _Result]], JobFunction[_Arguments, _Result]]:
    """Make a job of the decorated function; calling it runs the job, ``submit`` starts a call.

    The function is run once, on symbols, when the job is first called: it must build the same ops
    every time. Parameters are annotated with ``tp.Numpy.Placeholder(shape, dtype)``; see
    ``headrace.typing``. ``job.submit(x)`` returns a ``Future`` while the call is under way.

    Args:
        type: ``"predict"``.
        function_config: how to compile it.
        session: the session that holds the job; default: ``default_session()``.

    Raises:
        JobError: another type, annotations that are not those of a job, or a name that the session
            has already.

    Example:
        >>> import numpy as np, headrace as flow, headrace.typing as tp
        >>> with flow.Session() as session:
        ...     @flow.global_function(session=session)
        ...     def clamp(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
        ...         return flow.relu(x)
        ...     print(clamp(np.array([-1, 0, 2], np.float32)))
        [0. 0. 2.]
    """
    if type != "predict":
        raise JobError(f"job type {type!r} is not known; this version runs 'predict' jobs")

    def decorate(
        function: Callable[_Arguments, _Result],
    ) -> JobFunction[_Arguments, _Result]:
        holder = session or default_session()
        name = holder.add_job(function, function_config).name

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return holder.run(name, args, kwargs)

        def submit(*args: Any, **kwargs: Any) -> Future[Any]:
            """Start a call; see ``Session.submit``."""
            return holder.submit(name, args, kwargs)

        call.submit = submit  # type: ignore[attr-defined]
        return cast("JobFunction[_Arguments, _Result]", call)

    return decorate
