"""The records of the hooks about graphs: a plugin's own ops, and its passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.light_dataclass import dataclass

if TYPE_CHECKING:
    from headrace.graph.job_graph import JobGraph
    from headrace.numpy_ops import NumpyFunction
    from headrace.ops import Op


@dataclass(frozen=True, slots=True)
class OpEntry:
    """An op that a plugin brings.

    Attributes:
        tag: the device tag.
        op: its class; the name is ``<tag>.<name>``, so that it meets no op of core and of no other
            plugin. ``decompose`` lets any other device run it.
        compute: computes it on host arrays, for folding constants; None: it is never folded.
    """

    tag: str
    op: type[Op]
    compute: NumpyFunction | None = None

    @property
    def name(self) -> str:
        """The op's name, ``<tag>.<name>``."""
        return self.op.name

    @property
    def computes(self) -> bool:
        """True when the op can be computed on the host, while a job is built."""
        return self.compute is not None


@dataclass(frozen=True, slots=True)
class PassEntry:
    """A pass of a plugin over job graphs.

    Attributes:
        tag: the device tag.
        name: for messages; a plugin has no two passes of one name.
        rewrite: returns the graph as it shall be; pure: what it was given stays as it is. Called
            while a job that uses the device is compiled, from any thread. It may change ops that
            are placed on its own device, and constants that only these read; nothing else.
        quantized: it is shown weights as they are stored, before ``dequantize`` of constants is
            folded. Such passes run before the others of all devices.
    """

    tag: str
    name: str
    rewrite: Callable[[JobGraph], JobGraph]
    quantized: bool = False
