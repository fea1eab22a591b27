"""Boxes that are chosen among many."""

from __future__ import annotations

import math

from headrace.dtypes import float32, int32
from headrace.errors import OpError
from headrace.op_call import OpCall
from headrace.ops.failure import fail
from headrace.ops.schema import Attr, Input, Op, Output, SbpSignature
from headrace.ops.shapes import addressable
from headrace.sbp import Broadcast, Split
from headrace.tensor_spec import TensorSpec


class NonMaxSuppression(Op):
    """The best boxes of each class that no better one overlaps: which, best first, and how many.

    ``boxes`` are ``[batch, boxes, 4]``, ``scores`` ``[batch, classes, boxes]``. ``chosen`` is
    ``[batch, classes, most]``, where ``most`` is ``max_output_boxes_per_class``, or the number of
    boxes if that is less; places that are left over hold -1. ``counts`` is ``[batch, classes]``.

    Of equal scores the box with the lower index comes first; NaN comes last. A box is left out when
    a chosen one shares more with it than ``iou_threshold`` times what both cover together.

    Attributes:
        max_output_boxes_per_class: as ONNX has it.
        iou_threshold: as ONNX has it.
        score_threshold: boxes whose score is not greater are left out; at -inf, none is.
        center_point_box: a box is ``(x, y, width, height)`` around its centre, instead of two
            corners ``(y1, x1, y2, x2)`` in any order.
    """

    name = "non_max_suppression"
    inputs = (
        Input("boxes", frozenset({float32})),
        Input("scores", frozenset({float32})),
    )
    outputs = (Output("chosen"), Output("counts"))
    attrs = (
        Attr("max_output_boxes_per_class", "int"),
        Attr("iou_threshold", "float"),
        Attr("score_threshold", "float", -math.inf),
        Attr("center_point_box", "bool", False),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        boxes, scores = call.input(0), call.input(1)
        if boxes.rank != 3 or boxes.shape[2] != 4 or scores.shape[::2] != boxes.shape[:2]:
            fail(
                call,
                "boxes are [batch, boxes, 4] and scores [batch, classes, boxes]; they have shapes "
                f"{boxes.shape} and {scores.shape}",
            )
        most = call.int_attr("max_output_boxes_per_class")
        if most < 0:
            fail(call, f"max_output_boxes_per_class {most} is negative", OpError)
        counts = TensorSpec(scores.shape[:2], int32)
        chosen = counts.with_shape((*counts.shape, min(most, boxes.shape[1])))
        return addressable(call, chosen), counts

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        batch, classes = call.outputs[1].shape
        by_batch = SbpSignature((Split(0), Split(0)), (Split(0),) * 2)
        by_class = SbpSignature((Broadcast(), Split(1)), (Split(1),) * 2)
        return (by_batch,) * (batch > 1) + (by_class,) * (classes > 1)


OPS: tuple[type[Op], ...] = (NonMaxSuppression,)
