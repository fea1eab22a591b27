"""Traces of models: every task once a call, in an order that its data allows, and as a file."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from toy_backends import FarKernel, far, near

from headrace.device import DeviceContext, Launch, OpCall
from headrace.errors import RunError
from headrace.frontend.trace import Trace
from headrace.numpy_ops import FUNCTIONS
from headrace.onnx import Model, load
from headrace.registry import BackendRegistry

X = np.array([[-1, 2]], np.float32)
DEVICES = ("near", "far")


def model() -> bytes:
    """``y = relu(x + x) + x``."""

    def floats(name: str) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2])

    nodes = [
        helper.make_node("Add", ["x", "x"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="second"),
        helper.make_node("Add", ["b", "x"], ["y"], name="third"),
    ]
    graph = helper.make_graph(nodes, "g", [floats("x")], [floats("y")])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return made.SerializeToString()


@pytest.fixture
def load_on() -> Iterator[Callable[..., Model]]:
    """Loads the model onto ``near`` or ``far``."""
    loaded: list[Model] = []

    def load_it(device: str, **far_options: Any) -> Model:
        modules = {"near": near(tuple(FUNCTIONS)), "far": far(tuple(FUNCTIONS), **far_options)}
        loaded.append(load(model(), device, registry=BackendRegistry.from_modules(modules)))
        return loaded[-1]

    yield load_it
    for item in loaded:
        item.close()


def trace_of(load_on: Callable[..., Model], device: str, calls: int) -> Trace:
    return load_on(device).trace({"x": X}, calls)


@pytest.mark.parametrize("device", DEVICES)
def test_every_task_is_there_once_a_call(load_on: Callable[..., Model], device: str) -> None:
    """Also copies, and what is handed over; views take no time and have no span."""
    trace = trace_of(load_on, device, 3)
    done = sorted((span.task, span.number) for span in trace.spans)
    first = min(number for _, number in done)
    tasks = range(len(trace.plan.tasks))
    assert done == [(task, first + call) for task in tasks for call in range(3)]
    assert trace.seconds > 0


@pytest.mark.parametrize("device", DEVICES)
def test_nothing_is_read_before_it_was_made(load_on: Callable[..., Model], device: str) -> None:
    """A task begins when those whose results it reads have ended."""
    trace = trace_of(load_on, device, 2)
    span = {(s.task, s.number): s for s in trace.spans}
    maker = {r: i for i, task in enumerate(trace.plan.tasks) for r in task.outputs}
    for (position, number), reader in span.items():
        for register in trace.plan.tasks[position].inputs:
            if register in maker:
                assert span[maker[register], number].end_ns <= reader.begin_ns


def test_times_add_up(load_on: Callable[..., Model]) -> None:
    """By op and device, the most first; their sum is that of all spans."""
    trace = trace_of(load_on, "far", 4)
    times = trace.times()
    assert [t.seconds for t in times] == sorted((t.seconds for t in times), reverse=True)
    counts = {(t.what, t.device): t.count for t in times}
    assert counts["add", "far:0"] == 8
    assert counts["relu", "far:0"] == counts["copy_h2d", "far:0"] == 4
    assert counts["foreign_input", "caller"] == counts["foreign_output", "caller"] == 4
    spent = sum(span.end_ns - span.begin_ns for span in trace.spans)
    assert sum(t.seconds for t in times) == pytest.approx(spent / 1e9)


@pytest.mark.parametrize("device", DEVICES)
def test_the_file_is_what_viewers_read(
    load_on: Callable[..., Model], device: str, tmp_path: Path
) -> None:
    """Lanes have names, tasks a length and their lane alone, and memory ends as it began."""
    trace_of(load_on, device, 2).save(tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text("utf-8"))["traceEvents"]
    lanes = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    tasks = [e for e in events if e["ph"] == "X"]
    assert {(e["pid"], e["tid"]) for e in tasks} == set(lanes)
    assert {"inputs", "results", "stream 0"} <= set(lanes.values())
    assert min(e["ts"] for e in tasks) == 0
    assert all(e["dur"] >= 0 for e in tasks)
    for lane in lanes:
        mine = sorted(
            (round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000))
            for e in tasks
            if (e["pid"], e["tid"]) == lane
        )
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(mine))
    (third, _) = [e for e in tasks if "third" in e["args"].get("location", "")]
    assert third["name"] == "add"
    assert any("float32[1, 2]" in text for text in third["args"]["writes"])
    counters: dict[str, list[int]] = {}
    for event in events:
        if event["ph"] == "C":
            counters.setdefault(event["name"], []).append(event["args"]["bytes"])
    assert counters
    for values in counters.values():
        assert min(values) >= 0 and values[-1] == 0 and max(values) >= X.nbytes


@pytest.mark.parametrize("device", DEVICES)
def test_the_page_is_that_of_the_plan_with_its_spans(
    load_on: Callable[..., Model], device: str, tmp_path: Path
) -> None:
    """With kernels and passes as on the page of the plan; equal traces give equal pages."""
    trace = trace_of(load_on, device, 2)
    trace.save_page(tmp_path / "t.html")
    text = (tmp_path / "t.html").read_text("utf-8")
    assert text == trace.page()
    shown = json.loads(text.partition('type="application/json">')[2].partition("</script>")[0])
    plan = load_on(device).plan_page({"x": X})
    told = json.loads(plan.partition('type="application/json">')[2].partition("</script>")[0])
    assert told.pop("timeline") is None
    timeline = shown.pop("timeline")
    assert shown == told
    assert [(name, number) for name, _, _, number in timeline["calls"]] == [
        ("call 1", 1),
        ("call 2", 2),
    ]
    assert sum(len(lane["task"]) for lane in timeline["lanes"]) == len(trace.spans)


def test_an_error_in_a_traced_run_names_the_op(load_on: Callable[..., Model]) -> None:
    """Not the chain that it is a part of: each task is launched by itself."""

    class Breaks(FarKernel):
        def enqueue(self, context: DeviceContext, work: Callable[[], None]) -> Launch:
            def fail() -> None:
                raise ArithmeticError("the chip is on fire")

            return super().enqueue(context, fail if self.call.op == "relu" else work)

    def make(call: OpCall) -> FarKernel:
        return Breaks(call)

    with pytest.raises(RunError, match=r"relu .*the chip is on fire") as caught:
        load_on("far", kernel=make).trace({"x": X})
    assert caught.value.op == "relu"
