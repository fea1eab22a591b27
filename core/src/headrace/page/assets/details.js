// The panel at the side: all that is known of the task, tensor or actor that was picked.
const details = byId("details");
const picked = { task: -1, register: -1, actor: -1 };

function pick(what, index) {
  picked.task = picked.register = picked.actor = -1;
  if (what) picked[what] = index;
  fillDetails();
  keepAddress();
  for (const view of Object.values(views)) view.redraw();
}

/** Shows what is picked; beside the timeline, where nothing is, where the time went. */
function fillDetails() {
  const [what] = ["task", "register", "actor"].filter((each) => picked[each] >= 0);
  const shown = what
    ? { task: taskDetails, register: registerDetails, actor: actorDetails }[what](picked[what])
    : current === "timeline" && timeline.table ? timelineTable() : [];
  details.hidden = !shown.length;
  details.replaceChildren(make("button", { className: "quiet close", textContent: "✕", title: what ? "Close (Esc)" : "Close",
    onclick: () => (what ? pick(null) : showTable(false)) }), ...shown);
  details.scrollTop = 0;
}

const title = (name, sub) => [make("h2", { textContent: name }), make("div", { className: "sub", textContent: sub })];
const heading = (name) => make("h3", { textContent: name });

function facts(...pairs) {
  const list = make("dl");
  for (const [name, value] of pairs) {
    if (value === "" || value === null || value === undefined) continue;
    list.append(make("dt", { textContent: name }), make("dd", {}, value));
  }
  return list;
}

const link = (label, action) => make("button", { className: "link", textContent: label, onclick: action });
const taskLink = (task) => link(tasks.name[task], () => show("task", task));
const actorLink = (actor) => link(`actor ${actor}`, () => show("actor", actor));

const LISTED = 60;
function list(items, row) {
  const element = make("ul", {}, ...items.slice(0, LISTED).map(row));
  if (items.length > LISTED) element.append(make("li", {}, `and ${count(items.length - LISTED)} more`));
  return element;
}

function registerRow(register) {
  if (register < 0) return make("li", {}, make("small", { textContent: "absent (optional)" }));
  return make("li", {}, link(registers.name[register], () => show("register", register)),
    make("small", { textContent: `${text(registers.spec[register])} · ${bytes(registers.bytes[register])}` +
      (registers.lasting[register] ? ` · ${registers.lasting[register]}` : "") }));
}

function taskDetails(task) {
  const why = text(tasks.why[task]);
  const attributes = text(tasks.attrs[task]);
  const [kind, job] = plan.jobs[tasks.job[task]];
  return [
    ...title(tasks.name[task], text(tasks.op[task])),
    facts(["device", text(tasks.device[task])], ["stream", streamOf(task)],
      ["launched", make("span", {}, `task ${count(task)}, by `, actorLink(tasks.actor[task]))],
      ["job", kind === "user" ? job : `${job} (${kind})`],
      ["SBP", text(tasks.sbp[task])], ["written at", text(tasks.location[task])]),
    ...measured(task),
    ...(text(tasks.how[task]) ? [heading("How it runs"), facts(["by", text(tasks.how[task])],
      ["kernel", text(tasks.kernel[task])], ["part of", text(tasks.part_of[task])], ["why", why])] : []),
    ...(attributes ? [heading("Attributes"),
      facts(...attributes.split("\n").map((line) => {
        const at = line.indexOf(" = ");
        return [line.slice(0, at), make("code", { textContent: line.slice(at + 3) })];
      }))] : []),
    ...(tasks.inputs[task].length ? [heading("Reads"), list(tasks.inputs[task], registerRow)] : []),
    ...(tasks.outputs[task].length ? [heading("Writes"), list(tasks.outputs[task], registerRow)] : []),
    ...(tasks.over[task].length ? [heading(text(tasks.kind[task]) === "view" ? "Is a view of" : "Written over"),
      list(tasks.over[task], ([input]) => registerRow(input))] : []),
    ...(tasks.workspace[task] >= 0 ? [heading("Scratch"), list([tasks.workspace[task]], registerRow)] : []),
  ];
}

function registerDetails(register) {
  const chunk = chunks[registers.chunk[register]];
  const start = registers.offset[register];
  return [
    ...title(registers.name[register], text(registers.spec[register])),
    facts(["size", exact(registers.bytes[register])],
      ["credits", registers.slots[register] > 1 ? `${registers.slots[register]} slots` : "1 slot"],
      ["lies in", `chunk ${registers.chunk[register]}, ${chunk.memory}`],
      ["at", `${count(start)} to ${count(start + extent(register))}`],
      ["lifetime", lifeOf(register)]),
    ...measuredLife(register),
    ...(maker[register] >= 0 ? [heading("Written by"), list([maker[register]], (task) => make("li", {}, taskLink(task)))] : []),
    ...(readers[register].length ? [heading("Read by"), list(readers[register], (task) => make("li", {}, taskLink(task)))] : []),
    make("p", {}, link("Show in memory", () => { open("memory"); focusRegister(register); })),
  ];
}

function actorDetails(actor) {
  const chain = lanes.tasks[actor];
  const credits = (register) => make("li", {}, link(registers.name[register], () => show("register", register)),
    make("small", { textContent: `${plural(registers.slots[register], "credit")} · ` +
      (registers.bytes[register] ? bytes(registers.bytes[register]) : "no bytes, order only") }));
  return [
    ...title(`actor ${actor}`, `${plural(chain.length, "task")} launched as one chain`),
    facts(["stream", lanes.streams[lanes.lane[actor]]],
      ["step", chain.length > 1 ? `${count(lanes.start[actor])} to ${count(lanes.start[actor] + chain.length - 1)}` : count(lanes.start[actor])]),
    ...(lanes.consumed[actor].length ? [heading("Waits for"), list(lanes.consumed[actor], credits)] : []),
    ...(lanes.produced[actor].length ? [heading("Publishes"), list(lanes.produced[actor], credits)] : []),
    heading("Tasks"),
    list(chain, (task) => make("li", {}, taskLink(task))),
  ];
}
