"""Planned memory of ONNX models against what is alive at once, and against onnxruntime's arena.

    python bench/memory_plan.py MODEL.onnx[:INPUT=1,3,224,224] ... [--resnet50 1 --resnet50 8]

For each memory of each device (`--device`, by default cpu and fakedevice), without weights:

- *planned*: bytes that the plan holds, scratch memory of kernels included; without in-place beside
  it (`HEADRACE_ENABLE_INPLACE=0`);
- *alive*: the most bytes that the plan's order of tasks needs at one moment, without any rounding.
  What goes from one stream to another is needed at once between two calls, since calls overlap: no
  plan of that order can take less;
- *scratch*: the largest scratch memory of a kernel.

onnxruntime runs three times in a process of its own, and its log says how its arena grew. Weights
are kept out of the arena, inputs never are in it. *default* is what a user gets; *least* is the
smallest of: default, extended as requested, and the latter without memory patterns.

Symbolic dimensions are 1 unless said otherwise. A model that one of the two does not run is left
out, which is said.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import onnx
from arguments import check_devices, model_file, named_shape, positive
from peer import Shapes
from resnet50 import resnet50
from rich.console import Console
from rich.table import Table

import headrace as flow
from headrace.compiler.memory.place import aligned
from headrace.errors import HeadraceError
from headrace.plan import Plan, TaskKind
from headrace.tensor_spec import TensorSpec


def planned(plan: Plan, chunk: int) -> int:
    """Bytes of a chunk without its weights."""
    weights = [r for r in plan.registers if r.chunk == chunk and r.constant is not None]
    return plan.chunks[chunk].nbytes - sum(aligned(r.spec.nbytes) for r in weights)


def alive(plan: Plan, chunk: int) -> int:
    """The most bytes that are needed in a chunk at one moment."""
    storage = list(range(len(plan.registers)))  # registers on one storage have its first one here
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    actors: dict[int, set[int]] = defaultdict(set)
    for time, task in enumerate(plan.tasks):
        pairs = (*task.in_place, (0, 0)) if task.kind is TaskKind.VIEW else task.in_place
        for i, o in pairs:
            source = task.inputs[i]
            assert source is not None
            storage[task.outputs[o]] = storage[source]
        for used in (*task.outputs, *task.inputs, task.workspace):
            if used is None or plan.registers[used].constant is not None:
                continue
            if plan.registers[used].chunk == chunk:
                first.setdefault(storage[used], time)
                last[storage[used]] = time
                actors[storage[used]].add(task.actor)
    changes = [0] * (len(plan.tasks) + 1)
    between = 0
    for register, time in first.items():
        nbytes = plan.registers[register].spec.nbytes
        changes[time] += nbytes
        changes[last[register] + 1] -= nbytes
        between += nbytes * (len(actors[register]) > 1)
    now, most = 0, between
    for change in changes:
        now += change
        most = max(most, now)
    return most


def scratch(plan: Plan, chunk: int) -> int:
    """The largest scratch memory of a task."""
    registers = [plan.registers[t.workspace] for t in plan.tasks if t.workspace is not None]
    return max((r.spec.nbytes for r in registers if r.chunk == chunk), default=0)


def plan_of(path: str, device: str, shapes: Shapes, inplace: bool) -> Plan:
    """The plan of a model on a device."""
    with flow.onnx.load(path, device, enable_inplace=inplace, plan_cache=False) as model:
        feeds = {}
        for info in model.inputs:
            dims = shapes.get(info.name) or [
                dim if isinstance(dim, int) else 1 for dim in info.shape or ()
            ]
            if not info.optional:
                feeds[info.name] = TensorSpec(tuple(dims), info.dtype)
        return model.plan_for(feeds)


RUN_PEER = """
import sys, numpy as np, onnxruntime as ort
path, strategy, pattern = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "1"
shapes = eval(sys.argv[4])
ort.set_default_logger_severity(0)
options = ort.SessionOptions()
options.log_severity_level = 3
options.intra_op_num_threads = 1
options.enable_mem_pattern = pattern
options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
if strategy >= 0:
    kind, memory = ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, ort.OrtMemType.DEFAULT
    ort.create_and_register_allocator(
        ort.OrtMemoryInfo("Cpu", kind, 0, memory), ort.OrtArenaCfg(0, strategy, -1, -1)
    )
    options.add_session_config_entry("session.use_env_allocators", "1")
