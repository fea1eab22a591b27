// Actors on streams: one lane a stream, one bar an actor, its tasks inside. Steps show order and
// room for overlap; a plan knows no durations.
const LABELS = 156;
const AXIS = 30;
let LANE = 62; // as high as there is room for, see layLanes
const stepOf = new Int32Array(taskCount);
lanes.tasks.forEach((chain, actor) => chain.forEach((task, index) => { stepOf[task] = lanes.start[actor] + index; }));
const laneTop = (lane) => lane * LANE + 10;
const actorsOf = Array.from(lanes.streams, () => []);
lanes.lane.forEach((lane, actor) => actorsOf[lane].push(actor));
for (const found of actorsOf) found.sort((a, b) => lanes.start[a] - lanes.start[b]);
const publisher = new Int32Array(registers.name.length).fill(-1);
lanes.produced.forEach((made, actor) => made.forEach((register) => { publisher[register] = actor; }));
let over = null;

/** Few lanes may be higher than many. */
function layLanes() {
  const room = byId("streams").clientHeight - AXIS - 70;
  LANE = Math.round(Math.min(80, Math.max(62, room / lanes.streams.length)));
}

function drawStreams(context) {
  const { sx, tx, ty, width, height } = views.streams;
  const from = (LABELS - tx) / sx;
  const to = (width - tx) / sx;
  for (let lane = 0; lane < lanes.streams.length; lane += 1) {
    const y = laneTop(lane) + ty;
    if (y > height || y + LANE < AXIS) continue;
    context.fillStyle = lane % 2 ? "transparent" : fade(colours.sunk, 0.7);
    context.fillRect(0, y - 5, width, LANE);
  }
  drawCredits(context, from, to);
  for (const [lane, found] of actorsOf.entries()) {
    const y = laneTop(lane) + ty;
    if (y > height || y + LANE < 0) continue;
    for (const actor of found) {
      const start = lanes.start[actor];
      const size = lanes.tasks[actor].length;
      if (start + size < from) continue;
      if (start > to) break;
      drawActor(context, actor, tx + start * sx, y, size * sx, from, to);
    }
  }
  drawLaneLabels(context);
}

function drawActor(context, actor, x, y, wide, from, to) {
  const view = views.streams;
  const { sx, tx } = view;
  const chain = lanes.tasks[actor];
  const top = y + 16;
  const high = LANE - 30;
  const focus = picked.actor === actor || (over && over.actor === actor);
  context.fillStyle = colours.surface;
  context.beginPath();
  context.roundRect(x + 0.5, top, Math.max(1.5, wide - 1), high, Math.min(5, wide / 3));
  context.fill();
  const first = Math.max(0, Math.floor(from) - lanes.start[actor]);
  const last = Math.min(chain.length, Math.ceil(to) - lanes.start[actor] + 1);
  context.save();
  context.clip();
  const stride = Math.max(1, Math.floor(1.2 / sx)); // a task that is less than a pixel wide
  for (let index = first - (first % stride); index < last; index += stride) {
    const task = chain[index];
    const left = tx + (lanes.start[actor] + index) * sx;
    const colour = taskColour(task);
    const wideTask = Math.max(sx * stride - (sx > 6 ? 1 : 0), 0.8);
    context.fillStyle = fade(colour, sx > 34 ? (colours.dark ? 0.3 : 0.2) : 0.8);
    context.fillRect(left, top, wideTask, high);
    if (sx > 34) {
      context.fillStyle = colour;
      context.fillRect(left, top, 3, high);
      context.fillStyle = colours.ink;
      context.fillText(fit(context, isCopy(task) ? text(tasks.kind[task]).replace("copy_", "") : labelOf(task), sx - 12), left + 8, top + high / 2 + 0.5);
    }
    if (task === picked.task || (over && over.task === task)) {
      context.strokeStyle = colours.accent;
      context.lineWidth = 2;
      context.strokeRect(left + 1, top + 1, Math.max(2, wideTask - 2), high - 2);
    }
  }
  context.restore();
  context.strokeStyle = focus ? colours.accent : fade(colours.dim, 0.55);
  context.lineWidth = focus ? 2 : 1;
  context.beginPath();
  context.roundRect(x + 0.5, top, Math.max(1.5, wide - 1), high, Math.min(5, wide / 3));
  context.stroke();
  const shown = Math.min(x + wide, view.width) - Math.max(x, LABELS);
  if (shown > 54) {
    context.font = `11px ${colours.sans}`;
    context.fillStyle = colours.dim;
    const name = `actor ${actor}` + (chain.length > 1 ? ` · ${plural(chain.length, "task")}` : "");
    context.fillText(fit(context, name, shown - 6), Math.max(x, LABELS) + 3, y + 8);
    context.font = `12px ${colours.sans}`;
  }
}

