// Below the lanes, on their axis: each chunk with the registers in it while somebody needs them, at
// their offsets, and as a line the bytes that they hold together.
const MANY_LIVES = 30000; // in sight at once: then the line alone is drawn
/** Where rectangles end: at the launch that writes over them, else after the last reader. */
const overBy = new Map(tasks.over.flat());
const untilOf = (timed?.held ?? []).map(({ register, call, begin, ns }) => {
  const lifeOfCall = new Map(register.map((id, life) => [`${id} ${call[life]}`, life]));
  return register.map((id, life) => {
    const over = lifeOfCall.get(`${overBy.get(id)} ${call[life]}`);
    return Math.min(begin[life] + ns[life], over === undefined ? Infinity : begin[over]);
  });
});
const stripRoom = () => timeline.strip - 22;

/** What lies at the top and at the bottom of a strip. */
function stripFrame(strip) {
  const chunk = chunks[timed.held[strip].chunk];
  const low = chunk.weightsEnd < chunk.bytes ? chunk.weightsEnd : 0;
  const bottom = stripY(strip) + 16 + stripRoom();
  const scale = stripRoom() / Math.max(1, chunk.bytes - low);
  return { chunk, low, bottom, yOf: (offset) => bottom - (offset - low) * scale };
}
const slotOffset = (register, call) =>
  registers.offset[register] + (timed.calls[call][3] % registers.slots[register]) * registers.stride[register];

function drawStrip(context, strip, from, to) {
  const { sx, tx, width, height } = views.timeline;
  const top = stripY(strip);
  if (top > height || top + timeline.strip < TIME_AXIS) return;
  const { register, call, begin } = timed.held[strip];
  const until = untilOf[strip];
  const { low, bottom, yOf } = stripFrame(strip);
  const end = lastBefore(begin, to);
  let inSight = 0;
  for (let life = 0; life <= end; life += 1) inSight += until[life] >= from;
  const quiet = colours.dark ? 0.6 : 0.75;
  context.globalAlpha = quiet;
  for (let life = 0; inSight <= MANY_LIVES && life <= end; life += 1) {
    if (until[life] < from) continue;
    const id = register[life];
    const offset = slotOffset(id, call[life]);
    if (offset + registers.bytes[id] <= low) continue;
    const y = yOf(offset + registers.bytes[id]);
    const high = Math.max(1, yOf(offset) - y);
    const x = tx + begin[life] * sx;
    const wide = Math.max(0.75, (until[life] - begin[life]) * sx);
    const focus = id === picked.register || (timeline.over?.register === id && timeline.over.call === call[life]);
    if (focus) context.globalAlpha = 1;
    context.fillStyle = registerColour(id, focus);
    context.fillRect(x, y, wide - (wide > 4 ? 0.75 : 0), high - (high > 4 ? 0.75 : 0));
    if (focus) {
      context.strokeStyle = colours.ink;
      context.lineWidth = 1.5;
      context.strokeRect(x, y, Math.max(2, wide), high);
    }
    context.globalAlpha = 1;
    if (wide > 60 && high > 14) {
      const left = Math.max(x, LABELS) + 5;
      context.fillStyle = colours.ink;
      context.font = `11px ${colours.sans}`;
      context.fillText(fit(context, registers.name[id], x + wide - left - 6), left, y + Math.min(high / 2, 10));
    }
    context.globalAlpha = quiet;
  }
  context.globalAlpha = 1;
  drawHeld(context, strip, from, to);
  context.fillStyle = colours.line;
  context.fillRect(LABELS - 6, bottom, width, 1);
}

/** The bytes in use; fainter where the line goes up and down within a pixel. */
function drawHeld(context, strip, from, to) {
  const { sx, tx, width } = views.timeline;
  const { curve } = timed.held[strip];
  const { low, yOf } = stripFrame(strip);
  context.beginPath();
  let value = 0;
  let points = 0;
  for (let index = 0; index < curve.length; index += 2) {
    const later = index + 2 < curve.length && curve[index + 2] < from;
    if (!later) {
      const x = tx + curve[index] * sx;
      context.lineTo(x, yOf(low + value));
      context.lineTo(x, yOf(low + curve[index + 1]));
      points += 1;
    }
    value = curve[index + 1];
    if (curve[index] > to) break;
  }
  context.strokeStyle = points > width ? fade(colours.accent, 0.4) : colours.accent;
  context.lineWidth = points > width ? 1 : 1.5;
  context.lineJoin = "round";
  context.stroke();
}

function drawStripLabels(context) {
  const { height } = views.timeline;
  for (let strip = 0; strip < timed.held.length; strip += 1) {
    const { chunk, low } = stripFrame(strip);
    const y = stripY(strip) + 22;
    if (y < TIME_AXIS - 20 || y > height + 20) continue;
    context.fillStyle = colours.ink;
    context.font = `600 12px ${colours.sans}`;
    context.fillText(fit(context, `chunk ${timed.held[strip].chunk}`, LABELS - 26), 14, y);
    context.font = `11px ${colours.sans}`;
    context.fillStyle = colours.dim;
    context.fillText(fit(context, chunk.memory.replace(" memory of", "").replace(" memory pinned", ""), LABELS - 26), 14, y + 16);
    context.fillText(`most ${bytes(timed.held[strip].most)}`, 14, y + 32);
    if (timeline.strip > 80) context.fillText(`of ${bytes(chunk.bytes - low)}`, 14, y + 47);
  }
}

function hitStrip(strip, x, py) {
  const { register, call, begin } = timed.held[strip];
  const { yOf } = stripFrame(strip);
  for (let life = lastBefore(begin, x); life >= 0; life -= 1) {
    if (x > untilOf[strip][life]) continue;
    const offset = slotOffset(register[life], call[life]);
    const top = Math.min(yOf(offset) - 2, yOf(offset + registers.bytes[register[life]]));
    if (py >= top && py <= yOf(offset)) return { strip, life, register: register[life], call: call[life] };
  }
  return null;
}

function tipOfLife(event, { strip, life, register, call }) {
  const { begin, ns } = timed.held[strip];
  showTip(event, registers.name[register], `${text(registers.spec[register])}, ${exact(registers.bytes[register])}`,
    `needed for ${duration(ns[life])} in ${callName(call)}, from ${atTime(begin[life])} on`);
}

/** A register in the chosen call, if it lives in any. */
function lifeAt(register, call) {
  for (const { register: all, call: calls, begin, ns } of timed.held) {
    const life = all.findIndex((id, place) => id === register && calls[place] === call);
    if (life >= 0) return { begin: begin[life], ns: ns[life] };
  }
  return null;
}

function focusLife(register) {
  const life = lifeAt(register, timeline.call) ?? lifeAt(register, 0);
  if (life) views.timeline.centre(life.begin + life.ns / 2, 0, Math.min(1, 240 / Math.max(1, life.ns)));
}
