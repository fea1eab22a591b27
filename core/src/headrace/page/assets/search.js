// Finding tasks and tensors by name, with the keys that lists have everywhere.
const input = byId("search");
const found = byId("found");
const SHOWN = 40;
let at = 0;
let matches = [];

function rank(name, words) {
  const place = name.toLowerCase().indexOf(words);
  return place < 0 ? Infinity : place + name.length / 1000;
}

function search() {
  const words = input.value.trim().toLowerCase();
  matches = [];
  if (words) {
    for (let task = 0; task < taskCount; task += 1) {
      const by = Math.min(rank(tasks.name[task], words), 500 + rank(text(tasks.op[task]), words));
      if (by < Infinity) matches.push({ what: "task", index: task, by, name: tasks.name[task], about: text(tasks.op[task]) });
    }
    for (let register = 0; register < registers.name.length; register += 1) {
      const by = rank(registers.name[register], words);
      if (by < Infinity) matches.push({ what: "register", index: register, by: by + 0.5, name: registers.name[register], about: text(registers.spec[register]) });
    }
    matches.sort((a, b) => a.by - b.by || a.index - b.index);
  }
  at = 0;
  const rows = matches.slice(0, SHOWN).map((match, place) =>
    make("li", { role: "option", id: `found-${place}`, onpointerdown: (event) => { event.preventDefault(); choose(place); } },
      make("b", { textContent: match.name }), make("span", { textContent: match.about })));
  if (words && !rows.length) rows.push(make("li", { className: "nothing", textContent: `nothing is called “${input.value.trim()}”` }));
  if (matches.length > SHOWN) rows.push(make("li", { className: "nothing", textContent: `and ${count(matches.length - SHOWN)} more` }));
  found.replaceChildren(...rows);
  found.hidden = !words;
  input.setAttribute("aria-expanded", String(!found.hidden));
  mark();
}

function mark() {
  [...found.children].forEach((row, place) => {
    row.setAttribute("aria-selected", String(place === at && Boolean(matches.length)));
    if (place === at) row.scrollIntoView({ block: "nearest" });
  });
  if (matches.length) input.setAttribute("aria-activedescendant", `found-${at}`);
  else input.removeAttribute("aria-activedescendant");
}

function choose(place) {
  const match = matches[place];
  if (!match) return;
  found.hidden = true;
  input.setAttribute("aria-expanded", "false");
  if (current === "overview") open(match.what === "task" ? "ops" : "memory");
  show(match.what, match.index);
}

input.addEventListener("input", search);
input.addEventListener("focus", search);
input.addEventListener("blur", () => { found.hidden = true; });
input.addEventListener("keydown", (event) => {
  const last = Math.min(matches.length, SHOWN) - 1;
  if (event.key === "ArrowDown") at = Math.min(last, at + 1);
  else if (event.key === "ArrowUp") at = Math.max(0, at - 1);
  else if (event.key === "Enter") choose(at);
  else if (event.key === "Escape") {
    event.stopPropagation();
    input.value = "";
    input.blur();
  } else return;
  event.preventDefault();
  mark();
});
