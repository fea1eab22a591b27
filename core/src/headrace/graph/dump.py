"""A job graph as text: stable and readable, one line for each input, constant, op and result."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from headrace.graph.job_graph import JobGraph, JobOp
from headrace.graph.variable import VariablePart
from headrace.op_call import Attrs
from headrace.tensor_spec import Array, TensorSpec

SHOWN_ELEMENTS = 4
"""A constant of up to so many elements is shown with its values."""


def dump_job_graph(graph: JobGraph) -> str:
    """The whole graph; ends with a newline."""
    lines = [f"job {graph.name!r} on {graph.placement}"]
    lines += [f"  input     {tensor.name}: {tensor.spec}" for tensor in graph.inputs]
    lines += [f"  constant  {name}: {_constant(value)}" for name, value in graph.constants.items()]
    lines += [f"  variable  {_variable(part)}" for part in graph.variables]
    lines += [f"  {op_text(op)}" for op in graph.ops]
    lines += [
        f"  result    {name} = {tensor.name}: {tensor.spec}" for name, tensor in graph.outputs
    ]
    lines += [f"  update    {name} = {t.name}: {t.spec}" for name, t in graph.updates]
    return "\n".join(lines) + "\n"


def op_text(op: JobOp) -> str:
    """One op: ``c on cpu 0:0: conv(x, w, -) {group=1} -> c/y: float32[1, 4]``."""
    made = ", ".join(f"{n}: {s}" for n, s in zip(op.outputs, op.call.outputs, strict=True))
    text = call_text(op.call.op, op.inputs, op.call.attrs, [made])
    return f"{op.call.name} on {op.placement}: {text}"


def call_text(
    op: str, inputs: Iterable[str | None], attrs: Attrs | None, outputs: Iterable[str]
) -> str:
    """``op(a, -) {axis=1} -> y``; a dash is an optional input that is not given."""
    read = ", ".join("-" if name is None else name for name in inputs)
    how = ""
    if attrs:
        how = " {" + ", ".join(f"{k}={v}" for k, v in attrs.items()) + "}"
    return f"{op}({read}){how} -> {', '.join(outputs)}"


def _variable(part: VariablePart) -> str:
    whole = part.variable
    return (
        f"{part.tensor.name}: {part.tensor.spec} on {part.placement}, part {part.part} of "
        f"{whole.name!r}, {whole.spec} as {whole.sbp} over {whole.placement}"
    )


def _constant(value: Array) -> str:
    spec = TensorSpec.of(value)
    if value.size > SHOWN_ELEMENTS:
        return str(spec)
    shown = ", ".join(str(item) for item in np.ravel(value).tolist())
    return f"{spec} = {shown or 'nothing'}"
