// Puts the views together: tabs, theme, keys, and where a link leads.
const views = {};
let current = "overview";
if (!timed) for (const id of ["tab-timeline", "timeline"]) byId(id).remove();

views.ops = new View(byId("ops"), {
  label: "Op graph. Arrow keys move, plus and minus zoom, 0 shows all, brackets step through the ops.",
  world: () => ({ width: graph.width, height: graph.height }),
  pad: { left: 40, top: 40, right: 40, bottom: 64 },
  draw: drawOps, hit: hitOps, hover: hoverOps,
  pick: (hit) => (hit ? pick("task", graph.nodes[hit.node]) : pick(null)),
});
views.streams = new View(byId("streams"), {
  axes: "x",
  label: "Actors on streams. Arrow keys move, plus and minus zoom, 0 shows all.",
  world: () => (layLanes(), { width: lanes.steps, height: lanes.streams.length * LANE + 20, most: 160, full: 110 }),
  pad: { left: LABELS, top: AXIS, right: 24, bottom: 64 },
  draw: drawStreams, hit: hitStreams, hover: hoverStreams,
  pick: (hit) => (!hit ? pick(null) : hit.task >= 0 ? pick("task", hit.task) : pick("actor", hit.actor)),
});
views.memory = new View(byId("memory"), {
  axes: "x",
  label: "Memory over time. Arrow keys move, plus and minus zoom, 0 shows all.",
  world: () => ({ width: taskCount, height: 1, most: 160, full: 160 }),
  pad: { left: LEFT, top: HEAD, right: 24, bottom: 62 },
  draw: drawMemory, hit: hitMemory, hover: hoverMemory,
  pick: (hit) => (hit ? pick("register", hit.register) : pick(null)),
});

if (timed) {
  views.timeline = new View(byId("timeline"), {
    axes: "x",
    label: "Measured calls. Arrow keys move, plus and minus zoom, 0 shows all, comma and full stop step through the calls.",
    world: () => ({ width: timed.end, height: layTimeline(), most: 1 }),
    pad: { left: LABELS, top: TIME_AXIS, right: 24, bottom: 74 },
    draw: drawTimeline, hit: hitTimeline, hover: hoverTimeline, pick: pickTimed,
  });
  timelineBar.append(...timelineKeys());
  byId("timeline").append(timelineBar);
}

/** Shows a tab; the address keeps it. */
function open(name) {
  current = name;
  for (const tab of document.querySelectorAll('[role="tab"]')) {
    const selected = tab.dataset.view === name;
    tab.setAttribute("aria-selected", String(selected));
    tab.tabIndex = selected ? 0 : -1;
    byId(tab.dataset.view).hidden = !selected;
  }
  hideTip();
  fillDetails();
  keepAddress();
  const view = views[name];
  if (view) {
    view.settle();
    view.draw();
  }
}

/** The address names what is seen, so that it can be sent to somebody. */
function keepAddress() {
  const name = current === "memory" ? registers.name[picked.register] : tasks.name[picked.task];
  history.replaceState(null, "", `#${current}${name === undefined ? "" : `=${encodeURIComponent(name)}`}`);
}

/** Picks a thing and brings it into the middle of the view that is open. */
function show(what, index) {
  if (current === "overview") open(what === "register" ? "memory" : what === "actor" ? "streams" : "ops");
  pick(what, index);
  if (what === "actor") {
    if (current !== "streams") open("streams");
    views.streams.centre(lanes.start[index] + Math.min(lanes.tasks[index].length, 8) / 2, 0, 20);
  } else if (what === "task") {
    if (current === "memory") open("ops");
    if (current === "ops") focusTask(index);
    else if (current === "timeline") focusSpan(index);
    else views.streams.centre(stepOf[index] + 0.5, 0, 60);
  } else if (current === "memory") focusRegister(index);
  else if (current === "timeline") focusLife(index);
}

const tabs = [...document.querySelectorAll('[role="tab"]')];
for (const [place, tab] of tabs.entries()) {
  tab.addEventListener("click", () => open(tab.dataset.view));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(place + step + tabs.length) % tabs.length];
    next.focus();
    open(next.dataset.view);
  });
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") pick(null);
  if (/^(INPUT|SELECT)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    input.focus();
  } else if (event.key >= "1" && event.key <= String(tabs.length)) open(tabs[Number(event.key) - 1].dataset.view);
  else if (timed && current === "timeline" && ",.".includes(event.key)) stepCall(event.key === "." ? 1 : -1);
  else if (event.key === "[" || event.key === "]") {
    const step = event.key === "]" ? 1 : -1;
    const next = picked.task < 0 ? 0 : Math.min(taskCount - 1, Math.max(0, picked.task + step));
    show("task", next);
  }
});

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  readColours();
  for (const view of Object.values(views)) view.redraw();
}
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
prefersDark.addEventListener("change", () => setTheme(prefersDark.matches ? "dark" : "light"));
byId("theme").addEventListener("click", () => setTheme(colours.dark ? "light" : "dark"));

byId("title").textContent = plan.name;
byId("title").title = plan.name;
setTheme(prefersDark.matches ? "dark" : "light");
opsBar.append(...legend());
byId("ops").append(opsBar);
byId("streams").append(make("div", { className: "bar" }, "each task takes one step here: what is shown is order and room for overlap, not time"));
memoryBar.append(...memoryKeys());
byId("memory").append(memoryBar);
drawOverview();
const [askedView, askedName] = decodeURIComponent(location.hash.slice(1)).split(/=(.*)/s);
open(byId(askedView)?.matches("section") ? askedView : tabs[0].dataset.view);
if (askedName) {
  const [what, names] = askedView === "memory" ? ["register", registers.name] : ["task", tasks.name];
  if (names.includes(askedName)) show(what, names.indexOf(askedName));
}
document.documentElement.dataset.ready = String(taskCount);
