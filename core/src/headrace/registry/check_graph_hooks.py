"""Checks the ops and passes that a plugin brings."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.graph import OpEntry, PassEntry
from headrace.registry.hooks import invalid


def check_ops(entries: Sequence[OpEntry]) -> None:
    """Check names and classes of a plugin's own ops.

    Raises:
        Refusal: one is no op, has a name that is not the plugin's to give, or is there twice.
    """
    if not entries:
        return
    from headrace.ops import Attr, Input, Op, Output

    names: set[str] = set()
    for entry in entries:
        op: object = entry.op
        if not isinstance(op, type) or not issubclass(op, Op):
            raise invalid(f"its headrace_ops offers {op!r}; an op is a subclass of headrace.ops.Op")
        name: object = getattr(op, "name", None)
        prefix = f"{entry.tag}."
        if not isinstance(name, str) or not (
            name.startswith(prefix) and name.removeprefix(prefix).isidentifier()
        ):
            raise invalid(
                f"its headrace_ops offers an op called {name!r}; "
                f"the name must be '{prefix}' and a word"
            )
        if name in names:
            raise invalid(f"its headrace_ops offers {name!r} twice")
        names.add(name)
        for field, kind in (("inputs", Input), ("outputs", Output), ("attrs", Attr)):
            value: object = getattr(op, field)
            if not isinstance(value, tuple) or not all(isinstance(item, kind) for item in value):
                raise invalid(
                    f"{field} of its op {name!r} is {value!r}; "
                    f"it must be a tuple of {kind.__name__}"
                )
        if op.infer.__func__ is Op.infer.__func__:  # type: ignore[attr-defined]
            raise invalid(f"its op {name!r} has no infer, which says what it makes")
        compute: object = entry.compute
        if compute is not None and not callable(compute):
            raise invalid(f"compute of its op {name!r} is {compute!r}, which cannot be called")


def check_passes(entries: Sequence[PassEntry]) -> None:
    """Check names and functions of a plugin's passes.

    Raises:
        Refusal: one has no name or cannot be called, or two have one name.
    """
    names: set[str] = set()
    for entry in entries:
        name: object = entry.name
        if not isinstance(name, str) or not name:
            raise invalid(f"its headrace_passes offers a pass called {name!r}; it must be a word")
        if name in names:
            raise invalid(f"its headrace_passes offers two passes called {name!r}")
        names.add(name)
        rewrite: object = entry.rewrite
        if not callable(rewrite):
            raise invalid(f"rewrite of its pass {name!r} is {rewrite!r}, which cannot be called")
