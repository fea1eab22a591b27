"""The passes by name: imported when a job is first compiled, not when the backend loads.

A process that runs a plan which was kept compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headrace.graph import JobGraph, OpEntry
from headrace_cpu.kernels.winograd import largest_tile
from headrace_cpu.passes.add_integers import AddIntegers
from headrace_cpu.passes.batch_integers import BatchIntegers
from headrace_cpu.passes.fold_output_scales import FoldOutputScales
from headrace_cpu.passes.fold_pads import FoldPads
from headrace_cpu.passes.fold_scales import FoldScales
from headrace_cpu.passes.fuse_attention import FuseAttention
from headrace_cpu.passes.fuse_elementwise import FuseElementwise
from headrace_cpu.passes.fuse_products import FuseProducts
from headrace_cpu.passes.gather_integers import GatherIntegers
from headrace_cpu.passes.join_moves import JoinMoves
from headrace_cpu.passes.lay_trees import LayTrees
from headrace_cpu.passes.pack_blocks import PackBlocks
from headrace_cpu.passes.pack_integers import PackIntegers
from headrace_cpu.passes.pack_products import PackProducts
from headrace_cpu.passes.pack_recurrent import PackRecurrent
from headrace_cpu.passes.part_windows import PartWindows
from headrace_cpu.passes.pool_integers import PoolIntegers
from headrace_cpu.passes.widen_columns import WidenColumns
from headrace_cpu.passes.widen_halves import WidenHalves

Rewrite = Callable[[JobGraph], JobGraph]


def passes_of(tag: str, ops: tuple[OpEntry, ...]) -> Mapping[str, Rewrite]:
    """The passes of the device ``tag``, whose own ops are ``ops``."""
    own = {entry.name: entry for entry in ops}
    return {
        "pack_integers": PackIntegers(tag, own),
        "batch_integers": BatchIntegers(tag, own),
        "gather_integers": GatherIntegers(tag),
        "pack_blocks": PackBlocks(tag, own),
        "widen_halves": WidenHalves(tag, own),
        "fuse_attention": FuseAttention(tag),
        "part_windows": PartWindows(tag),
        "join_moves": JoinMoves(tag),
        "fold_pads": FoldPads(tag),
        "fold_scales": FoldScales(tag),
        "pack_products": PackProducts(tag, own, largest_tile),
        "pack_recurrent": PackRecurrent(tag, own),
        "lay_trees": LayTrees(tag, own),
        "fuse_products": FuseProducts(tag),
        "add_integers": AddIntegers(tag),
        "pool_integers": PoolIntegers(tag),
        "fold_output_scales": FoldOutputScales(tag, own),
        "widen_columns": WidenColumns(tag, own),
        "fuse_elementwise": FuseElementwise(tag),
    }