session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
numbers = {"float": "float32", "int32": "int32", "int64": "int64", "uint8": "uint8"}
feeds = {}
for i in session.get_inputs():
    shape = shapes.get(i.name) or [d if isinstance(d, int) else 1 for d in i.shape]
    feeds[i.name] = np.zeros(shape, numbers[i.type[len("tensor("):-1]])
for _ in range(3):
    session.run(None, feeds)
"""


class PeerError(Exception):
    """onnxruntime does not run a model; says why."""


def peer_arena(path: str, shapes: Shapes, strategy: int, pattern: bool) -> int:
    """Bytes of onnxruntime's arena after three runs; strategy -1 is its default."""
    command = [sys.executable, "-c", RUN_PEER, path, str(strategy), str(int(pattern)), repr(shapes)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    totals = re.findall(r"Total allocated bytes: (\d+)", ran.stderr)
    if ran.returncode or not totals:
        raise PeerError(f"onnxruntime did not say how its arena grew:\n{ran.stderr[-2000:]}")
    return int(totals[-1])


def rows(model: Path, shapes: Shapes, devices: Iterable[str]) -> Iterable[list[str]]:
    """One row for each memory."""
    path = str(model)
    default = peer_arena(path, shapes, -1, True)
    least = min(default, peer_arena(path, shapes, 1, True), peer_arena(path, shapes, 1, False))
    for device in devices:
        plan, apart = (plan_of(path, device, shapes, inplace) for inplace in (True, False))
        for number, chunk in enumerate(plan.chunks):
            used, bound = planned(plan, number), alive(plan, number)
            without = planned(apart, number)
            yield [
                model.stem,
                device,
                str(chunk.memory),
                f"{used:,}",
                f"{bound:,}",
                f"{used / bound:.3f}" if bound else "-",
                f"{without:,}",
                f"{without / alive(apart, number):.3f}" if bound else "-",
                f"{scratch(plan, number):,}",
                f"{default:,}",
                f"{least:,}",
                f"{used / least:.2f}",
            ]


def model(text: str) -> tuple[Path, Shapes]:
    """A type of ``argparse``: a file, and the shape of an input whose sizes it leaves open."""
    path, _, shape = text.partition(":")
    return model_file(path), dict([named_shape(shape)]) if shape else {}


def main() -> None:
    """Plan every model on every device and print one row for each memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=model, metavar="MODEL.onnx[:INPUT=1,3,224,224]")
    parser.add_argument("--resnet50", action="append", default=[], type=positive, metavar="BATCH")
    parser.add_argument("--device", action="append", default=[])
    options = parser.parse_args()
    devices = options.device or ["cpu", "fakedevice"]
    check_devices(parser, devices)
    if not options.models and not options.resnet50:
        parser.error("name a model, or give --resnet50 BATCH")
    table = Table(
        "model", "device", "memory", "planned", "alive", "ratio", "not in-place", "ratio",
        "scratch", "onnxruntime: default", "least", "planned / least",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        models = list(options.models)
        for batch in options.resnet50:
            path = Path(folder, f"resnet50_x{batch}.onnx")
            onnx.save(resnet50(batch), path)
            models.append((path, {}))
        for path, shapes in models:
            try:
                for row in rows(path, shapes, devices):
                    table.add_row(*row)
            except (HeadraceError, PeerError) as error:
                Console().print(f"left out: {path.name}: {error}", markup=False)
    Console(width=220).print(table)


if __name__ == "__main__":
    main()
