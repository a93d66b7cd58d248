// Two objects of a ranking side by side: which one is above, how sure that is, and what differs between them.
const make = (kind, text, name) => {
  const element = document.createElement(kind);
  if (text !== undefined) element.textContent = text;
  if (name) element.className = name;
  return element;
};
const number = (value) => (value === null ? "–" : Number.isInteger(value) ? String(value) : value.toPrecision(4));
const percent = (share) => (share > 0.99 && share < 1 ? ">99 %" : share < 0.01 && share > 0 ? "<1 %" : `${Math.round(100 * share)} %`);

const side = (object, place, width) => {
  const box = make("div", undefined, "side"), meter = make("span", undefined, "meter"), bar = make("i", undefined, "bar");
  bar.style.width = width + "%";
  meter.append(bar);
  box.append(make("h4", object.name), make("p", `place ${place + 1} · score ${number(object.score)}`, "muted"), meter);
  return box;
};

// A bar that is split between two, for probabilities.
const splitBar = (share, first, second) => {
  const box = make("div", undefined, "odds"), track = make("div", undefined, "track"), bar = make("i", undefined, "bar");
  bar.style.width = 100 * share + "%";
  track.append(bar);
  track.setAttribute("aria-hidden", "true");
  const ends = make("div", undefined, "ends");
  ends.append(make("span", `${percent(share)} ${first}`), make("span", `${percent(1 - share)} ${second}`));
  box.append(track, ends);
  return box;
};

const differences = ({ columns, first, second }, names) => {
  if (!first || !second || !columns.length) return undefined;
  const table = make("table", undefined, "differences"), head = make("tr"), body = make("tbody");
  for (const name of ["", ...names]) {
    const title = make("th", name);
    title.scope = "col";
    head.append(title);
  }
  columns.forEach((name, at) => {
    const line = make("tr", undefined, first[at] === second[at] ? "same" : ""), title = make("th", name);
    title.scope = "row";
    line.append(title, make("td", first[at]), make("td", second[at]));
    body.append(line);
  });
  const top = make("thead");
  top.append(head);
  table.append(top, body);
  const box = make("div", undefined, "scroll");
  box.append(table);
  return box;
};

// Names short enough for a sentence: what they begin with alike is left out before anything else is cut.
const LONGEST = 30;
const brief = (names) => {
  if (Math.max(...names.map((name) => name.length)) <= LONGEST) return names;
  let common = 0;
  while (common < names[0].length && names.every((name) => name[common] === names[0][common])) common += 1;
  if (common < 5 || names.some((name) => name.length === common)) common = 0;
  const cut = (text) => (text.length > LONGEST ? text.slice(0, LONGEST - 1) + "…" : text);
  return names.map((name) => cut((common ? "…" : "") + name.slice(common)));
};

// One object for a conditioning node: its place, its score, and room for the reason.
const single = (query, { object, place }, width) => {
  const [own, one] = brief([query.name, object.name]), title = make("h3", one);
  title.append(make("span", " for "), own);
  return [title, side(object, place, width), make("div", undefined, "reason"), make("p", "Tick another one to compare them.", "muted")];
};

// What the panel shows: `picked` has two { object, place }, `known` is what the source has on them.
const comparison = (query, picked, known, chance, widths) => {
  const [first, second] = picked, [a, b] = [first.object, second.object];
  const [own, one, other] = brief([query.name, a.name, b.name]);
  const title = make("h3", one);
  title.append(make("span", " above "), other);
  const parts = [title];
  const gap = a.score === null || b.score === null ? 0 : a.score - b.score;
  const chances = [chance(a.score), chance(b.score)];
  if (chances[0] !== undefined && chances[1] !== undefined)
    parts.push(make("p", `${own} beats ${one} with ${percent(chances[0])}, and ${other} with ${percent(chances[1])}.`));
  else parts.push(make("p", gap > 0
    ? `For ${own}, the score of ${one} is higher by ${number(gap)}.`
    : `For ${own}, both have the same score.`));
  const sides = make("div", undefined, "versus");
  sides.append(side(a, first.place, widths[0]), side(b, second.place, widths[1]));
  parts.push(sides);
  if (known.above !== undefined)
    parts.push(make("h4", "Which score is higher"), splitBar(known.above, one, other));
  if (known.why) parts.push(make("h4", "Why"), make("p", known.why, "why"));
  parts.push(make("div", undefined, "reason")); // for a source that explains
  if (known.duel !== undefined) {
    parts.push(make("h4", "Against each other"), splitBar(known.duel, one, other));
  }
  if (a.truth !== undefined) {
    const said = [a, b].map((object) => (object.truth === null ? "not observed" : number(object.truth)));
    parts.push(make("p", `Truth: ${one} ${said[0]}, ${other} ${said[1]}.`, "muted"));
  }
  const table = differences(known, [one, other]);
  if (table) parts.push(make("h4", "What differs"), table);
  return parts;
};
