// The page: colours, the search field, the ranking of a node, and two of its objects side by side.
const data = JSON.parse(byId("data").textContent);
const source = { embedded, http }[data.source](data);
const input = byId("node"), list = byId("suggestions"), places = byId("k");
const region = document.querySelector("#answer .tall");
let shown = null; // the conditioning node whose ranking is shown
let objects = [], picked = []; // its objects, and the places of the two that are compared
let asked = 0, searched = 0, compared = 0; // only the newest answer is drawn
let found = [], active = -1, searching = null; // suggestions, which of them is marked, and the search under way

// Light or dark: as the system has it, until the reader chooses. A page may be forbidden to remember that.
const theme = byId("theme"), system = matchMedia("(prefers-color-scheme: dark)"), root = document.documentElement;
const remembered = (value) => {
  try {
    if (value) localStorage.setItem("condrank-colours", value);
    return localStorage.getItem("condrank-colours");
  } catch {
    return null;
  }
};
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
const showTheme = () => {
  theme.setAttribute("aria-pressed", String(isDark()));
  theme.textContent = isDark() ? "Light" : "Dark";
};
const before = remembered();
if (before === "dark" || before === "light") root.dataset.theme = before;
theme.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  remembered(root.dataset.theme);
  showTheme();
});
system.addEventListener("change", showTheme);
theme.hidden = false;
showTheme();

// Runs what the user asked for; a failure is shown, and the next success removes it.
const attempt = async (work) => {
  try {
    await work();
    byId("problem").textContent = "";
  } catch (error) {
    byId("problem").textContent = error.message;
  }
};

const close = () => {
  searched += 1;
  list.hidden = true;
  byId("count").textContent = "";
  active = -1;
  input.setAttribute("aria-expanded", "false");
  input.removeAttribute("aria-activedescendant");
};

const mark = (at) => {
  active = at;
  [...list.children].forEach((item, place) => item.setAttribute("aria-selected", String(place === at)));
  const item = list.children[at];
  if (item) {
    input.setAttribute("aria-activedescendant", item.id);
    item.scrollIntoView({ block: "nearest" });
  } else input.removeAttribute("aria-activedescendant");
};

const suggestion = (node, place) => {
  const item = make("li", node.name);
  item.id = "suggestion-" + place;
  item.setAttribute("role", "option");
  item.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
  item.addEventListener("click", () => attempt(() => choose(node)));
  return item;
};

const search = async (text, first) => {
  const turn = ++searched;
  const { total, nodes } = await source.find(text);
  if (turn !== searched) return;
  found = nodes;
  list.replaceChildren(...nodes.map(suggestion));
  if (nodes.length < total || !total) {
    const left = (total - nodes.length).toLocaleString("en");
    const more = make("li", total ? `… and ${left} more` : "none with this name", "none");
    more.setAttribute("role", "presentation");
    list.append(more);
  }
  byId("count").textContent = `${total.toLocaleString("en")} found`;
  list.hidden = false;
  input.setAttribute("aria-expanded", "true");
  mark(nodes.length ? first : -1);
};

const open = (text, first) => { searching = attempt(() => search(text, first)); };

const width = (score) => {
  const scores = objects.map((object) => object.score ?? 0);
  const low = Math.min(...scores), high = Math.max(...scores);
  return high > low ? 3 + (97 * ((score ?? 0) - low)) / (high - low) : 100;
};

// Asks why the first object has its score, or is above the second, and draws the answer or why there is none.
const explain = async (box, turn, [first, second]) => {
  box.replaceChildren(make("h4", "Why"), make("p", "…", "muted"));
  let drawn;
  try {
    drawn = reasons(await source.explain(shown, first.object, second?.object));
  } catch (error) {
    drawn = [make("p", error.message, "refused")];
  }
  if (turn === compared) box.replaceChildren(make("h4", "Why"), ...drawn);
};

// A reason may cost as much as a fit: it is asked for once somebody has ticked objects, or on request for the first two.
const offer = (box, turn, two, isAsked) => {
  if (!source.explain) return;
  if (isAsked) { explain(box, turn, two); return; }
  const ask = make("button", "Why?");
  ask.type = "button";
  ask.addEventListener("click", () => explain(box, turn, two));
  box.replaceChildren(ask);
};

// Draws the ticked objects: two side by side, or one with its reason; otherwise it says what to do.
const compare = (isAsked) => attempt(async () => {
  const turn = ++compared, panel = byId("comparison");
  document.querySelectorAll("#ranking tbody input").forEach((box, at) => { box.checked = picked.includes(at); });
  const chosen = [...picked].sort((one, other) => one - other).map((place) => ({ object: objects[place], place }));
  const widths = chosen.map((one) => width(one.object.score));
  if (chosen.length === 2) {
    const known = await source.compared(shown, chosen[0].object, chosen[1].object);
    if (turn !== compared) return;
    panel.replaceChildren(...comparison(shown, chosen, known, source.chance, widths));
  } else if (chosen.length === 1 && source.explain) panel.replaceChildren(...single(shown, chosen[0], widths[0]));
  else {
    panel.replaceChildren(make("p", objects.length < 2 ? "" : "Tick two objects to compare them.", "muted"));
    return;
  }
  offer(panel.querySelector(".reason"), turn, chosen, isAsked);
});

const tick = (object, place) => {
  const box = make("input");
  box.type = "checkbox";
  box.setAttribute("aria-label", `Compare ${object.name}`);
  box.addEventListener("change", () => {
    picked = picked.filter((one) => one !== place);
    if (box.checked) picked = [...picked, place].slice(-2); // the two newest
    compare(true);
  });
  return box;
};

