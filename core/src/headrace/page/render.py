"""The page: a template, a style sheet, scripts and the data of one plan, put into one file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files

from headrace.page.data import OpNote, StageNote, page_data
from headrace.plan import Plan
from headrace.timeline import TaskSpan

SCRIPTS = (
    "base.js", "view.js", "tip.js", "details.js", "overview.js", "ops.js", "streams.js",
    "memory.js", "timeline.js", "timeline_lanes.js", "timeline_memory.js", "timeline_table.js",
    "search.js", "main.js",
)  # fmt: skip
"""In the order in which they need each other."""


def render_page(
    plan: Plan,
    notes: Mapping[str, OpNote] | None = None,
    stages: Sequence[StageNote] = (),
    spans: Sequence[TaskSpan] = (),
) -> str:
    """One HTML document that shows ``plan``; equal arguments give equal texts.

    It needs no network and no other file, asks for nothing, and keeps nothing.

    Args:
        plan: what to show.
        notes: how ops run and why, by the name of their task.
        stages: what compiling did on the way, in order.
        spans: when its tasks were done; with some, the page begins with a timeline.
    """
    data = page_data(plan, notes or {}, stages, spans)
    # `<` would let a name in the plan end the script element; JSON reads the escape as `<`.
    embedded = json.dumps(data, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")
    script = "\n".join(_asset(name) for name in SCRIPTS)
    page = _asset("page.html")
    for mark, text in (
        ("TITLE", escape(plan.name)),
        ("STYLE", _asset("page.css")),
        ("SCRIPT", f'"use strict";\n(() => {{\n{script}\n}})();'),
        ("DATA", embedded),  # last: what the data holds is never taken for a mark
    ):
        page = page.replace(f"<!--{mark}-->", text, 1)
    return page


def _asset(name: str) -> str:
    return files("headrace.page").joinpath("assets", name).read_text("utf-8")
