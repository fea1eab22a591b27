"""The ops: what they take, what they give, how they are checked. One file per family.

Start with ``schema.py`` (what an op is), then ``families.py`` and any family. A family file lists
its classes in ``OPS``; adding an op means adding its class there, its computation in
``headrace.numpy_ops``, its reference in ``headrace.testing.reference`` and its cases in
``headrace.testing.conformance``, all in files of the same stem. Nothing here knows devices, graphs
or numpy kernels.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from headrace.errors import UnknownOpError
from headrace.ops.families import FAMILIES
from headrace.ops.schema import (
    REQUIRED,
    Attr,
    GraphBuilder,
    Input,
    Op,
    Output,
    Reordered,
    SbpSignature,
    Tensor,
    make_call,
)

__all__ = [
    "OPS", "REQUIRED", "Attr", "GraphBuilder", "Input", "Op", "Output", "Reordered",
    "SbpSignature", "Tensor", "get_op", "make_call",
]  # fmt: skip

OPS: Mapping[str, type[Op]] = MappingProxyType(
    {op.name: op for family in FAMILIES for op in import_module(f"{__name__}.{family}").OPS}
)
"""Every op by name."""


def get_op(name: str) -> type[Op]:
    """Return the op called ``name``.

    Raises:
        UnknownOpError: there is none; names those that look alike.
    """
    try:
        return OPS[name]
    except KeyError:
        close = difflib.get_close_matches(name, OPS)
        hint = f"did you mean {' or '.join(close)}?" if close else "see headrace.ops.OPS"
        raise UnknownOpError(f"no op is called {name!r}; {hint}") from None
