// What is under the pointer, in a few words beside it.
const tip = byId("tip");

function showTip(event, title, ...lines) {
  tip.replaceChildren(make("b", { textContent: title }),
    ...lines.filter(Boolean).map((line) => make("div", { textContent: line })));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const x = event.clientX + 14;
  const y = event.clientY + 16;
  tip.style.left = `${Math.max(6, x + box.width > innerWidth - 6 ? event.clientX - box.width - 10 : x)}px`;
  tip.style.top = `${Math.max(6, y + box.height > innerHeight - 6 ? event.clientY - box.height - 10 : y)}px`;
}

function hideTip() {
  tip.hidden = true;
}

function tipOfTask(event, task) {
  const outputs = tasks.outputs[task].map((register) => text(registers.spec[register])).join(", ");
  const how = text(tasks.how[task]);
  showTip(event, tasks.name[task],
    `${text(tasks.op[task])}${outputs ? ` → ${outputs}` : ""}`,
    `on ${streamOf(task)}${how && how !== "kernel" ? `, ${how}` : ""}`);
}

function tipOfRegister(event, register) {
  showTip(event, registers.name[register],
    `${text(registers.spec[register])}, ${exact(registers.bytes[register])}` +
      (registers.slots[register] > 1 ? ` × ${registers.slots[register]}` : ""),
    lifeOf(register));
}

function lifeOf(register) {
  const lasting = registers.lasting[register];
  if (lasting) return lasting === "weight" ? "weight: loaded once, always there" : "variable: keeps its value between calls";
  const { first, last } = registers;
  if (first[register] < 0) return "no task touches it";
  return first[register] === last[register]
    ? `alive during task ${count(first[register])}`
    : `alive from task ${count(first[register])} to ${count(last[register])}`;
}
