// Memory over time: a rectangle for each tensor, its bytes upwards, the tasks it lives for across.
// Above it the live bytes, with the most that are alive at once and what is planned for them.
const GRAPH = 96;
const LEFT = 92;
const HEAD = 34;
const ALIGNED_AWAY = 65536; // below, what alignment adds says more than the plan
const memory = { chunk: 0, weights: false, hover: -1 };
memory.chunk = chunks.reduce((best, chunk, number) => (chunk.peak > chunks[best].peak ? number : best), 0);
const registersOf = Array.from(chunks, () => []);
registers.chunk.forEach((chunk, register) => { if (registers.first[register] >= 0) registersOf[chunk].push(register); });

/** Where a rectangle ends: at the task that writes over it, else after the last that reads it. */
const endOf = Int32Array.from(registers.last, (last) => last + 1);
for (const pairs of tasks.over) {
  for (const [under, over] of pairs) endOf[under] = Math.min(endOf[under], registers.first[over]);
}

/** Offsets that are drawn: all of the chunk, or what is left without weights. */
function range() {
  const chunk = chunks[memory.chunk];
  if (!chunk) return [0, 1];
  const start = memory.weights ? 0 : chunk.weightsEnd;
  return start < chunk.bytes ? [start, chunk.bytes] : [0, Math.max(1, chunk.bytes)];
}

/** What is born after each other gets hues that lie apart; lightness and chroma stay quiet. */
const hues = new Float32Array(registers.name.length);
for (const inside of registersOf) {
  inside.sort((a, b) => registers.first[a] - registers.first[b] || a - b);
  inside.filter((register) => !registers.lasting[register]).forEach((register, place) => {
    hues[register] = (205 + place * 137.508) % 360;
  });
}
function registerColour(register, focus) {
  if (registers.lasting[register]) return colours.weights;
  const tone = colours.dark ? (focus ? "46% 62%" : "30% 50%") : focus ? "48% 62%" : "40% 74%";
  return `hsl(${hues[register].toFixed(0)} ${tone})`;
}

function frame() {
  const { height } = views.memory;
  return { top: HEAD + GRAPH + 26, bottom: height - memoryBar.offsetHeight - 24 };
}

function drawMemory(context) {
  const chunk = chunks[memory.chunk];
  if (!chunk) return;
  const { sx, tx, width } = views.memory;
  const { top, bottom } = frame();
  const [low, high] = range();
  const yOf = (offset) => bottom - ((offset - low) / (high - low)) * (bottom - top);
  context.save();
  context.beginPath();
  context.rect(LEFT, 0, width - LEFT, bottom + 1);
  context.clip();
  const from = (LEFT - tx) / sx;
  const to = (width - tx) / sx;
  for (const register of registersOf[memory.chunk]) {
    if (registers.last[register] + 1 < from || registers.first[register] > to) continue;
    const offset = registers.offset[register];
    if (offset + extent(register) <= low) continue;
    drawRegister(context, register, tx, sx, yOf, memory.hover === register || picked.register === register);
  }
  drawCurve(context, chunk, from, to);
  context.restore();
  drawAxes(context, chunk, yOf, low, high);
}

function drawRegister(context, register, tx, sx, yOf, focus) {
  const x = tx + registers.first[register] * sx;
  const wide = Math.max(1, (endOf[register] - registers.first[register]) * sx);
  const y1 = yOf(registers.offset[register]);
  const y0 = yOf(registers.offset[register] + extent(register));
  const high = Math.max(0.75, y1 - y0);
  context.fillStyle = registerColour(register, focus);
  context.fillRect(x, y0, Math.max(0.75, wide - (wide > 4 ? 1 : 0)), high - (high > 4 ? 1 : 0));
  if (focus) {
    context.strokeStyle = colours.ink;
    context.lineWidth = 1.5;
    context.strokeRect(x, y0, wide, high);
  }
  if (wide > 56 && high > 15) {
    const left = Math.max(x, LEFT) + 5;
    context.fillStyle = colours.dark ? "#101113" : "#17181a";
    context.font = `11px ${colours.sans}`;
    context.fillText(fit(context, registers.name[register], x + wide - left - 6), left, y0 + Math.min(high / 2, 11));
    if (high > 32) context.fillText(fit(context, bytes(extent(register)), x + wide - left - 6), left, y0 + Math.min(high / 2, 11) + 14);
  }
}

function drawCurve(context, chunk, from, to) {
  const { sx, tx, width } = views.memory;
  const base = HEAD + GRAPH;
  const planned = chunk.bytes - chunk.weightsEnd;
  const most = Math.max(planned, chunk.peak, 1);
  const yOf = (value) => base - (value / most) * (GRAPH - 8);
  context.fillStyle = colours.bg;
  context.fillRect(LEFT, 0, width, base + 14);
  context.beginPath();
  context.moveTo(tx, base);
  let value = 0;
  for (let index = 0; index < chunk.live.length; index += 2) {
    const x = tx + chunk.live[index] * sx;
    if (index + 2 < chunk.live.length && chunk.live[index + 2] < from) { value = chunk.live[index + 1]; continue; }
    context.lineTo(x, yOf(value));
    value = chunk.live[index + 1];
    context.lineTo(x, yOf(value));
    if (chunk.live[index] > to) break;
  }
  context.lineTo(tx + taskCount * sx, yOf(value));
  context.lineTo(tx + taskCount * sx, base);
  context.closePath();
  context.fillStyle = fade(colours.accent, 0.22);
  context.fill();
  context.strokeStyle = colours.accent;
  context.lineWidth = 1.25;
  context.stroke();
  context.setLineDash([5, 4]);
  context.strokeStyle = fade(colours.ink, 0.75);
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(LEFT, Math.round(yOf(chunk.peak)) + 0.5);
  context.lineTo(width, Math.round(yOf(chunk.peak)) + 0.5);
  context.stroke();
  context.setLineDash([]);
  const x = tx + (chunk.peak_task + 0.5) * sx;
  context.fillStyle = colours.ink;
  context.beginPath();
  context.arc(x, yOf(chunk.peak), 3.5, 0, 7);
  context.fill();
}

