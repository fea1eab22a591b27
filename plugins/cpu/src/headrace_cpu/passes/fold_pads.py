"""Put padding with zeros into the convolution that reads it."""

from __future__ import annotations

from headrace.graph import GraphEditor, JobGraph, JobOp
from headrace.ops import get_op
from headrace.ops.channels import channel_axis
from headrace.ops.window import conv_window


class FoldPads:
    """The pass, for the ops of device ``tag``.

    Before: ``conv(pad(x, [0, 0, 1, 1, 0, 0, 1, 1]), w)``, where the padding is with zeros, along
    spatial axes and for this ``conv`` alone. After: ``conv(x, w, pads=[1, 1, 1, 1])``, and nothing
    is copied.
    """

    def __init__(self, tag: str) -> None:
        self._tag = tag

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with fewer ops."""
        if not graph.of_kind("pad"):
            return graph
        editor = GraphEditor(graph, self._tag)
        for conv in editor.ops("conv"):
            pad = editor.maker(conv.inputs[0])
            if pad is None or pad.call.op != "pad" or not editor.is_private(pad, conv):
                continue
            if pad.outputs[0] in graph.hints or not _pads_with_zeros(pad, graph):
                continue
            pads = _pads(conv, pad)
            if pads is not None:
                inputs = (pad.inputs[0], *conv.inputs[1:])
                attrs = conv.call.attrs | {"pads": pads}
                editor.replace([pad, conv], get_op("conv"), inputs, attrs)
        return editor.finish()


def _pads_with_zeros(pad: JobOp, graph: JobGraph) -> bool:
    if pad.call.str_attr("mode") != "constant":
        return False
    if len(pad.inputs) < 2 or pad.inputs[1] is None:
        return True
    value = graph.constants.get(pad.inputs[1])
    return value is not None and not value.any()


def _pads(conv: JobOp, pad: JobOp) -> tuple[int, ...] | None:
    """The padding of both; None when the pad crops, or pads the batch or the channels."""
    given, rank = pad.call.ints_attr("pads"), pad.call.input(0).rank
    spatial = [axis for axis in range(1, rank) if axis != channel_axis(conv.call)]
    sides = [given[side + axis] for side in (0, rank) for axis in spatial]
    if min(given) < 0 or sum(given) != sum(sides):
        return None
    window = conv_window(conv.call)
    own = (*window.pads_begin, *window.pads_end)
    return tuple(a + b for a, b in zip(own, sides, strict=True))
