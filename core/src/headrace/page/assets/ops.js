// The op graph: boxes in layers, wires between. Far off only colour is drawn, near by names too.
const BOX_WIDTH = 168;
const BOX_HEIGHT = 40;
const READABLE = 0.36; // below this scale a box has no room for letters
const nodeOf = new Int32Array(taskCount).fill(-1);
graph.nodes.forEach((task, node) => { nodeOf[task] = node; });
const nodeCount = graph.nodes.length;

/** Wires by the point that they end in, for tracing back; by the one that they begin in, for on. */
const wiresTo = Array.from(graph.x, () => []);
const wiresFrom = Array.from(graph.x, () => []);
for (let wire = 0; wire < graph.wires.length; wire += 2) {
  wiresFrom[graph.wires[wire]].push(wire);
  wiresTo[graph.wires[wire + 1]].push(wire);
}

/** Pairs of nodes that lie in different memories: what the one makes is copied for the other. */
const copiedBetween = new Set();
for (let task = 0; task < taskCount; task += 1) {
  for (const register of tasks.inputs[task]) {
    let source = register < 0 ? -1 : maker[register];
    if (source < 0 || !isCopy(source) || nodeOf[task] < 0) continue;
    while (source >= 0 && isCopy(source) && nodeOf[source] < 0) source = maker[tasks.inputs[source][0]];
    if (source >= 0) copiedBetween.add(nodeOf[source] * nodeCount + nodeOf[task]);
  }
}
const sourceOf = (point) => {
  while (point >= nodeCount) point = graph.wires[wiresTo[point][0]];
  return point;
};
const copiedWires = new Set();
for (let wire = 0; copiedBetween.size && wire < graph.wires.length; wire += 2) {
  const to = graph.wires[wire + 1];
  if (to < nodeCount && copiedBetween.has(sourceOf(graph.wires[wire]) * nodeCount + to)) copiedWires.add(wire);
}

/** So many wires that run past everything between are drawn; more would hide it all. */
const FAR_SHOWN = 300;
const nearEnd = graph.wires.length - 2 * (graph.far > FAR_SHOWN ? graph.far : 0);

/** Nodes by row: where a point is looked for. */
const rowOf = new Map();
for (let node = 0; node < nodeCount; node += 1) {
  const row = graph.y[node];
  if (!rowOf.has(row)) rowOf.set(row, []);
  rowOf.get(row).push(node);
}

const colouring = { by: deviceRanks.length > 1 ? "device" : "op" };
function nodeColour(task) {
  if (!isOp(task)) return colours.weights;
  if (colouring.by === "device") return colours.ops[slot(deviceRanks, text(tasks.device[task]))];
  if (colouring.by === "how") return text(tasks.how[task]) === "fallback" ? colours.warn : colours.ops[slot(howRanks, text(tasks.how[task]))];
  return taskColour(task);
}

/** All wires that bring something to a node or take something from it, through their bends. */
function wiresOf(node) {
  const found = new Set();
  const follow = (point, table, end) => {
    for (const wire of table[point]) {
      if (found.has(wire)) continue;
      found.add(wire);
      const next = graph.wires[wire + end];
      if (next >= nodeCount) follow(next, table, end);
    }
  };
  follow(node, wiresTo, 0);
  follow(node, wiresFrom, 1);
  return found;
}

function trace(context, wire) {
  const from = graph.wires[wire];
  const to = graph.wires[wire + 1];
  const x0 = graph.x[from];
  const x1 = graph.x[to];
  const y0 = graph.y[from] + (from < nodeCount ? BOX_HEIGHT / 2 : 0);
  const y1 = graph.y[to] - (to < nodeCount ? BOX_HEIGHT / 2 : 0);
  context.moveTo(x0, y0);
  if (y1 <= y0 || x0 === x1) context.lineTo(x1, y1);
  else context.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
}

let hovered = -1;

function drawOps(context) {
  const { sx, tx, ty, width, height, ratio } = views.ops;
  const low = { x: -tx / sx, y: -ty / sx };
  const high = { x: (width - tx) / sx, y: (height - ty) / sx };
  const seen = (point, room) => graph.x[point] > low.x - room && graph.x[point] < high.x + room &&
    graph.y[point] > low.y - room && graph.y[point] < high.y + room;
  context.setTransform(ratio * sx, 0, 0, ratio * sx, ratio * tx, ratio * ty);
  drawWires(context, low, high, sx);
  for (let node = 0; node < nodeCount; node += 1) if (seen(node, BOX_WIDTH)) drawNode(context, node, sx);
  const chosen = picked.task >= 0 ? nodeOf[picked.task] : -1;
  for (const node of [hovered, chosen]) if (node >= 0) drawFocus(context, node, sx);
}

function drawWires(context, low, high, scale) {
  const outside = (a, b, from, to) => Math.max(a, b) < from || Math.min(a, b) > to;
  context.beginPath();
  for (let wire = 0; wire < nearEnd; wire += 2) {
    const from = graph.wires[wire];
    const to = graph.wires[wire + 1];
    if (outside(graph.x[from], graph.x[to], low.x, high.x) || outside(graph.y[from], graph.y[to], low.y, high.y)) continue;
    trace(context, wire);
  }
  context.strokeStyle = fade(colours.wire, scale < 0.3 ? 0.5 : 0.9);
  context.lineWidth = Math.max(1.1, 0.8 / scale);
  context.stroke();
  context.beginPath();
  for (const wire of copiedWires) trace(context, wire);
  context.strokeStyle = colours.copy;
  context.lineWidth = Math.max(1.8, 1 / scale);
  context.stroke();
}

