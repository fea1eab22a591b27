"""The timeline in a browser: what is drawn, found, picked and said, on spans written by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser import BROWSER, opened, used
from measured import plan_of, spans_of

from headrace.page import render_page

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium here to look at the page with")

CALLS = 3
"""Of 120 ns each, 300 ns apart: 0 to 720 ns on the axis."""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """The page of a trace of two devices."""
    plan = plan_of("two_devices")
    path = tmp_path / "trace.html"
    path.write_text(render_page(plan, spans=spans_of(plan, calls=CALLS)), "utf-8")
    return path


def test_it_is_what_the_page_of_a_trace_begins_with(page: Path, tmp_path: Path) -> None:
    """With the table beside it, whose figures are those of the spans."""
    document, _ = opened(page, "", tmp_path / "profile")
    (tab,) = re.findall(r'<button[^>]*id="tab-timeline"[^>]*>', document)
    assert 'aria-selected="true"' in tab
    beside = document[document.index("<aside") : document.index("</aside")]
    text = re.sub(r"<[^>]*>", " ", beside)
    words = " ".join(text.split())
    assert "Where the time went" in words
    assert "3 calls; the median one took 120 ns, all 120 ns to 120 ns" in words
    assert "add far:0 2 0.000 39.5 %" in words
    assert "far:0 · s0 37.5 % busy" in words


@pytest.mark.parametrize(
    ("where", "heading"), [("#timeline=third", "third"), ("#ops=third", "third")]
)
def test_an_address_leads_to_a_task(page: Path, tmp_path: Path, where: str, heading: str) -> None:
    """And what was measured of it is said in every view."""
    document, _ = opened(page, where, tmp_path / "profile")
    assert re.findall(r"<aside.*?<h2>([^<]*)</h2>", document, re.DOTALL) == [heading]
    assert "15 ns in the median of 3 calls" in document
    assert "13.2 % of the time of all tasks" in document


ACTIONS = """
const canvas = document.querySelector("#timeline canvas");
const axis = (ns) => 156 + (ns * (canvas.clientWidth - 156 - 24)) / 720;
const lane = Math.round(Math.min(64, Math.max(36, ((canvas.clientHeight - 126) * 0.55) / 6)));
const middle = (row) => 52 + row * lane + lane / 2;
seen.names = [];
for (const [ns, row] of [[37, 1], [10, 1], [62.6, 4], [70, 4], [115, 5]]) {
  seen.names.push(point(canvas, axis(ns), middle(row)));
}
seen.header = point(canvas, axis(360), 38);
seen.label = point(canvas, 40, middle(1));
click(canvas, axis(337), middle(1));
seen.picked = picked();
seen.said = document.getElementById("details").textContent;
seen.address = location.hash;
press("]");
seen.next = picked();
for (const view of ["ops", "streams", "memory", "overview", "timeline"]) {
  document.getElementById(`tab-${view}`).click();
  seen[view] = picked();
}
press("0", canvas);
click(canvas, axis(60), middle(4));
seen.awaited = picked();
press("Escape");
seen.table = picked();
const choice = document.querySelector("#timeline select");
press(".");
const first = choice.value;
press(".");
press(".");
press(".");
seen.calls = [first, choice.value];
press("0", canvas);
const kind = document.querySelector("aside .kind button");
kind.click();
seen.pressed = document.querySelectorAll("aside [aria-pressed=true]").length;
find("first/y");
press("Enter", search);
seen.register = picked();
seen.needed = document.getElementById("details").textContent;
press("Escape");
document.querySelector("#details .close").click();
seen.closed = picked();
document.querySelector("#timeline .bar button").click();
seen.again = picked();
document.getElementById("theme").click();
for (const key of ["ArrowLeft", "ArrowDown", "+", "-", "0"]) press(key, canvas);
for (const key of "12345") { press(key); seen[key] = open(); }
"""


def test_it_is_used_as_the_other_views_are(page: Path, tmp_path: Path) -> None:
    """Points, picks, finds, steps; a task that is picked stays so in every view."""
    saw = used(page, tmp_path / "profile", ACTIONS)
    assert saw["names"] == [
        "first", "waits for copy_h2d x@far:0", "ready, not begun", "second", "foreign_output y",
    ]  # fmt: skip
    assert saw["header"] == "call 2"
    assert saw["label"] == "far:0 · stream 0"
    assert saw["picked"] == "first"
    assert "30 ns in the median of 3 calls" in saw["said"]
    assert "call 230 ns, begun at 0.000 ms" in saw["said"]
    assert "22 ns for copy_h2d x@far:0" in saw["said"]
    assert saw["address"] == "#timeline=first"
    assert saw["next"] == "copy_d2h first/y@cpu:0"
    for view in ("ops", "streams", "memory", "overview", "timeline"):
        assert saw[view] == saw["next"]
    assert saw["awaited"] == "copy_d2h first/y@cpu:0"
    assert saw["table"] == saw["again"] == "Where the time went"
    assert saw["calls"] == ["0", "2"]
    assert saw["pressed"] == 1
    assert saw["register"] == "first/y"
    assert "needed for 78 ns" in saw["needed"]
    assert saw["closed"] is None
    assert [saw[key] for key in "12345"] == ["timeline", "overview", "ops", "streams", "memory"]
