"""Names of a plugin's types and functions for messages: what an author looks for, no addresses."""

from __future__ import annotations

from functools import partial


def describe(kind: type) -> str:
    """A type by the name that its author looks for."""
    return f"{kind.__module__}.{kind.__qualname__}"


def name_of_function(function: object) -> str:
    """A function, class or any other callable by module and name.

    A lambda has no name that tells it from the next one; it is named by its line as well.
    """
    if isinstance(function, partial):
        return name_of_function(function.func)
    name = getattr(function, "__qualname__", None)
    if not isinstance(name, str):
        return describe(type(function))
    text = f"{getattr(function, '__module__', '?')}.{name}"
    code = getattr(function, "__code__", None)
    return f"{text}, line {code.co_firstlineno}" if code and "<lambda>" in name else text


def name_of_match(match: object) -> str:
    """What a kernel's match says of itself, else its name as a function."""
    kind = type(match)
    says = kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__
    if says and not isinstance(match, partial) and not hasattr(match, "__qualname__"):
        return str(match)
    return name_of_function(match)
