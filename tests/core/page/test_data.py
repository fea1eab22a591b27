"""The data of the page are the plan's: counts, bytes, places, lifetimes, and who waits for whom."""

from __future__ import annotations

import html.parser
import itertools
import json
import re
from typing import Any

import numpy as np
import pytest
from golden_jobs import JOBS
from toy_backends import near

from headrace.compiler.pipeline import compile_job
from headrace.frontend.compile_options import CompileOptions
from headrace.frontend.plan_page import plan_page
from headrace.graph import JobGraph, JobGraphBuilder
from headrace.page import render_page
from headrace.placement import Placement
from headrace.plan import OP_KINDS, Plan
from headrace.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec

KINDS = pytest.mark.parametrize("job", JOBS)


def page_of(job: str) -> str:
    graph, modules, policy = JOBS[job]()
    options = CompileOptions(fallback=policy.value)
    return plan_page(graph, BackendRegistry.from_modules(modules), options)


def plan_of(job: str) -> Plan:
    graph, modules, policy = JOBS[job]()
    return compile_job(graph, BackendRegistry.from_modules(modules), policy).plan


class Page(html.parser.HTMLParser):
    """What a browser finds in the page: elements with attributes, and what scripts hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data

    @property
    def data(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.scripts[0])
        return loaded


@KINDS
def test_tasks_and_registers_are_those_of_the_plan(job: str) -> None:
    """Names, ops, devices, streams, bytes and places, each at the position it has in the plan."""
    plan, data = plan_of(job), Page(page_of(job)).data
    texts, tasks, registers = data["strings"], data["tasks"], data["registers"]
    assert tasks["name"] == [task.name for task in plan.tasks]
    assert [texts[kind] for kind in tasks["kind"]] == [task.kind.value for task in plan.tasks]
    ops = [task.call.op if task.call else task.kind.value for task in plan.tasks]
    assert [texts[op] for op in tasks["op"]] == ops
    assert tasks["outputs"] == [list(task.outputs) for task in plan.tasks]
    assert tasks["actor"] == [task.actor for task in plan.tasks]
    assert registers["name"] == [register.name for register in plan.registers]
    assert registers["bytes"] == [register.spec.nbytes for register in plan.registers]
    assert registers["offset"] == [register.offset for register in plan.registers]
    assert [chunk["bytes"] for chunk in data["chunks"]] == [c.nbytes for c in plan.chunks]
    assert data["lanes"]["tasks"] == [list(actor.tasks) for actor in plan.actors]


@KINDS
def test_the_op_graph_leaves_out_copies_alone(job: str) -> None:
    """Every op, input, result and new value of a variable is a node, and has a place."""
    plan, graph = plan_of(job), Page(page_of(job)).data["graph"]
    shown = [plan.tasks[position].name for position in graph["nodes"]]
    variables = plan.persistent()
    assert shown == [
        task.name
        for task in plan.tasks
        if not task.kind.value.startswith("copy") or task.outputs[0] in variables
    ]
    assert len(graph["x"]) == len(graph["y"]) >= len(shown)
    assert max(graph["wires"], default=0) < len(graph["x"])


def test_copied_bytes_are_summed_by_direction() -> None:
    """x and second go to the device, first and third come back: 24 bytes each."""
    copied = Page(page_of("two_devices")).data["copied"]
    host, device = "host memory of cpu:0", "device memory of far:0"
    assert copied == [["copy_d2h", device, host, 2, 48], ["copy_h2d", host, device, 2, 48]]


def test_what_begins_or_loads_a_variable_is_not_copied_in_each_run() -> None:
    """A call copies the new value, once; the jobs of the variable run when somebody asks."""
    host = "host memory of cpu:0"
    assert Page(page_of("variable")).data["copied"] == [["copy_d2d", host, host, 1, 24]]


@KINDS
def test_live_bytes_are_those_of_a_count_byte_by_byte(job: str) -> None:
    """At every task, the bytes that lie in a register written by then and read from then on."""
    plan, chunks = plan_of(job), Page(page_of(job)).data["chunks"]
    for number, chunk in enumerate(plan.chunks):
        alive = np.zeros((len(plan.tasks), chunk.nbytes), bool)
        for index, register in enumerate(plan.registers):
            touched = [
                position
                for position, task in enumerate(plan.tasks)
                if index in (*task.inputs, *task.outputs, task.workspace)
            ]
            lasts = register.constant is not None or index in plan.persistent()
            if register.chunk == number and not lasts and touched:
                end = register.offset + register.spec.nbytes
                alive[touched[0] : touched[-1] + 1, register.offset : end] = True
        wanted = alive.sum(axis=1)
        curve = np.zeros(len(plan.tasks), int)
        flat = chunks[number]["live"]
        for time, value in zip(flat[::2], flat[1::2], strict=True):
            curve[time:] = value
        np.testing.assert_array_equal(curve, wanted)
        assert chunks[number]["peak"] == wanted.max(initial=0)
        assert wanted[chunks[number]["peak_task"]] == wanted.max(initial=0)


@KINDS
def test_an_actor_begins_when_all_it_waits_for_is_there(job: str) -> None:
    """After the makers of what it consumes, and never together with another on its stream."""
    plan, lanes = plan_of(job), Page(page_of(job)).data["lanes"]
    maker = {r: number for number, actor in enumerate(plan.actors) for r in actor.produced}
    ends = [start + len(t) for start, t in zip(lanes["start"], lanes["tasks"], strict=True)]
    for number, actor in enumerate(plan.actors):
        for register in actor.consumed:
            assert lanes["start"][number] >= ends[maker[register]]
    for lane in range(len(lanes["streams"])):
        mine = sorted(
            (start, end)
            for start, end, at in zip(lanes["start"], ends, lanes["lane"], strict=True)
            if at == lane
        )
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(mine))
    assert lanes["steps"] == max(ends)


def test_it_says_how_ops_run_and_why() -> None:
    """Kernel, decomposition and fallback, each with what runs it and the reason."""
    data = Page(page_of("fallback")).data
    texts, tasks = data["strings"], data["tasks"]

    def of(name: str, column: str) -> str:
        return str(texts[tasks[column][tasks["name"].index(name)]])

    assert (of("here", "how"), of("here", "why")) == ("kernel", "")
    assert of("there", "how") == "fallback"
    assert "has no kernel for 'tanh'" in of("there", "why")
    assert of("there", "kernel") == "cpu: tanh for any"
    data = Page(page_of("decomposition")).data
    texts, tasks = data["strings"], data["tasks"]
    assert of("add_0", "how") == "decomposed"
    assert of("add_0", "part_of") == "add_n 'total'"


def test_passes_are_listed_with_what_they_left() -> None:
    """Those of plugins too."""
    stages = Page(page_of("plugin_pass")).data["stages"]
    assert stages[0] == ["building", 2, True]
    assert ["hello.fuse", 1, True] in stages
    assert ["hello.idle", 1, False] in stages
    assert stages[-1][0] == "lower_ops"


@KINDS
def test_the_page_needs_nothing_but_itself(job: str) -> None:
    """No element fetches anything, the policy forbids it, and no address is in the text."""
    text = page_of(job)
    page = Page(text)
    assert {tag for tag, _ in page.elements} & {"link", "img", "iframe", "object", "audio"} == set()
    for tag, attributes in page.elements:
        assert not {"src", "href", "srcset", "action"} & attributes.keys(), tag
    addresses = set(re.findall(r"(?:https?:)?//[\w.]+\.\w+[^\s\"')]*", "".join(page.scripts[1:])))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the name of a kind of element
    assert not re.search(r"@import|url\(|@font-face", text)
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|sendBeacon|eval|localStorage)\b", text)
    (policy,) = (a["content"] for _, a in page.elements if "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_equal_jobs_have_equal_pages() -> None:
    """Byte for byte."""
    assert page_of("sharded_2x2") == page_of("sharded_2x2")


def test_names_stay_names() -> None:
    """An op that is called like the end of a script neither ends it nor adds an element."""
    hostile = "</script><script>alert(1)</script><!--DATA--><!--SCRIPT-->"
    builder = JobGraphBuilder(hostile, Placement.of_device("near"))
    x = builder.input(hostile + "x", TensorSpec((2,), "float32"))
    builder.output("y", *builder.op("relu", [x], name=hostile))
    registry = BackendRegistry.from_modules({"near": near()})
    plan = compile_job(builder.finish(), registry).plan
    page = Page(render_page(plan))
    assert len(page.scripts) == 2
    assert "alert(1)" not in page.scripts[1]
    assert page.data["name"] == hostile
    assert hostile in page.data["tasks"]["name"]


def long_chain(count: int) -> JobGraph:
    builder = JobGraphBuilder("chain", Placement.of_device("near"))
    x = builder.input("x", TensorSpec((4,), "float32"))
    for _ in range(count):
        (x,) = builder.op("relu", [x])
    builder.output("y", x)
    return builder.finish()


def test_a_large_plan_costs_some_hundred_bytes_an_op() -> None:
    """What comes again is stored once: 1,000 ops more are less than 300 bytes each."""
    registry = BackendRegistry.from_modules({"near": near()})
    small, large = (len(plan_page(long_chain(n), registry)) for n in (1000, 2000))
    assert (large - small) / 1000 < 300


def test_a_plan_alone_has_a_page() -> None:
    """Also where nobody knows any more how it was compiled."""
    plan = plan_of("chain")
    data = Page(render_page(plan)).data
    assert data["stages"] == []
    ops = [task for task in plan.tasks if task.kind in OP_KINDS]
    assert len(ops) == 3
