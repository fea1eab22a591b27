// Measured calls: streams as lanes with a bar for each task, and below, on the same axis, the bytes
// that were in use. This file: what is where, what is under the pointer, what is in sight.
const timed = plan.timeline; // null for a plan that nobody ran
const TIME_AXIS = 52;
const CALL_ROW = 28; // from here on, calls by their name
const STRIPS_APART = 26;
const callName = (place) => timed.calls[place][0]; // "call 3", or the job's name in its place
const timeline = {
  call: 0, // place of the one whose arrows are drawn
  over: null, // what is under the pointer
  only: -1, // a kind of task; all others are dimmed
  table: innerWidth >= 900,
  lane: 48, // heights
  strip: 80,
};
const spansOf = Array.from(tasks.name, () => []); // [lane, index], in the order of calls
const readersOf = Array.from(tasks.name, () => []);
for (const [lane, spans] of (timed?.lanes ?? []).entries()) {
  spans.task.forEach((task, index) => spansOf[task].push([lane, index]));
}
(timed?.sources ?? []).forEach((needs, task) => {
  for (const source of needs) readersOf[source].push(task);
});

/** Nanoseconds in a unit that fits. */
function duration(ns) {
  const [size, unit] = ns < 1e3 ? [1, "ns"] : ns < 1e6 ? [1e3, "µs"] : ns < 1e9 ? [1e6, "ms"] : [1e9, "s"];
  const value = ns / size;
  return `${size === 1 ? Math.round(value) : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`;
}
const atTime = (ns) => `${(ns / 1e6).toFixed(3)} ms`;
const percent = (share) => `${(100 * share).toFixed(1)} %`;

