// The first page: what the plan is, in figures that are the plan's own.
function figure(key, value, label, hint = "") {
  return make("div", { className: "figure", title: hint }, make("b", { textContent: value, "data-figure": key }),
    make("span", { textContent: label }));
}

function card(name, ...content) {
  return make("div", { className: "card" }, make("h3", { textContent: name }), ...content);
}

function table(columns, rows) {
  const numeric = (index) => (columns[index][0] === "#" ? "n" : "");
  const head = make("tr", {}, ...columns.map((name, index) =>
    make("th", { className: numeric(index), textContent: name.replace("#", "") })));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows.map(({ cells, className = "" }) =>
    make("tr", { className }, ...cells.map((cell, index) => make("td", { className: numeric(index) }, cell))))));
}

function bars(rows, unit) {
  const most = Math.max(...rows.map(([, value]) => value), 1);
  return make("div", { className: "rows" }, ...rows.flatMap(([name, value, colour]) => [
    make("span", { textContent: name }),
    make("span", { className: "meter" }, make("i", { style: `width:${(100 * value) / most}%;background:${colour}` })),
    make("span", { className: "n", textContent: unit(value) }),
  ]));
}

/** Live bytes from the first task to the last, as a line. */
function spark(chunk) {
  const most = Math.max(1, chunk.peak);
  let path = "M0 40";
  for (let index = 0; index < chunk.live.length; index += 2) {
    path += `H${chunk.live[index]}V${(40 - (38 * chunk.live[index + 1]) / most).toFixed(1)}`;
  }
  const name = "http://www.w3.org/2000/svg"; // a name, not an address: nothing is fetched
  const picture = document.createElementNS(name, "svg");
  picture.setAttribute("viewBox", `0 0 ${taskCount} 40`);
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(name, "path");
  line.setAttribute("d", `${path}H${taskCount}V40Z`);
  picture.append(line);
  return picture;
}

function chunkBar(chunk, number, most) {
  const rest = chunk.bytes - chunk.weightsEnd;
  const wide = (value) => `${(100 * value) / Math.max(1, most)}%`;
  const peakAt = chunk.weightsEnd + chunk.peak;
  return make("div", { className: "chunk", "data-chunk": number },
    make("div", { className: "head" }, link(chunk.memory, () => { showChunk(number); open("memory"); }),
      make("b", { textContent: bytes(chunk.bytes), title: exact(chunk.bytes) })),
    make("div", { className: "scale" },
      make("div", { className: "meter" },
        make("i", { style: `width:${wide(chunk.weightsEnd)};background:var(--weights)` }),
        make("i", { style: `width:${wide(rest)};background:var(--c0)` })),
      make("div", { className: "peak", style: `left:${wide(peakAt)}`, title: `largest live set: ${exact(chunk.peak)}` })),
    spark(chunk),
    make("small", { textContent:
      `${plural(chunk.registers, "tensor")}; weights ${bytes(chunk.lasting_bytes)}, the rest ${bytes(rest)}; ` +
      `largest live set ${bytes(chunk.peak)} at task ${count(chunk.peak_task)}` }));
}

/** Where weights end that lie before all else; what is planned for the rest comes after. */
for (const [number, chunk] of chunks.entries()) {
  let start = chunk.bytes;
  let weights = 0;
  for (let register = 0; register < registers.name.length; register += 1) {
    if (registers.chunk[register] !== number) continue;
    if (registers.lasting[register]) weights = Math.max(weights, registers.offset[register] + extent(register));
    else start = Math.min(start, registers.offset[register]);
  }
  chunk.weightsEnd = weights <= start && weights ? start : 0;
}

function drawOverview() {
  const copied = plan.copied.reduce((sum, row) => sum + row[4], 0);
  const copies = plan.copied.reduce((sum, row) => sum + row[3], 0);
  const planned = chunks.reduce((sum, chunk) => sum + chunk.bytes, 0);
  const devices = deviceRanks.length;
  const most = Math.max(...chunks.map((chunk) => chunk.bytes), 1);
  let before = null;
  const stages = plan.stages.map(([name, ops, changed]) => {
    const delta = before === null ? "" : ops - before;
    before = ops;
    return { className: changed ? "" : "same", cells: [name, count(ops),
      delta === "" ? "" : !changed ? "nothing to do" : delta ? `${delta > 0 ? "+" : "−"}${count(Math.abs(delta))}` : "changed"] };
  });
  const ranks = opRanks.slice(0, COLOURS);
  const others = opRanks.slice(COLOURS);
  const opRows = ranks.map(([name, value], place) => [name, value, `var(--c${place})`]);
  if (others.length) opRows.push([plural(others.length, "other kind"), others.reduce((s, [, v]) => s + v, 0), `var(--c${COLOURS})`]);
  const how = howRanks.filter(([name]) => name);
  byId("overview").replaceChildren(
    make("div", { className: "figures" },
      figure("ops", count(opTasks.length), opTasks.length === 1 ? "op" : "ops"),
      figure("tasks", count(taskCount), "tasks with copies, inputs and results"),
      figure("actors", count(lanes.lane.length), lanes.lane.length === 1 ? "actor" : "actors"),
      figure("streams", count(lanes.streams.length), lanes.streams.length === 1 ? "stream" : "streams"),
      figure("planned", bytes(planned), "planned", exact(planned)),
      figure("copied", bytes(copied), `in ${plural(copies, "copy", "copies")} each run`, exact(copied))),
    make("div", { className: "cards" },
      card("Memory", ...chunks.map((chunk, number) => chunkBar(chunk, number, most)),
        make("p", { textContent: "Grey are weights; the mark is the largest set of tensors alive at one task. Below each bar: live bytes from the first task to the last." })),
      card(devices === 1 ? "Device" : "Devices",
        bars(deviceRanks.map(([name, value]) => [name, value, "var(--c0)"]), (value) => plural(value, "op")),
        ...(how.length ? [make("h3", { textContent: "How ops run", style: "margin-top:20px" }),
          bars(how.map(([name, value]) => [name, value, name === "fallback" ? "var(--warn)" : "var(--c1)"]), (value) => plural(value, "op"))] : []),
        ...(plan.copied.length ? [make("h3", { textContent: "Copied in each run", style: "margin-top:20px" }),
          table(["from", "to", "#copies", "#bytes"], plan.copied.map(([, from, to, many, size]) =>
            ({ cells: [from.replace(" memory of", ""), to.replace(" memory of", ""), count(many), count(size)] })))] : [])),
      card("Ops", bars(opRows, count)),
      ...(plan.stages.length ? [card("Passes", table(["pass", "#ops", "#change"], stages))] : [])),
  );
}
