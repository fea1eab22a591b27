"""The page in a browser: every view draws without an error, and shows the plan's figures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser import BROWSER, opened, seen, used
from golden_jobs import JOBS

from headrace.compiler.pipeline import compile_job
from headrace.frontend.compile_options import CompileOptions
from headrace.frontend.plan_page import plan_page
from headrace.plan import OP_KINDS, Plan
from headrace.registry import BackendRegistry

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium here to look at the page with")


def figures(document: str) -> dict[str, str]:
    return dict(re.findall(r'data-figure="(\w+)">([^<]*)<', document))


def write(job: str, folder: Path) -> tuple[Path, Plan]:
    graph, modules, policy = JOBS[job]()
    registry = BackendRegistry.from_modules(modules)
    page = folder / f"{job}.html"
    page.write_text(plan_page(graph, registry, CompileOptions(fallback=policy.value)), "utf-8")
    return page, compile_job(graph, registry, policy).plan


@pytest.mark.parametrize("job", ["two_devices", "sharded_2x2"])
def test_the_figures_are_those_of_the_plan(job: str, tmp_path: Path) -> None:
    """Counts of ops, tasks, actors and streams, and the bytes that are planned and copied."""
    page, plan = write(job, tmp_path)
    document = seen(page, "", tmp_path / "profile")
    shown = figures(document)
    assert shown["ops"] == str(sum(task.kind in OP_KINDS for task in plan.tasks))
    assert shown["tasks"] == str(len(plan.tasks))
    assert shown["actors"] == str(len(plan.actors))
    assert shown["streams"] == str(len({actor.stream_id for actor in plan.actors}))
    for chunk in plan.chunks:
        assert f'title="{chunk.nbytes:,} bytes"' in document
    copied = sum(
        plan.registers[task.outputs[0]].spec.nbytes
        for task in plan.tasks
        if task.kind.value.startswith("copy")
    )
    assert f'title="{copied:,} bytes"' in document


@pytest.mark.parametrize(
    ("where", "heading"),
    [
        ("#overview", ""),
        ("#ops=third", "third"),
        ("#streams=third", "third"),
        ("#memory=third/y", "third/y"),
    ],
)
def test_every_view_draws(where: str, heading: str, tmp_path: Path) -> None:
    """No script fails, the view that the address names is open, and what it names is picked."""
    page, plan = write("two_devices", tmp_path)
    document, root = opened(page, where, tmp_path / "profile")
    assert f'data-ready="{len(plan.tasks)}"' in root
    view = where[1:].partition("=")[0]
    (tab,) = re.findall(rf'<button[^>]*id="tab-{view}"[^>]*>', document)
    assert 'aria-selected="true"' in tab
    picked = re.findall(r"<aside.*?<h2>([^<]*)</h2>", document, re.DOTALL)
    assert picked == ([heading] if heading else [])


ACTIONS = """
for (const key of "1234") { press(key); seen[key] = open(); }
press("/");
seen.focus = document.activeElement.id;
find("thi");
seen.found = [...document.querySelectorAll("#found b")].map((row) => row.textContent);
press("2");
press("Enter", search);
seen.picked = picked();
const canvas = document.querySelector("#ops canvas");
const box = canvas.getBoundingClientRect();
seen.tip = point(canvas, box.width / 2, box.height / 2);
press("[");
seen.before = picked();
for (const key of ["ArrowLeft", "ArrowDown", "+", "-", "0"]) press(key, canvas);
for (const view of ["ops", "streams", "memory"]) {
  document.getElementById(`tab-${view}`).click();
  const over = document.querySelector(`#${view} canvas`);
  const wheel = { ...at(over, box.width / 2, box.height / 2), deltaY: -240, cancelable: true };
  over.dispatchEvent(new WheelEvent("wheel", wheel));
}
seen.address = location.hash;
press("Escape");
seen.closed = picked();
const theme = root.dataset.theme;
document.getElementById("theme").click();
seen.themes = [theme, root.dataset.theme].sort();
"""


def test_it_is_used_without_a_mouse(tmp_path: Path) -> None:
    """Keys open views, find, step and close; pointing names what is under the pointer."""
    page, _ = write("two_devices", tmp_path)
    saw = used(page, tmp_path / "profile", ACTIONS)
    assert [saw[key] for key in "1234"] == ["overview", "ops", "streams", "memory"]
    assert saw["focus"] == "search"
    assert saw["found"][:2] == ["third", "third/y"]
    assert (saw["picked"], saw["tip"]) == ("third", "third")
    assert saw["before"] == "copy_h2d second/y@far:0"
    assert saw["address"].startswith("#memory")
    assert saw["closed"] is None
    assert saw["themes"] == ["dark", "light"]
