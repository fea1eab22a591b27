"""What a handler of a signal raises is its program's word, and no failure of what it came out of.

A handler runs between two steps of whatever the main thread does. One that raises, to end the
program or a wait that takes too long, raises out of the code of a plugin as though that had failed.
Where failures of plugins are described, what a handler raised goes on as it is, as Ctrl-C does.
"""

from __future__ import annotations

import signal


def raised_by_handler(error: BaseException) -> BaseException | None:
    """``error``, or what it was raised from, if that came out of a handler of a signal; else None.

    A handler that is not in place any more, because it took itself away, is not known.
    """
    codes = _codes_of_handlers()
    found: BaseException | None = error
    while found is not None:
        step = found.__traceback__
        while step is not None:
            if step.tb_frame.f_code in codes:
                return found
            step = step.tb_next
        found = found.__cause__
    return None


def let_handlers_through(error: BaseException) -> None:
    """Return if no handler of a signal raised ``error``.

    Raises:
        BaseException: what the handler raised.
    """
    said = raised_by_handler(error)
    if said is not None:
        raise said


def _codes_of_handlers() -> set[object]:
    codes: set[object] = set()
    for number in signal.valid_signals():
        handler: object = signal.getsignal(number)
        while hasattr(handler, "func"):  # functools.partial
            handler = handler.func
        call = handler if hasattr(handler, "__code__") else getattr(handler, "__func__", None)
        if call is None and callable(handler):
            call = type(handler).__call__
        codes.add(getattr(call, "__code__", None))
    return codes - {None}
