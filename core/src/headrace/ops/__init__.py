"""The ops: what they take, what they give, how they are checked. One file per family.

Start with ``schema.py`` (what an op is), then ``families.py`` and any family. A family file lists
its classes in ``OPS``; adding an op means adding its class there, its computation in
``headrace.numpy_ops``, its reference in ``headrace.testing.reference`` and its cases in
``headrace.testing.conformance``, all in files of the same stem. What kernels read of a call, its
windows, axes and channels, is in ``window.py``, ``axes.py`` and ``channels.py``, which import no
class of an op: a process that runs plans which were kept needs none. Nothing here knows devices,
graphs or numpy kernels.
"""

from typing import TYPE_CHECKING

from headrace.lazy_names import lazy_names

if TYPE_CHECKING:
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
    from headrace.ops.table import OPS, get_op

__all__ = [
    "OPS", "REQUIRED", "Attr", "GraphBuilder", "Input", "Op", "Output", "Reordered",
    "SbpSignature", "Tensor", "get_op", "make_call",
]  # fmt: skip

if not TYPE_CHECKING:  # or a name that does not exist would pass for one of any type
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "headrace.ops.schema": (
                "REQUIRED Attr GraphBuilder Input Op Output Reordered SbpSignature Tensor make_call"
            ),
            "headrace.ops.table": "OPS get_op",
        },
    )
