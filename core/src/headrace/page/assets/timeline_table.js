// Where the time went, beside the timeline, and what was measured of the thing that was picked.
const timelineBar = make("div", { className: "bar" });
const kindColour = (what) => (opSlot.has(what) ? `var(--c${opSlot.get(what)})`
  : what.startsWith("copy") ? "var(--copy)" : "var(--weights)");
const decimals = timed && Math.max(...timed.kinds.map((kind) => kind[3])) >= 0.1 ? 2 : 3;
const milliseconds = new Intl.NumberFormat("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
const ms = (seconds) => milliseconds.format(seconds * 1e3);
const perCall = (value) => (Number.isInteger(value) ? count(value) : value.toFixed(1));

function timelineTable() {
  const [median, least, most] = timed.call_ns;
  const many = timed.calls.length;
  const rows = timed.kinds.map(([what, device, number, seconds, share], place) => ({
    className: timeline.only >= 0 && timeline.only !== place ? "same" : "",
    cells: [
      make("span", { className: "kind" }, make("i", { className: "swatch", style: `background:${kindColour(what)}` }),
        make("span", {}, make("button", { className: "link", textContent: KIND_NAMES[what] ?? what,
          title: "Show these alone", "aria-pressed": String(timeline.only === place), onclick: () => showOnly(place) }),
        make("small", { textContent: device }))),
      perCall(number), ms(seconds), percent(share)],
  }));
  return [
    ...title("Where the time went", many > 1
      ? `${plural(many, "call")}; the median one took ${duration(median)}, all ${duration(least)} to ${duration(most)}`
      : `one call, which took ${duration(median)}`),
    table(["task", "#count", "#ms", "#share"], rows),
    make("p", { className: "note", textContent: "Count and ms are those of a call, in the mean. Each task was waited for, so that its time is its own." }),
    heading("Streams while calls were under way"),
    make("div", { className: "rows" }, ...timed.lanes.flatMap(({ device, stream, share }) => [
      make("span", { textContent: `${device} · ${stream.replace("stream ", "s")}` }),
      make("span", { className: "meter", title: `${percent(share[1])} waiting for inputs, ${percent(share[2])} ready and not begun` },
        ...["var(--accent)", "color-mix(in srgb,var(--warn) 45%,transparent)", "var(--wire)"].map((colour, part) =>
          make("i", { style: `width:${100 * share[part]}%;background:${colour}` }))),
      make("span", { className: "n", textContent: `${percent(share[0])} busy` }),
    ])),
    heading("The longest tasks"),
    table(["task", "#ms", "#share"], timed.longest.map((task) =>
      ({ cells: [taskLink(task), ms(timed.tasks[task][4] / 1e9), percent(timed.tasks[task][5])] }))),
  ];
}

function showOnly(place) {
  timeline.only = timeline.only === place ? -1 : place;
  fillDetails();
  views.timeline.redraw();
}

function showTable(shown) {
  timeline.table = shown;
  if (!shown) timeline.only = -1;
  fillDetails();
  timelineBar.replaceChildren(...timelineKeys());
  views.timeline.redraw();
}

/** What the details of a task say of its calls. */
function measured(task) {
  const found = timed?.tasks[task];
  if (!found) return [];
  const [number, median, least, most, , share] = found;
  const span = spanAt(task, timeline.call);
  const lane = span && timed.lanes[span.lane];
  const wait = lane ? lane.waits.task.findIndex((waiting, place) =>
    waiting === task && lane.waits.call[place] === timeline.call && lane.waits.for_inputs[place]) : -1;
  return [heading("Measured"), facts(
    ["took", `${duration(median)} in the median of ${plural(number, "call")}, ${duration(least)} to ${duration(most)}`],
    ["share", `${percent(share)} of the time of all tasks`],
    ...(span ? [[callName(timeline.call), `${duration(lane.ns[span.index])}, begun at ${atTime(lane.begin[span.index])}`]] : []),
    ...(wait >= 0 ? [["waited", make("span", {}, `${duration(lane.waits.ns[wait])} for `, taskLink(lane.waits.source[wait]))]] : []))];
}

function measuredLife(register) {
  const life = timed && lifeAt(register, timeline.call);
  return life ? [heading("Measured"), facts([callName(timeline.call), `needed for ${duration(life.ns)}, from ${atTime(life.begin)} on`])] : [];
}

const callChoice = make("select", { "aria-label": "Call", title: "Look at one call (, and . step)",
  onchange: () => lookAtCall(Number(callChoice.value)) },
  make("option", { value: -1, textContent: "all calls" }),
  ...(timed?.calls ?? []).map(([name, begin, end], place) =>
    make("option", { value: place, textContent: `${name} · ${duration(end - begin)}` })));

function timelineKeys() {
  const key = (name, style) => make("span", { className: "key" }, make("i", { style }), name);
  return [callChoice,
    timeline.table ? null : make("button", { textContent: "where the time went", onclick: () => showTable(true) }),
    timed.kinds.some(([what]) => what.startsWith("copy")) ? key("copy", "background:var(--copy)") : null,
    key("input or result", "background:var(--weights)"),
    key("waits for inputs", "background:repeating-linear-gradient(135deg,var(--warn) 0 1px,transparent 1px 4px)"),
    key("ready, not begun", "background:color-mix(in srgb,var(--dim) 30%,transparent);height:5px"),
    key("bytes in use", "background:var(--accent);height:2px")].filter(Boolean);
}
