"""Planned memory of ONNX models against the largest set of tensors that are alive at once.

    python bench/memory_plan.py MODEL.onnx [MODEL.onnx ...] [--device cpu --device fakedevice]

Activations only: weights have bytes of their own. The set alive is what the order of the plan's
tasks needs, without any rounding to alignment; no plan of that order can take less. Symbolic
dimensions are 1 unless --shape INPUT=1,3,224,224 says otherwise.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table

import headrace as flow
from headrace.plan import Plan
from headrace.tensor_spec import TensorSpec


def planned_and_alive(plan: Plan, chunk: int) -> tuple[int, int]:
    """Bytes of a chunk without its weights, and the most bytes that are alive in it at once."""
    inside = {i for i, r in enumerate(plan.registers) if r.chunk == chunk and r.constant is None}
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for time, task in enumerate(plan.tasks):
        used = (*task.outputs, *task.inputs, task.workspace)
        for register in used:
            if register is not None and register in inside:
                first.setdefault(register, time)
                last[register] = time
    changes = [0] * (len(plan.tasks) + 1)
    for register, time in first.items():
        nbytes = plan.registers[register].spec.nbytes
        changes[time] += nbytes
        changes[last[register] + 1] -= nbytes
    alive = most = 0
    for change in changes:
        alive += change
        most = max(most, alive)
    weights = [r for r in plan.registers if r.chunk == chunk and r.constant is not None]
    held = sum(-(-r.spec.nbytes // 512) * 512 for r in weights)
    return plan.chunks[chunk].nbytes - held, most


def main() -> None:
    """Plan every model on every device and print one row for each memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--device", action="append", default=[])
    parser.add_argument("--shape", action="append", default=[], metavar="INPUT=1,3,224,224")
    options = parser.parse_args()
    shapes = dict(item.rsplit("=", 1) for item in options.shape)
    table = Table("model", "memory", "planned", "alive", "ratio")
    for path in options.models:
        for device in options.device or ["cpu", "fakedevice"]:
            with flow.onnx.load(path, device) as model:
                feeds = {}
                for info in model.inputs:
                    given = [int(dim) for dim in shapes.get(info.name, "").split(",") if dim]
                    shape = given or [d if isinstance(d, int) else 1 for d in info.shape or ()]
                    if not info.optional:
                        feeds[info.name] = TensorSpec(tuple(shape), info.dtype)
                plan = model.plan_for(feeds)
            for number, chunk in enumerate(plan.chunks):
                planned, alive = planned_and_alive(plan, number)
                ratio = f"{planned / alive:.3f}" if alive else "-"
                table.add_row(path.stem, str(chunk.memory), str(planned), str(alive), ratio)
    Console().print(table)


if __name__ == "__main__":
    main()
