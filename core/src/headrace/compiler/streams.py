"""Which compute stream of its device each op of a job runs on.

With one stream, on that. With several, ops are taken in their order, and each goes to the stream on
which it could begin first: when the stream is free, and what it reads is there. That makes branches
that do not wait for each other run side by side, and leaves a branch on its stream, for a hand-over
takes time as well. One pass over the edges; equal jobs give equal streams.

How long an op takes is not known. It is taken to read and write so many bytes, or to add up so many
products, whichever takes longer.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.compiler.op_graph import OpGraph
from headrace.op_call import OpCall
from headrace.ops import OPS

HAND_OVER_BYTES = 1 << 19
"""About what a stream works through while another one learns that what it waits for is there: some
100 us between two threads of a host."""

PRODUCTS_OF_A_BYTE = 4
"""How many products a stream adds up while it reads or writes a byte: some 20 a nanosecond, as a
core with vectors does."""


def assign_streams(graph: OpGraph, streams: int) -> Mapping[str, int]:
    """For each op by name, from 0 to ``streams - 1``: the how-manieth stream of its device."""
    if streams == 1:
        return dict.fromkeys((node.op.call.name for node in graph.nodes), 0)
    lanes: dict[str, int] = {}
    free: dict[str, list[int]] = {}  # device -> when each of its streams is free
    made: dict[str, tuple[tuple[str, int], int]] = {}  # tensor -> who makes it, and when
    for node in graph.nodes:
        device = str(node.op.placement)
        read = [made[name] for name in node.op.inputs if name in made]
        begins = []
        for lane, when in enumerate(free.setdefault(device, [0] * streams)):
            here = (device, lane)
            there = [time + (maker != here) * HAND_OVER_BYTES for maker, time in read]
            begins.append(max(when, *there, 0))
        begin = min(begins)
        lane = begins.index(begin)
        lanes[node.op.call.name] = lane
        free[device][lane] = begin + _cost(node.op.call)
        made.update(dict.fromkeys(node.op.outputs, ((device, lane), free[device][lane])))
    return lanes


def _cost(call: OpCall) -> int:
    """What an op takes, in bytes that could be read or written meanwhile."""
    nbytes = sum(spec.nbytes for spec in (*call.inputs, *call.outputs) if spec is not None)
    products = OPS[call.op].products(call) if call.op in OPS else 0  # of a plugin's op: not known
    return max(nbytes, products // PRODUCTS_OF_A_BYTE)