function box(context, node) {
  const x = graph.x[node] - BOX_WIDTH / 2;
  const y = graph.y[node] - BOX_HEIGHT / 2;
  context.beginPath();
  context.roundRect(x, y, BOX_WIDTH, BOX_HEIGHT, isOp(graph.nodes[node]) ? 6 : BOX_HEIGHT / 2);
  return [x, y];
}

/** The name of a task without an op is that of its tensor, after a word that says what it does. */
const ownName = (task) => tasks.name[task].split(" ").slice(1).join(" ") || tasks.name[task];

function drawNode(context, node, scale) {
  const task = graph.nodes[node];
  const colour = nodeColour(task);
  if (scale < 0.16) {
    context.fillStyle = colour;
    context.fillRect(graph.x[node] - BOX_WIDTH / 2, graph.y[node] - BOX_HEIGHT / 2, BOX_WIDTH, BOX_HEIGHT);
    return;
  }
  const [x, y] = box(context, node);
  context.fillStyle = colours.surface;
  context.fill();
  context.fillStyle = fade(colour, scale < READABLE ? 0.75 : colours.dark ? 0.3 : 0.22);
  context.fill();
  context.strokeStyle = fade(colour, scale < READABLE ? 0.9 : 0.55);
  context.lineWidth = 1;
  context.stroke();
  if (scale < READABLE) return;
  const room = BOX_WIDTH - 20;
  context.fillStyle = colours.ink;
  if (scale < 0.62) {
    context.font = `600 ${Math.min(24, 10.5 / scale).toFixed(1)}px ${colours.sans}`;
    context.textAlign = "center";
    context.fillText(fit(context, isOp(task) ? text(tasks.op[task]) : ownName(task), room), graph.x[node], y + 21);
    context.textAlign = "left";
    return;
  }
  context.font = `600 12px ${colours.sans}`;
  const output = tasks.outputs[task][0] ?? tasks.inputs[task][0];
  const label = labelOf(task);
  context.fillText(label, x + 10, y + 14);
  const used = context.measureText(label).width;
  context.font = `11px ${colours.sans}`;
  context.fillStyle = colours.dim;
  context.fillText(fit(context, isOp(task) ? tasks.name[task] : ownName(task), room), x + 10, y + 28.5);
  if (output === undefined) return;
  context.textAlign = "right";
  context.fillText(fit(context, shape(output), room - used - 8), x + BOX_WIDTH - 10, y + 14);
  context.textAlign = "left";
}

function drawFocus(context, node, scale) {
  const near = [...wiresOf(node)];
  for (const [wires, colour] of [[near.filter((wire) => !copiedWires.has(wire)), colours.accent],
    [near.filter((wire) => copiedWires.has(wire)), colours.copy]]) {
    context.beginPath();
    for (const wire of wires) trace(context, wire);
    context.strokeStyle = colour;
    context.lineWidth = Math.max(2.4, 1.8 / scale);
    context.stroke();
  }
  drawNode(context, node, scale);
  box(context, node);
  context.strokeStyle = colours.accent;
  context.stroke();
}

function hitOps(x, y) {
  const step = BOX_HEIGHT + 30;
  const row = Math.round((y - step / 2) / step) * step + step / 2;
  if (Math.abs(y - row) > BOX_HEIGHT / 2) return null;
  const node = (rowOf.get(row) ?? []).find((candidate) => Math.abs(graph.x[candidate] - x) <= BOX_WIDTH / 2);
  return node === undefined ? null : { node };
}

function hoverOps(found, event) {
  const node = found ? found.node : -1;
  if (node >= 0) tipOfTask(event, graph.nodes[node]);
  else hideTip();
  if (node !== hovered) {
    hovered = node;
    views.ops.redraw();
  }
}

function focusTask(task) {
  let shown = task;
  while (nodeOf[shown] < 0 && tasks.inputs[shown][0] >= 0 && maker[tasks.inputs[shown][0]] >= 0) shown = maker[tasks.inputs[shown][0]];
  const node = nodeOf[shown];
  if (node >= 0) views.ops.centre(graph.x[node], graph.y[node], 0.9);
}

function legend() {
  const ranks = { op: opRanks, device: deviceRanks, how: howRanks }[colouring.by].filter(([name]) => name);
  const shown = ranks.slice(0, COLOURS);
  const key = (name, colour) => make("span", { className: "key" }, make("i", { style: `background:${colour}` }), name);
  const choice = make("select", { "aria-label": "Colour by", onchange: () => {
    colouring.by = choice.value;
    opsBar.replaceChildren(...legend());
    views.ops.redraw();
  } }, ...[["op", "colour by op"], ["device", "colour by device"], ["how", "colour by how it runs"]]
    .map(([value, label]) => make("option", { value, textContent: label, selected: value === colouring.by })));
  return [choice, ...shown.map(([name], place) => key(name, name === "fallback" && colouring.by === "how" ? "var(--warn)" : `var(--c${place})`)),
    ...(ranks.length > COLOURS ? [key("others", `var(--c${COLOURS})`)] : []), key("input or result", "var(--weights)"),
    ...(copiedWires.size ? [key("copied on the way", "var(--copy)")] : []),
    ...(nearEnd < graph.wires.length ? [make("span", { className: "key", textContent: `${count(graph.far)} long wires are drawn where you point` })] : [])];
}

const opsBar = make("div", { className: "bar" });