/** A line for each register between actors: who publishes it, who waits, and with how many credits. */
function drawCredits(context, from, to) {
  const { sx, tx, ty } = views.streams;
  const plain = new Path2D();
  const strong = [];
  const labels = [];
  lanes.consumed.forEach((waits, reader) => {
    for (const register of waits) {
      const source = publisher[register];
      if (source < 0) continue;
      const made = lanes.start[source] + lanes.tasks[source].length;
      if (Math.max(made, lanes.start[reader]) < from || Math.min(made, lanes.start[reader]) > to) continue;
      const x0 = tx + made * sx - 1;
      const x1 = tx + lanes.start[reader] * sx + 1;
      const y0 = laneTop(lanes.lane[source]) + ty + LANE / 2 + 1;
      const y1 = laneTop(lanes.lane[reader]) + ty + LANE / 2 + 1;
      const touched = [source, reader].some((actor) => actor === picked.actor || (over && over.actor === actor));
      const path = touched ? new Path2D() : plain;
      const bow = Math.max(14, Math.min(60, Math.abs(x1 - x0) / 2));
      path.moveTo(x0, y0);
      path.bezierCurveTo(x0 + bow, y0, x1 - bow, y1, x1, y1);
      if (touched) {
        strong.push(path);
        labels.push([registers.name[register], registers.slots[register], (x0 + x1) / 2, (y0 + y1) / 2]);
      }
    }
  });
  context.lineWidth = 1;
  context.strokeStyle = fade(colours.wire, 0.6);
  context.stroke(plain);
  context.strokeStyle = colours.accent;
  context.lineWidth = 1.8;
  for (const path of strong) context.stroke(path);
  views.streams.labels = labels.slice(0, 24);
}

function drawLaneLabels(context) {
  const { ty, tx, sx, width, height, labels } = views.streams;
  context.fillStyle = colours.bg;
  context.fillRect(0, 0, LABELS - 6, height);
  context.fillStyle = colours.line;
  context.fillRect(LABELS - 6, 0, 1, height);
  for (const [lane, name] of lanes.streams.entries()) {
    const y = laneTop(lane) + ty;
    if (y > height || y + LANE < AXIS) continue;
    const [device, stream] = name.split("/");
    const many = actorsOf[lane].reduce((sum, actor) => sum + lanes.tasks[actor].length, 0);
    context.fillStyle = colours.ink;
    context.font = `600 12px ${colours.sans}`;
    context.fillText(fit(context, `${device} · ${stream}`, LABELS - 26), 14, y + 20);
    context.font = `11px ${colours.sans}`;
    context.fillStyle = colours.dim;
    context.fillText(streamRole(lane), 14, y + 36);
    context.fillText(plural(many, "task"), 14, y + 50);
  }
  context.fillStyle = colours.bg;
  context.fillRect(0, 0, width, AXIS - 6);
  drawTicks(context, { from: LABELS, width, scale: sx, shift: tx, y: 12, last: lanes.steps, name: "step" });
  context.font = `11px ${colours.sans}`;
  for (const [name, slots, x, y] of labels ?? []) {
    const words = fit(context, `${name} · ${plural(slots, "credit")}`, 220);
    const wide = context.measureText(words).width + 12;
    context.fillStyle = colours.surface;
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.beginPath();
    context.roundRect(x - wide / 2, y - 10, wide, 20, 5);
    context.fill();
    context.stroke();
    context.fillStyle = colours.ink;
    context.fillText(words, x - wide / 2 + 6, y + 0.5);
  }
}

/** What a stream is for, told from what is launched on it. */
function streamRole(lane) {
  const kinds = new Set(actorsOf[lane].flatMap((actor) => lanes.tasks[actor].slice(0, 50).map((task) => text(tasks.kind[task]))));
  return [...kinds].map((kind) => ({ foreign_input: "inputs", foreign_output: "results" })[kind] ?? KIND_NAMES[kind] ?? kind).join(", ");
}

/** Round numbers along an axis, as many as there is room for. */
function drawTicks(context, { from, width, scale, shift, y, last, name }) {
  context.font = `11px ${colours.sans}`;
  context.fillStyle = colours.dim;
  context.fillText(name, 14, y);
  let step = 1;
  for (const next of [2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4, 5e4, 1e5, 1e6]) {
    if (step * scale >= 64) break;
    step = next;
  }
  context.textAlign = "center";
  for (let tick = Math.max(0, Math.ceil((from - shift) / scale / step) * step); tick <= last; tick += step) {
    const x = shift + tick * scale;
    if (x > width - 12) break;
    context.fillText(count(tick), x, y);
    context.fillRect(x, y + 9, 1, 4);
  }
  context.textAlign = "left";
}

function hitStreams(x, y, px, py) {
  if (px < LABELS || py < AXIS - 6) return null;
  const lane = Math.floor((y - 5) / LANE);
  const found = actorsOf[lane];
  if (!found) return null;
  let low = 0;
  let high = found.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (lanes.start[found[middle]] <= x) low = middle;
    else high = middle - 1;
  }
  const actor = found[low];
  const index = Math.floor(x) - lanes.start[actor];
  if (actor === undefined || index < 0 || index >= lanes.tasks[actor].length) return null;
  const inside = y - laneTop(lane) >= 16;
  return { actor, task: inside && views.streams.sx > 3 ? lanes.tasks[actor][index] : -1 };
}

function hoverStreams(found, event) {
  if (!found) hideTip();
  else if (found.task >= 0) tipOfTask(event, found.task);
  else {
    const { actor } = found;
    showTip(event, `actor ${actor}`, `${plural(lanes.tasks[actor].length, "task")} on ${lanes.streams[lanes.lane[actor]]}`,
      `waits for ${plural(lanes.consumed[actor].length, "register")}, publishes ${count(lanes.produced[actor].length)}`);
  }
  if ((found?.actor ?? -1) !== (over?.actor ?? -1) || (found?.task ?? -1) !== (over?.task ?? -1)) {
    over = found;
    views.streams.redraw();
  }
}