function drawAxes(context, chunk, yOf, low, high) {
  const { sx, tx, width } = views.memory;
  const { top, bottom } = frame();
  const planned = chunk.bytes - chunk.weightsEnd;
  context.font = `11px ${colours.sans}`;
  context.fillStyle = colours.dim;
  context.textAlign = "right";
  const base = HEAD + GRAPH;
  context.fillText(bytes(chunk.peak), LEFT - 8, Math.max(HEAD + 6, base - (chunk.peak / Math.max(planned, chunk.peak, 1)) * (GRAPH - 8)));
  if (chunk.peak * 5 > planned) context.fillText("0", LEFT - 8, base - 2);
  const wish = (high - low) / Math.max(2, Math.floor((bottom - top) / 64));
  const step = 2 ** Math.ceil(Math.log2(Math.max(1, wish)));
  for (let offset = low; offset <= high; offset += step) {
    const y = yOf(offset);
    context.fillStyle = colours.dim;
    context.fillText(bytes(offset - low), LEFT - 8, y);
    context.fillStyle = colours.line;
    context.fillRect(LEFT - 4, y, 4, 1);
  }
  context.textAlign = "left";
  context.fillStyle = colours.line;
  context.fillRect(LEFT, HEAD, 1, GRAPH);
  context.fillRect(LEFT, base, width - LEFT, 1);
  context.fillRect(LEFT, top, 1, bottom - top);
  context.fillRect(LEFT, bottom, width - LEFT, 1);
  context.save();
  context.fillStyle = colours.dim;
  context.translate(14, (top + bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillText(low ? "bytes after the weights" : "offset in the chunk", 0, 0);
  context.restore();
  context.fillStyle = colours.dim;
  context.fillText("live", 14, HEAD + GRAPH / 2);
  drawTicks(context, { from: LEFT, width, scale: sx, shift: tx, y: 12, last: taskCount, name: "" });
  context.fillText("task", 14, 12);
  const ratio = chunk.peak && planned >= ALIGNED_AWAY ? ` (${(planned / chunk.peak).toFixed(2)} × the largest live set)` : "";
  const words = `largest live set ${bytes(chunk.peak)} at task ${count(chunk.peak_task)}; planned ${bytes(planned)}${ratio}`;
  context.fillStyle = colours.ink;
  context.fillText(fit(context, words, width - LEFT - 20), LEFT + 10, base + 13);
}

function hitMemory(x, _y, px, py) {
  const { top, bottom } = frame();
  if (px < LEFT || py < top || py > bottom) return null;
  const [low, high] = range();
  const offset = low + ((bottom - py) / (bottom - top)) * (high - low);
  const slack = (high - low) / (bottom - top);
  let found = null;
  for (const register of registersOf[memory.chunk]) {
    if (x < registers.first[register] || x > Math.max(endOf[register], registers.first[register] + 1)) continue;
    const start = registers.offset[register];
    if (offset < start || offset > start + Math.max(extent(register), slack)) continue;
    if (!found || !registers.lasting[register]) found = { register };
  }
  return found;
}

function hoverMemory(found, event) {
  const register = found ? found.register : -1;
  if (register >= 0) tipOfRegister(event, register);
  else hideTip();
  if (register !== memory.hover) {
    memory.hover = register;
    views.memory.redraw();
  }
}

function showChunk(number) {
  memory.chunk = number;
  memoryBar.replaceChildren(...memoryKeys());
  views.memory.redraw();
}

function focusRegister(register) {
  if (registers.lasting[register]) memory.weights = true;
  showChunk(registers.chunk[register]);
  const life = registers.last[register] - registers.first[register] + 1;
  views.memory.centre(registers.first[register] + life / 2, 0, Math.min(60, 200 / Math.max(1, life)));
}

function memoryKeys() {
  const chunk = chunks[memory.chunk];
  const choice = make("select", { "aria-label": "Chunk", onchange: () => showChunk(Number(choice.value)) },
    ...chunks.map((each, number) => make("option", { value: number, selected: number === memory.chunk,
      textContent: `chunk ${number} · ${each.memory} · ${bytes(each.bytes)}` })));
  const box = make("input", { type: "checkbox", checked: memory.weights, onchange: () => {
    memory.weights = box.checked;
    views.memory.redraw();
  } });
  const weights = chunk && chunk.weightsEnd
    ? make("label", { className: "key" }, box, `draw weights too (${plural(chunk.lasting, "tensor")}, ${bytes(chunk.lasting_bytes)})`) : null;
  return [choice, weights, make("span", { className: "key", textContent: "a colour a tensor, from the task that writes it to the last that reads it" })]
    .filter(Boolean);
}

const memoryBar = make("div", { className: "bar" });
