"use strict";
// The page draws what a source of data gives: `embedded` reads the file, `http` asks the service. A source has
//   hint         what to type into the search field
//   places       how many places of a ranking are shown at first
//   most         the largest number of places, or undefined if the source itself refuses too large ones
//   hasTruth     whether it knows the observed relation
//   start()      a line about the model, or undefined
//   find(text)   { total, nodes }: how many names match, and the first of these nodes
//   step(node, by)    the node so many places further in their order
//   ranking(node, k)  { node, says, columns: [[name, text]], objects: [{ name, score, truth, node }] }
// A node is { name, at }; an object has one if it can be picked itself. All answers may be promises.
(() => {
  const MOST = 200; // suggestions at a time
  const byId = (id) => document.getElementById(id);

  const embedded = ({ names, columns, queries }) => {
    const [NAME, LOSS, OBSERVED, CELLS, OBJECTS, SCORES, TRUTH] = [0, 1, 2, 3, 4, 5, 6];
    const nodes = queries.map((query, at) => ({ name: names[query[NAME]], at }));
    const lower = nodes.map((node) => node.name.toLowerCase());
    const byName = new Map(queries.map((query, at) => [query[NAME], nodes[at]]));
    const most = queries.reduce((longest, query) => Math.max(longest, query[OBJECTS].length), 1);
    return {
      hint: "Part of a name",
      places: most,
      most,
      hasTruth: true,
      start() {},
      // Names that begin with the text first, then those that contain it.
      find(text) {
        const part = text.trim().toLowerCase();
        const first = [], rest = [];
        lower.forEach((name, at) => {
          const where = name.indexOf(part);
          if (where === 0) first.push(nodes[at]);
          else if (where > 0) rest.push(nodes[at]);
        });
        return { total: first.length + rest.length, nodes: first.concat(rest).slice(0, MOST) };
      },
      step: (node, by) => nodes[(node.at + by + nodes.length) % nodes.length],
      ranking(node, k) {
        const query = queries[node.at];
        const loss = query[LOSS] === null
          ? "Nothing to rank: no two observed objects differ."
          : `Rank loss ${query[LOSS]} over its observed objects.`;
        return {
          node,
          says: `${loss} Observed: ${query[OBSERVED].toLocaleString("en")}.`,
          columns: columns.map((name, column) => [name, query[CELLS][column]]),
          objects: query[OBJECTS].slice(0, k).map((object, place) => ({
            name: names[object], score: query[SCORES][place], truth: query[TRUTH][place], node: byName.get(object),
          })),
        };
      },
    };
  };

  const http = () => {
    let total = 0, isOneDomain = true;
    const get = async (path) => {
      const token = byId("token").value;
      const asked = fetch(path, token ? { headers: { Authorization: "Bearer " + token } } : {});
      const answer = await asked.catch(() => { throw new Error("The service does not answer."); });
      const body = await answer.json();
      if (answer.status === 401) {
        byId("locked").hidden = false;
        throw new Error(token ? "This token is wrong." : "A token is needed.");
      }
      if (!answer.ok) throw new Error(body.error.message);
      return body;
    };
    const cell = (value) => (value === null ? "" : typeof value === "number" ? short(value) : String(value));
    return {
      hint: "First letters of a name",
      places: 20,
      most: undefined,
      hasTruth: false,
      async start() {
        const { model } = await get("health");
        total = model.queries;
        isOneDomain = model.one_domain;
        const sizes = isOneDomain ? `${total} nodes` : `${total} conditioning nodes, ${model.objects} objects`;
        const mark = model.file_fingerprint.slice(0, 12);
        return `${sizes}, ${model.relation} relation, ${model.loss} loss, model ${mark}`;
      },
      async find(text) {
        const page = await get(`nodes?limit=${MOST}&prefix=${encodeURIComponent(text)}`);
        byId("locked").hidden = true;
        return { total: page.total, nodes: page.ids.map((id) => ({ name: String(id) })) };
      },
      async step(node, by) {
        const at = (node.at + by + total) % total;
        const page = await get(`nodes?limit=1&start=${at}`);
        total = page.total; // a new model may have other nodes
        return page.ids.length ? { name: String(page.ids[0]) } : node;
      },
      async ranking(node, k) {
        const name = encodeURIComponent(node.name);
        const [ranked, known] = await Promise.all([get(`rank/${name}?k=${k}`), get(`nodes/${name}`)]);
        return {
          node: { name: String(known.id), at: known.position },
          says: "",
          columns: Object.entries(known.columns).map(([key, value]) => [key, cell(value)]),
          objects: ranked.ranking.map(({ id, score }) => ({
            name: String(id), score, node: isOneDomain ? { name: String(id) } : undefined,
          })),
        };
      },
    };
  };

  const data = JSON.parse(byId("data").textContent);
  const source = { embedded, http }[data.source](data);
  const input = byId("node"), list = byId("suggestions"), places = byId("k");
  const region = document.querySelector("#answer .tall");
  let shown = null; // the conditioning node whose ranking is shown
  let asked = 0, searched = 0; // only the newest answer is drawn
  let found = [], active = -1, searching = null; // suggestions, which of them is marked, and the search under way

  const make = (kind, text, name) => {
    const element = document.createElement(kind);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };

  const short = (value) => (Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6))));
  const number = (value) => (value === null ? "–" : Number.isInteger(value) ? String(value) : value.toPrecision(5));

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

  const row = (object, place, width) => {
    const line = make("tr"), header = make("th");
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
    bar.style.width = width + "%";
    meter.setAttribute("aria-hidden", "true");
    meter.append(bar);
    line.append(make("td", String(place + 1), "number"), header, make("td", number(object.score), "number"), meter);
    if (!source.hasTruth) return line;
    const isKnown = object.truth !== null;
    line.append(make("td", isKnown ? number(object.truth) : "not observed", isKnown ? "number" : "number missing"));
    return line;
  };

  const draw = ({ node, says, columns, objects }) => {
    shown = node;
    const scores = objects.map((object) => object.score ?? 0);
    const low = Math.min(...scores), high = Math.max(...scores);
    byId("picked").textContent = "Ranking for " + node.name;
    byId("says").textContent = says;
    byId("columns").replaceChildren(...columns.map(([name, text]) => {
      const pair = make("div");
      pair.append(make("dt", name), make("dd", text));
      return pair;
    }));
    const width = (score) => (high > low ? 3 + (97 * (score - low)) / (high - low) : 100);
    const rows = objects.map((object, place) => row(object, place, width(scores[place])));
    document.querySelector("#ranking tbody").replaceChildren(...rows);
    region.scrollTop = 0;
    byId("answer").hidden = false;
  };

  const show = async (node) => {
    const turn = ++asked;
    const k = Math.max(1, Math.floor(Number(places.value)) || source.places);
    const answer = await source.ranking(node, k);
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
  places.addEventListener("change", () => attempt(async () => { if (shown) await show(shown); }));
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  byId("locked")?.addEventListener("submit", (event) => { event.preventDefault(); start(); });
  input.placeholder = source.hint;
  places.value = source.places;
  if (source.most) places.max = source.most;
  byId("truth").hidden = !source.hasTruth;
  start();
})();
