"""Job graphs: what a job computes, for the compiler and for the passes of plugins.

Start with ``job_graph.py``.

- To make one: ``builder.py``, op by op; ``op_source.py`` is where it learns what an op is.
- To rewrite one, as a plugin's pass does: ``GraphEditor`` (``editor.py``) puts one op in the place
  of several, ``replace_ops`` (``rewriter.py``) any ops in the place of one; ``op_index.py`` finds
  ops by what they are, make and read.
- What plugins bring: the records in ``entries.py``.
- What a job says besides ops: ``variable.py``, ``hint.py``, and constants: ``constants.py`` lets
  their values be made late and once, ``sized.py`` lets them be computed of symbolic sizes.
- To look at one: ``dump.py``.

Nothing here knows how a tensor lies in memory.
"""

from typing import TYPE_CHECKING

from headrace.lazy_names import lazy_names

if TYPE_CHECKING:
    from headrace.graph.builder import JobGraphBuilder, fold_limit
    from headrace.graph.editor import GraphEditor
    from headrace.graph.entries import OpEntry, PassEntry
    from headrace.graph.hint import Auto, SbpHint, Wish
    from headrace.graph.job_graph import JobGraph, JobOp
    from headrace.graph.op_source import CORE_OPS, DeviceOps, OpSource
    from headrace.graph.rewriter import GraphRewriter, replace_ops
    from headrace.graph.variable import Variable, VariablePart

__all__ = [
    "CORE_OPS", "Auto", "DeviceOps", "GraphEditor", "GraphRewriter", "JobGraph",
    "JobGraphBuilder", "JobOp", "OpEntry", "OpSource", "PassEntry", "SbpHint", "Variable",
    "VariablePart", "Wish", "fold_limit", "replace_ops",
]  # fmt: skip

if not TYPE_CHECKING:  # or a name that does not exist would pass for one of any type
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "headrace.graph.builder": "JobGraphBuilder fold_limit",
            "headrace.graph.editor": "GraphEditor",
            "headrace.graph.entries": "OpEntry PassEntry",
            "headrace.graph.hint": "Auto SbpHint Wish",
            "headrace.graph.job_graph": "JobGraph JobOp",
            "headrace.graph.op_source": "CORE_OPS DeviceOps OpSource",
            "headrace.graph.rewriter": "GraphRewriter replace_ops",
            "headrace.graph.variable": "Variable VariablePart",
        },
    )