const row = (object, place) => {
  const line = make("tr"), header = make("th"), first = make("td", undefined, "tick");
  const meter = make("td", undefined, "meter"), bar = make("i", undefined, "bar");
  header.scope = "row";
  if (object.node) {
    const go = make("button", object.name, "go");
    go.type = "button";
    // The button goes with its row: the focus moves to the ranking, so that the keyboard keeps its place.
    go.addEventListener("click", () => attempt(async () => {
      await choose(object.node);
      region.focus({ preventScroll: true });
    }));
    header.append(go);
  } else header.textContent = object.name;
  first.append(tick(object, place));
  bar.style.width = width(object.score) + "%";
  meter.setAttribute("aria-hidden", "true");
  meter.append(bar);
  line.append(first, make("td", String(place + 1), "number"), header, make("td", number(object.score), "number"), meter);
  const chance = source.chance(object.score);
  if (chance !== undefined) line.append(make("td", percent(chance), "number"));
  if (object.std !== undefined) line.append(make("td", number(object.std), "number"), make("td", percent(object.best), "number"));
  if (!source.hasTruth) return line;
  const isKnown = object.truth !== null;
  const truth = make("td", isKnown ? number(object.truth) : "", isKnown ? "number" : "number missing");
  if (!isKnown) truth.append(make("span", "not observed", "hidden"), make("span", "–"));
  line.append(truth);
  return line;
};

const draw = ({ node, says, columns, objects: ranked }) => {
  shown = node;
  objects = ranked;
  picked = ranked.length > 1 ? [0, 1] : [];
  byId("picked").textContent = "Ranking for " + node.name;
  byId("says").textContent = says;
  byId("columns").replaceChildren(...columns.map(([name, text]) => {
    const pair = make("div");
    pair.append(make("dt", name), make("dd", text));
    return pair;
  }));
  const wins = ranked.some((object) => source.chance(object.score) !== undefined);
  byId("chance").hidden = !wins;
  byId("std").hidden = byId("best").hidden = !ranked.some((object) => object.std !== undefined);
  byId("ranking").classList.toggle("wins", wins); // a phone has room for one of score and chance
  document.querySelector("#ranking tbody").replaceChildren(...ranked.map(row));
  region.scrollTop = 0;
  byId("answer").hidden = false;
  compare(false);
};

const show = async (node) => {
  const turn = ++asked;
  const k = Math.max(1, Math.floor(Number(places.value)) || source.places);
  const answer = await source.ranking(node, k, byId("sure").checked);
  if (turn !== asked) return false;
  draw(answer);
  return true;
};

const choose = async (node) => {
  input.value = node.name;
  close();
  if (await show(node)) byId("picked").scrollIntoView({ block: "nearest" });
};

const turn = (by) => attempt(async () => { if (shown) await choose(await source.step(shown, by)); });

const start = () => attempt(async () => {
  const about = await source.start();
  if (about !== undefined) byId("about").textContent = about;
  const { nodes } = await source.find("");
  if (nodes.length && (await show(nodes[0]))) input.value = shown.name;
});

input.addEventListener("input", () => open(input.value, input.value.trim() ? 0 : -1));
input.addEventListener("click", () => { if (list.hidden) { input.select(); open("", -1); } });
input.addEventListener("blur", close);
input.addEventListener("keydown", (event) => {
  const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (move) {
    event.preventDefault();
    if (list.hidden) open("", 0);
    else if (active < 0 && move < 0) mark(found.length - 1);
    else if (found.length) mark((active + move + found.length) % found.length);
  } else if (event.key === "Enter") {
    event.preventDefault();
    // What was typed last counts, also if its answer is still on the way.
    Promise.resolve(searching).then(() => {
      if (!list.hidden && active >= 0) attempt(() => choose(found[active]));
    });
  } else if (event.key === "Escape" && !list.hidden) {
    event.preventDefault();
    close();
  }
});
// Up and down in the ranking: to the same control of the next row.
byId("ranking").addEventListener("keydown", (event) => {
  const move = { ArrowDown: 1, ArrowUp: -1 }[event.key], line = event.target.closest("tbody tr");
  if (!move || !line) return;
  const lines = [...line.closest("tbody").rows];
  const kind = event.target.matches("input") ? "input" : "button";
  const target = lines[lines.indexOf(line) + move]?.querySelector(kind);
  if (!target) return;
  event.preventDefault();
  target.focus();
});
places.addEventListener("change", () => attempt(async () => { if (shown) await show(shown); }));
// A model without standard deviations is refused: the ranking stays, and the box is as it was.
byId("sure").addEventListener("change", (event) => attempt(async () => {
  try {
    if (shown) await show(shown);
  } catch (error) {
    event.target.checked = false;
    throw error;
  }
}));
byId("previous").addEventListener("click", () => turn(-1));
byId("next").addEventListener("click", () => turn(1));
byId("locked")?.addEventListener("submit", (event) => { event.preventDefault(); start(); });
// A name in another section of the page, such as the leaderboard, shows its ranking.
document.querySelectorAll("[data-node]").forEach((link) => link.addEventListener("click", () => attempt(async () => {
  const { nodes } = await source.find(link.textContent);
  const node = nodes.find((one) => one.name === link.textContent);
  if (node) await choose(node);
})));
input.placeholder = "Any part of a name";
places.value = source.places;
if (source.most) places.max = source.most;
byId("truth").hidden = !source.hasTruth;
byId("asks-sure").hidden = !source.hasStd;
start();
