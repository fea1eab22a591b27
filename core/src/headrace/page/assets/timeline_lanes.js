// Bars, waits and arrows: what each stream did in a call, and what it waited for.
const barTop = () => 7;
const barHigh = () => timeline.lane - 14;

function drawTimedLane(context, lane, from, to) {
  const { sx, tx, width, height } = views.timeline;
  const y = laneY(lane);
  if (y > height || y + timeline.lane < TIME_AXIS) return;
  context.fillStyle = colours.line;
  context.fillRect(0, y + timeline.lane - 1, width, 1);
  drawWaits(context, lane, from, to, y);
  const { device, task, call, begin, ns } = timed.lanes[lane];
  const chosen = [];
  let drawn = -1; // the pixel that is full: what fits into it too is left out
  for (let index = Math.max(0, lastBefore(begin, from)); index < task.length && begin[index] <= to; index += 1) {
    const x = tx + begin[index] * sx;
    const wide = ns[index] * sx;
    const focus = task[index] === picked.task || isOver(lane, index);
    if (focus) chosen.push(index);
    if (x + wide < drawn) continue;
    const left = Math.max(x, LABELS - 60);
    const right = Math.min(x + Math.max(wide, 0.9), width + 60);
    drawn = Math.floor(x + wide) + 0.5;
    drawBar(context, task[index], left, y + barTop(), right - left, isDimmed(device, task[index]), ns[index]);
  }
  for (const index of chosen) {
    const mine = call[index] === timeline.call || isOver(lane, index);
    const x = tx + begin[index] * sx;
    context.strokeStyle = colours.accent;
    context.lineWidth = mine ? 2.5 : 1.5;
    context.strokeRect(x - 1, y + barTop() - 1, Math.max(3, ns[index] * sx + 1), barHigh() + 2);
  }
}

const isOver = (lane, index) => timeline.over?.lane === lane && timeline.over.index === index;
function isDimmed(device, task) {
  if (timeline.only < 0) return false;
  const [what, where] = timed.kinds[timeline.only];
  return text(tasks.op[task]) !== what || device !== where;
}

function drawBar(context, task, x, y, wide, dimmed, ns) {
  const colour = taskColour(task);
  const high = barHigh();
  context.fillStyle = fade(colour, dimmed ? 0.12 : wide > 6 ? 0.52 : 0.85);
  context.fillRect(x, y, wide > 3 ? wide - 0.75 : wide, high);
  if (wide < 6 || dimmed) return;
  context.fillStyle = colour;
  context.fillRect(x, y, 2, high);
  if (wide < 34) return;
  const left = Math.max(x, LABELS) + 8;
  const room = x + wide - left - 5;
  context.fillStyle = colours.ink;
  const two = high > 30 && room > 40;
  const label = isCopy(task) || isOp(task) ? labelOf(task) : tasks.name[task].split(" ").slice(1).join(" ");
  context.fillText(fit(context, label, room), left, y + high / 2 + (two ? -6.5 : 0.5));
  if (!two) return;
  context.font = `11px ${colours.sans}`;
  context.fillText(fit(context, duration(ns), room), left, y + high / 2 + 8);
  context.font = `12px ${colours.sans}`;
}

function drawWaits(context, lane, from, to, y) {
  const { sx, tx, width } = views.timeline;
  const { waits } = timed.lanes[lane];
  const top = y + barTop();
  const high = barHigh();
  const striped = stripes(context);
  let drawn = -1;
  for (let index = Math.max(0, lastBefore(waits.begin, from)); index < waits.task.length && waits.begin[index] <= to; index += 1) {
    const x = Math.max(tx + waits.begin[index] * sx, LABELS - 60);
    const right = Math.min(tx + (waits.begin[index] + waits.ns[index]) * sx, width + 60);
    if (right - x < 0.75 || right < drawn) continue;
    drawn = Math.floor(right) + 0.5;
    const inputs = waits.for_inputs[index];
    context.fillStyle = inputs ? striped : fade(colours.dim, 0.16);
    if (inputs) context.fillRect(x, top, right - x, high);
    else context.fillRect(x, top + high / 2 - 3, right - x, 6);
    if (timeline.over?.lane === lane && timeline.over.wait === index) {
      context.strokeStyle = inputs ? colours.warn : colours.dim;
      context.lineWidth = 1.5;
      context.strokeRect(x + 0.5, top + 0.5, right - x - 1, high - 1);
    }
    const left = Math.max(x, LABELS) + 6;
    if (!inputs || right - left < 90) continue;
    context.font = `11px ${colours.sans}`;
    const words = fit(context, `waits for ${tasks.name[waits.source[index]]}`, right - left - 8);
    context.fillStyle = fade(colours.bg, 0.85);
    context.fillRect(left - 3, top + high / 2 - 8, context.measureText(words).width + 6, 16);
    context.fillStyle = colours.warn;
    context.fillText(words, left, top + high / 2 + 0.5);
    context.font = `12px ${colours.sans}`;
  }
}