/** Lanes share what height there is, and so do the chunks below them. */
function layTimeline() {
  const room = byId("timeline").clientHeight - TIME_AXIS - 74;
  const many = timed.lanes.length;
  timeline.lane = Math.round(Math.min(64, Math.max(36, (room * 0.55) / many)));
  const rest = room - many * timeline.lane - STRIPS_APART;
  timeline.strip = Math.round(Math.min(420, Math.max(72, rest / timed.held.length)));
  return many * timeline.lane + STRIPS_APART + timed.held.length * timeline.strip;
}
const laneY = (lane) => lane * timeline.lane + views.timeline.ty;
const stripY = (strip) => laneY(timed.lanes.length) + STRIPS_APART + strip * timeline.strip;
const lastBefore = (begins, time) => { // position of the last that began by then
  let low = 0;
  let high = begins.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (begins[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
};

function drawTimeline(context) {
  const { sx, tx, width, fitted } = views.timeline;
  if (fitted) callChoice.value = -1;
  const from = (LABELS - tx) / sx;
  const to = (width - tx) / sx;
  drawCalls(context, from, to);
  for (let lane = 0; lane < timed.lanes.length; lane += 1) drawTimedLane(context, lane, from, to);
  for (let strip = 0; strip < timed.held.length; strip += 1) drawStrip(context, strip, from, to);
  drawArrows(context);
  drawTimedLabels(context);
  drawTimeAxis(context, from, to);
}

/** Where a call is, between those before and after it. */
function drawCalls(context, from, to) {
  const { sx, tx, height } = views.timeline;
  for (const [place, [, begin, end]] of timed.calls.entries()) {
    if (end < from || begin > to) continue;
    const x = tx + begin * sx;
    context.fillStyle = fade(colours.sunk, place % 2 ? 0.35 : 0.8);
    context.fillRect(x, TIME_AXIS - 4, Math.max(1, (end - begin) * sx), height);
    if ((end - begin) * sx < 4) continue;
    context.fillStyle = colours.line;
    context.fillRect(x, CALL_ROW - 6, 1, height);
  }
}

function drawTimeAxis(context, from, to) {
  const { sx, tx, width } = views.timeline;
  context.fillStyle = colours.bg;
  context.fillRect(0, 0, width, TIME_AXIS - 4);
  context.fillStyle = colours.line;
  context.fillRect(0, TIME_AXIS - 5, width, 1);
  let step = 1;
  for (let power = 1; step * sx < 84; power *= 10) step = [1, 2, 5].map((n) => n * power).find((n) => n * sx >= 84) ?? 10 * power;
  const [size, unit] = step < 1e3 ? [1, "ns"] : step < 1e6 ? [1e3, "µs"] : step < 1e9 ? [1e6, "ms"] : [1e9, "s"];
  context.font = `11px ${colours.sans}`;
  context.fillStyle = colours.dim;
  context.fillText(`time, ${unit}`, 14, 13);
  context.save();
  context.beginPath();
  context.rect(LABELS - 6, 0, width, TIME_AXIS);
  context.clip();
  context.textAlign = "center";
  for (let tick = Math.max(0, Math.ceil(from / step) * step); tick <= Math.min(to, timed.end + step); tick += step) {
    if (tx + tick * sx < LABELS) continue;
    context.fillText(count(tick / size), tx + tick * sx, 12);
    context.fillRect(tx + tick * sx, 19, 1, 3);
  }
  context.textAlign = "left";
  for (const [place, [called, begin, end, number]] of timed.calls.entries()) {
    if (end < from || begin > to) continue;
    const left = Math.max(LABELS, tx + begin * sx);
    const room = Math.min(width, tx + end * sx) - left;
    const chosen = place === timeline.call && (picked.task >= 0 || picked.register >= 0);
    context.fillStyle = chosen ? colours.accent : fade(colours.dim, 0.35);
    context.fillRect(left + 1, CALL_ROW - 4, Math.max(1, room - 2), 2);
    if (room < 16) continue;
    context.font = `600 11px ${colours.sans}`;
    context.fillStyle = chosen ? colours.accent : colours.ink;
    const name = room > 56 ? called : String(number);
    context.fillText(fit(context, name, room - 4), left + 3, CALL_ROW + 9);
    const used = context.measureText(name).width;
    context.font = `11px ${colours.sans}`;
    context.fillStyle = colours.dim;
    if (room > used + 66) context.fillText(duration(end - begin), left + used + 10, CALL_ROW + 9);
  }
  context.restore();
}

function hitTimeline(x, _y, px, py) {
  if (py < TIME_AXIS - 4) {
    const call = timed.calls.findIndex(([, begin, end]) => x >= begin && x <= end);
    return py > CALL_ROW - 6 && px > LABELS - 6 && call >= 0 ? { header: call } : null;
  }
  const lane = Math.floor((py - laneY(0)) / timeline.lane);
  if (lane < timed.lanes.length) return px < LABELS - 6 ? { lane } : hitLane(lane, x);
  const strip = Math.floor((py - stripY(0)) / timeline.strip);
  return px < LABELS || strip < 0 || strip >= timed.held.length ? null : hitStrip(strip, x, py);
}

function hitLane(lane, x) {
  const slack = 2 / views.timeline.sx; // a bar is at least as wide as a pointer is precise
  const { task, call, begin, ns, waits } = timed.lanes[lane];
  const index = lastBefore(begin, x + slack);
  const touches = (at) => at >= 0 && x <= begin[at] + Math.max(ns[at], slack);
  const found = begin[index] > x && touches(index - 1) ? index - 1 : index;
  if (touches(found)) return { lane, task: task[found], call: call[found], index: found };
  const wait = lastBefore(waits.begin, x);
  return wait >= 0 && x <= waits.begin[wait] + waits.ns[wait] ? { lane, wait } : null;
}

function hoverTimeline(found, event) {
  if (!found) hideTip();
  else if (found.header !== undefined) {
    const [name, begin, end] = timed.calls[found.header];
    showTip(event, name, `${duration(end - begin)}, begun at ${atTime(begin)}`, "click to look at it alone");
  } else if (found.wait !== undefined) tipOfWait(event, found);
  else if (found.task !== undefined) tipOfSpan(event, found);
  else if (found.register !== undefined) tipOfLife(event, found);
  else {
    const { device, stream, share } = timed.lanes[found.lane];
    const words = ["busy", "waiting for inputs", "ready, not begun", "nothing left to do"];
    showTip(event, `${device} · ${stream}`, ...words.map((word, part) => `${percent(share[part])} ${word}`));
  }
  if (JSON.stringify(found) !== JSON.stringify(timeline.over)) {
    timeline.over = found;
    views.timeline.redraw();
  }
}

function pickTimed(found) {
  if (!found || (found.lane !== undefined && found.task === undefined && found.wait === undefined)) pick(null);
  else if (found.header !== undefined) lookAtCall(found.header);
  else if (found.wait !== undefined) {
    const { task, source, call } = timed.lanes[found.lane].waits;
    timeline.call = call[found.wait];
    pick("task", source[found.wait] < 0 ? task[found.wait] : source[found.wait]);
  } else {
    timeline.call = found.call;
    pick(found.task === undefined ? "register" : "task", found.task ?? found.register);
  }
}

/** One call over the whole width; -1 for all of them. */
function lookAtCall(place) {
  const view = views.timeline;
  if (place < 0) view.fit();
  else {
    const [, begin, end] = timed.calls[place];
    view.span(begin, end);
  }
  callChoice.value = place;
}

function stepCall(step) {
  const { sx, tx, width } = views.timeline;
  const middle = (LABELS + width - 2 * tx) / 2 / sx;
  const now = views.timeline.fitted ? (step > 0 ? -1 : timed.calls.length) : lastBefore(timed.calls.map(([, begin]) => begin), middle);
  lookAtCall(Math.min(timed.calls.length - 1, Math.max(0, now + step)));
}

/** The span of a task in a call, or in the first one that it has. */
function spanAt(task, call) {
  const found = spansOf[task].find(([lane, index]) => timed.lanes[lane].call[index] === call) ?? null;
  return found && { lane: found[0], index: found[1] };
}

function focusSpan(task) {
  if (!spansOf[task].length) return;
  const { lane, index } = spanAt(task, timeline.call) ?? { lane: spansOf[task][0][0], index: spansOf[task][0][1] };
  const { begin, ns } = timed.lanes[lane];
  views.timeline.centre(begin[index] + ns[index] / 2, 0, Math.min(1, 90 / Math.max(1, ns[index])));
}
