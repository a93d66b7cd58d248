"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const [NAME, LOSS, OBSERVED, CELLS, OBJECTS, SCORES, TRUTH] = [0, 1, 2, 3, 4, 5, 6];
  const MOST = 50; // suggestions at a time
  const { names, columns, queries } = data;
  const input = document.getElementById("node");
  const list = document.getElementById("suggestions");
  const place = new Map(queries.map((query, at) => [query[NAME], at]));
  const lower = queries.map((query) => names[query[NAME]].toLowerCase());
  let shown = -1; // which conditioning node
  let active = -1; // which suggestion
  let found = [];

  const make = (kind, text, name) => {
    const element = document.createElement(kind);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };

  // Names that begin with the text first, then those that contain it.
  const search = (text) => {
    const part = text.trim().toLowerCase();
    const first = [], rest = [];
    lower.forEach((name, at) => {
      const where = name.indexOf(part);
      if (where === 0) first.push(at);
      else if (where > 0) rest.push(at);
    });
    return first.concat(rest);
  };

  const close = () => {
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };

  const mark = (at) => {
    active = at;
    [...list.children].forEach((item, number) => item.setAttribute("aria-selected", String(number === at)));
    const item = list.children[at];
    if (item) {
      input.setAttribute("aria-activedescendant", item.id);
      item.scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  };

  const open = (text) => {
    const all = search(text);
    found = all.slice(0, MOST);
    list.replaceChildren(...found.map((at, number) => {
      const item = make("li", names[queries[at][NAME]]);
      item.id = "suggestion-" + number;
      item.setAttribute("role", "option");
      item.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
      item.addEventListener("click", () => choose(at));
      return item;
    }));
    if (all.length > MOST || !all.length) {
      const more = make("li", all.length ? `… and ${all.length - MOST} more` : "none with this name", "none");
      more.setAttribute("role", "presentation");
      list.append(more);
    }
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    mark(text.trim() && found.length ? 0 : -1);
  };

  const number = (value) => (value === null ? "–" : Number.isInteger(value) ? String(value) : value.toPrecision(5));

  const show = (at) => {
    shown = at;
    const query = queries[at];
    const scores = query[SCORES].map((score) => (score === null ? 0 : score));
    const low = Math.min(...scores), high = Math.max(...scores);
    document.getElementById("picked").textContent = "Ranking for " + names[query[NAME]];
    document.getElementById("says").textContent = (query[LOSS] === null
      ? "Nothing to rank: no two observed objects differ."
      : `Rank loss ${query[LOSS]} over its observed objects.`) + ` Observed: ${query[OBSERVED].toLocaleString("en")}.`;
    document.getElementById("columns").replaceChildren(...columns.map((name, column) => {
      const pair = make("div");
      pair.append(make("dt", name), make("dd", query[CELLS][column]));
      return pair;
    }));
    const rows = query[OBJECTS].map((object, rank) => {
      const row = make("tr"), header = make("th"), meter = make("td", undefined, "meter");
      header.scope = "row";
      if (place.has(object)) {
        const go = make("button", names[object], "go");
        go.type = "button";
        go.addEventListener("click", () => { choose(place.get(object)); });
        header.append(go);
      } else header.textContent = names[object];
      const bar = make("i", undefined, "bar");
      bar.style.width = (high > low ? 3 + (97 * (scores[rank] - low)) / (high - low) : 100) + "%";
      meter.setAttribute("aria-hidden", "true");
      meter.append(bar);
      const truth = query[TRUTH][rank];
      const value = truth === null ? make("td", "not observed", "number missing") : make("td", number(truth), "number");
      row.append(make("td", String(rank + 1), "number"), header, make("td", number(query[SCORES][rank]), "number"), meter, value);
      return row;
    });
    document.querySelector("#ranking tbody").replaceChildren(...rows);
    document.querySelector("#answer .tall").scrollTop = 0;
    document.getElementById("answer").hidden = false;
  };

  const choose = (at) => {
    input.value = names[queries[at][NAME]];
    close();
    show(at);
  };

  const turn = (by) => queries.length && choose((shown + by + queries.length) % queries.length);

  input.addEventListener("input", () => open(input.value));
  input.addEventListener("click", () => { if (list.hidden) { input.select(); open(""); } });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      event.preventDefault();
      if (list.hidden) {
        open("");
        mark(found.length ? 0 : -1);
      } else if (found.length) mark(active < 0 && move < 0 ? found.length - 1 : (active + move + found.length) % found.length);
    } else if (event.key === "Enter" && !list.hidden && active >= 0) {
      event.preventDefault();
      choose(found[active]);
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      close();
    }
  });
  document.getElementById("previous").addEventListener("click", () => turn(-1));
  document.getElementById("next").addEventListener("click", () => turn(1));
  if (queries.length) choose(0);
})();