/** Diagonal stripes in the colour of what is missing; made anew when the theme changes. */
let striping = { colour: "", pattern: null };
function stripes(context) {
  if (striping.colour !== colours.warn) {
    const tile = make("canvas", { width: 8, height: 8 });
    const pen = tile.getContext("2d");
    pen.strokeStyle = fade(colours.warn, 0.28);
    pen.lineWidth = 1.4;
    pen.beginPath();
    for (const shift of [-8, 0, 8]) {
      pen.moveTo(shift - 1, 9);
      pen.lineTo(shift + 9, -1);
    }
    pen.stroke();
    striping = { colour: colours.warn, pattern: context.createPattern(tile, "repeat") };
  }
  return striping.pattern;
}

/** From those that made what the picked task read in the chosen call, and to its readers there. */
function drawArrows(context) {
  const span = picked.task >= 0 ? spanAt(picked.task, timeline.call) : null;
  if (!span) return;
  const arrows = [...timed.sources[picked.task].map((source) => [spanAt(source, timeline.call), span]),
    ...readersOf[picked.task].map((reader) => [span, spanAt(reader, timeline.call)])];
  const { sx, tx } = views.timeline;
  context.lineWidth = 1.6;
  context.strokeStyle = context.fillStyle = colours.accent;
  for (const [from, to] of arrows.slice(0, 80)) {
    if (!from || !to) continue;
    const made = timed.lanes[from.lane];
    const x0 = tx + (made.begin[from.index] + made.ns[from.index]) * sx;
    const x1 = tx + timed.lanes[to.lane].begin[to.index] * sx;
    if (Math.abs(x1 - x0) < 2 && from.lane === to.lane) continue; // one after the other, as one sees
    const y0 = laneY(from.lane) + timeline.lane / 2;
    const y1 = laneY(to.lane) + timeline.lane / 2;
    const bow = Math.max(10, Math.min(80, Math.abs(x1 - x0) / 2));
    const lift = from.lane === to.lane ? timeline.lane * 0.62 : 0;
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bow, y0 - lift, x1 - bow, y1 - lift, x1 - 5, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 8, y1 - 4.5);
    context.lineTo(x1 - 8, y1 + 4.5);
    context.fill();
  }
}

function drawTimedLabels(context) {
  const { height } = views.timeline;
  context.fillStyle = colours.bg;
  context.fillRect(0, 0, LABELS - 6, height);
  context.fillStyle = colours.line;
  context.fillRect(LABELS - 6, 0, 1, height);
  for (const [lane, { device, stream, share }] of timed.lanes.entries()) {
    const middle = laneY(lane) + timeline.lane / 2;
    if (middle < TIME_AXIS - 20 || middle > height + 20) continue;
    context.fillStyle = colours.ink;
    context.font = `600 12px ${colours.sans}`;
    context.fillText(fit(context, `${device} · ${stream.replace("stream ", "s")}`, LABELS - 26), 14, middle - 7);
    context.font = `11px ${colours.sans}`;
    context.fillStyle = colours.dim;
    context.fillText(`${percent(share[0])} busy`, 14, middle + 9);
  }
  drawStripLabels(context);
}

function tipOfSpan(event, { lane, task, call, index }) {
  const { begin, ns } = timed.lanes[lane];
  const outputs = tasks.outputs[task].map((register) => text(registers.spec[register])).join(", ");
  showTip(event, tasks.name[task], `${text(tasks.op[task])}${outputs ? ` → ${outputs}` : ""}`,
    `${duration(ns[index])} in ${callName(call)}, begun at ${atTime(begin[index])}`,
    `${duration(timed.tasks[task][1])} in the median call`);
}

function tipOfWait(event, { lane, wait }) {
  const { task, source, ns, call } = timed.lanes[lane].waits;
  if (source[wait] < 0) {
    showTip(event, "ready, not begun", `${duration(ns[wait])} in ${callName(call[wait])}`,
      `${tasks.name[task[wait]]} had all that it reads; its thread was busy elsewhere`);
  } else {
    showTip(event, `waits for ${tasks.name[source[wait]]}`, `${duration(ns[wait])} in ${callName(call[wait])}`,
      `${tasks.name[task[wait]]} reads what it makes on ${streamOf(source[wait])}`);
  }
}
