// The data, and small helpers that every view uses. Nothing here touches the network or storage.
const plan = JSON.parse(document.getElementById("plan").textContent);
const { tasks, registers, lanes, graph, chunks } = plan;
const text = (number) => plan.strings[number];
const taskCount = tasks.name.length;

window.addEventListener("error", (event) => {
  document.documentElement.dataset.error = event.message;
});

const byId = (id) => document.getElementById(id);

/** An element with properties, attributes (kebab-case keys and aria) and children. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key in element && key !== "role") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const number = new Intl.NumberFormat("en-US");
const count = (value) => number.format(value);
const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** Bytes in a unit that fits; the exact number is for titles and details. */
function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit && value < 100 ? value.toFixed(value < 10 ? 2 : 1) : Math.round(value)} ${units[unit]}`;
}
const exact = (value) => `${count(value)} bytes`;

/** "float32[1, 64, 7, 7]" without what it has in common with every other: 1×64×7×7. */
const shape = (register) => {
  const spec = text(registers.spec[register]);
  const inside = spec.slice(spec.indexOf("[") + 1, -1);
  return inside ? inside.replaceAll(", ", "×") : "scalar";
};

const OP_KINDS = new Set(["compute", "view", "collective"]);
const isCopy = (task) => text(tasks.kind[task]).startsWith("copy");
/** What a task without an op is called: by what it is for. */
const KIND_NAMES = { foreign_input: "input", foreign_output: "result", copy_h2d: "to device",
  copy_d2h: "to host", copy_peer: "to peer", copy_network: "to machine", copy_d2d: "copy",
  initialize: "initialize", view: "views" };
const labelOf = (task) => {
  if (isOp(task)) return text(tasks.op[task]);
  if (isCopy(task) && registers.lasting[tasks.outputs[task][0]]) return "assign";
  return KIND_NAMES[text(tasks.kind[task])] ?? text(tasks.kind[task]);
};
const isOp = (task) => OP_KINDS.has(text(tasks.kind[task]));
const extent = (register) =>
  registers.stride[register] * (registers.slots[register] - 1) + registers.bytes[register];
const streamOf = (task) => lanes.streams[lanes.lane[tasks.actor[task]]];

/** Who writes and who reads each register; of a variable, who writes it first. */
const maker = new Int32Array(registers.name.length).fill(-1);
const readers = Array.from(registers.name, () => []);
for (let task = 0; task < taskCount; task += 1) {
  for (const register of tasks.outputs[task]) if (maker[register] < 0) maker[register] = task;
  for (const register of new Set(tasks.inputs[task])) if (register >= 0) readers[register].push(task);
}

/** Ops by how often they come: the first ones have a colour of their own, the rest share one. */
const ranked = (values) => {
  const found = new Map();
  for (const value of values) found.set(value, (found.get(value) ?? 0) + 1);
  return [...found].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
};
const opTasks = [...tasks.name.keys()].filter(isOp);
const opRanks = ranked(opTasks.map((task) => text(tasks.op[task])));
const deviceRanks = ranked(opTasks.map((task) => text(tasks.device[task])));
const howRanks = ranked(opTasks.map((task) => text(tasks.how[task])));
const COLOURS = 8;
const slot = (ranks, value) => {
  const place = ranks.findIndex(([name]) => name === value);
  return place < 0 || place >= COLOURS ? COLOURS : place;
};
const opSlot = new Map(opRanks.map(([name], place) => [name, Math.min(place, COLOURS)]));

/** Colours of the theme as it is now; canvases cannot use CSS variables. */
let colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  colours = {};
  for (const name of ["bg", "surface", "sunk", "ink", "dim", "line", "wire", "accent", "copy",
    "weights", "warn", "sans"]) {
    colours[name] = style.getPropertyValue(`--${name}`).trim();
  }
  colours.ops = Array.from({ length: COLOURS + 1 }, (_, i) => style.getPropertyValue(`--c${i}`).trim());
  colours.dark = document.documentElement.dataset.theme === "dark";
}

/** "#rrggbb" with an alpha. */
const fade = (colour, alpha) =>
  colour + Math.round(alpha * 255).toString(16).padStart(2, "0");

function taskColour(task) {
  if (isCopy(task)) return colours.copy;
  return isOp(task) ? colours.ops[opSlot.get(text(tasks.op[task]))] : colours.weights;
}

/** Text cut to a width, by bisection; measuring is what costs. */
function fit(context, label, width) {
  if (context.measureText(label).width <= width) return label;
  let low = 0;
  let high = label.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${label.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low > 1 ? `${label.slice(0, low)}…` : "";
}
