"""A browser without a window, for tests that look at pages, and hands to use them with."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--virtual-time-budget=3000", "--window-size=1280,800",
)  # fmt: skip


def seen(page: Path, where: str, profile: Path) -> str:
    """The document after its scripts ran, without the data that were put into it."""
    assert BROWSER is not None
    command = [
        BROWSER,
        *FLAGS,
        f"--user-data-dir={profile}",
        "--dump-dom",
        f"{page.as_uri()}{where}",
    ]
    ran = subprocess.run(command, capture_output=True, timeout=120, check=True)
    text = ran.stdout.decode("utf-8")
    return re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def opened(page: Path, where: str, profile: Path) -> tuple[str, str]:
    """What ``seen`` gives and its root element, in which no script said that it failed."""
    document = seen(page, where, profile)
    root = re.search(r"<html[^>]*>", document)
    assert root is not None
    assert "data-error" not in root[0], html.unescape(root[0])
    return document, root[0]


HANDS = """
<script>
const seen = {};
const root = document.documentElement;
const press = (key, target = document.body) =>
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const open = () => document.querySelector('[aria-selected="true"][role="tab"]').dataset.view;
const picked = () => document.querySelector("#details:not([hidden]) h2")?.textContent ?? null;
const search = document.getElementById("search");
const find = (words) => {
  search.value = words;
  search.dispatchEvent(new Event("input"));
};
const at = (canvas, x, y) => {
  const box = canvas.getBoundingClientRect();
  return { clientX: box.x + x, clientY: box.y + y, pointerId: 1, bubbles: true };
};
const point = (canvas, x, y) => {
  canvas.dispatchEvent(new PointerEvent("pointermove", at(canvas, x, y)));
  return document.querySelector("#tip:not([hidden]) b")?.textContent ?? null;
};
const click = (canvas, x, y) => {
  canvas.setPointerCapture = () => {};
  for (const kind of ["pointerdown", "pointerup"]) {
    canvas.dispatchEvent(new PointerEvent(kind, at(canvas, x, y)));
  }
};
ACTIONS
root.dataset.seen = JSON.stringify(seen);
</script>
"""


def used(page: Path, profile: Path, actions: str) -> dict[str, Any]:
    """What the script ``actions`` put into ``seen`` while it used the page."""
    hands = HANDS.replace("ACTIONS", actions)
    page.write_text(page.read_text("utf-8").replace("</body>", f"{hands}</body>"), "utf-8")
    _, root = opened(page, "", profile)
    found = re.search(r'data-seen="([^"]*)"', root)
    assert found is not None
    saw: dict[str, Any] = json.loads(html.unescape(found[1]))
    return saw
