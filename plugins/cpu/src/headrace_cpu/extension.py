"""``native``: the extension, loaded when something of it is first asked for.

Modules say at their top that they use it, and who only lists what this backend offers loads none
of it. To import it in each function that uses it was turned down: it is said in eighty places, and
done three times for each launch that is bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["native"]

if TYPE_CHECKING:
    from headrace_cpu import _native as native
else:

    class _Native:
        def __getattr__(self, name: str) -> object:
            from headrace_cpu import _native

            value = getattr(_native, name)
            setattr(self, name, value)
            return value

    native = _Native()
