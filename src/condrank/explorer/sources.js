// Where the page gets its data: `embedded` reads the file, `http` asks the service. A source has
//   places       how many places of a ranking are shown at first
//   most         the largest number of places, or undefined if the source itself refuses too large ones
//   hasTruth     whether it knows the observed relation
//   hasStd       whether it can be asked how sure the places of a ranking are
//   start()      a line about the model, or undefined
//   find(text)   { total, nodes }: how many names contain the text, and the first of these nodes
//   step(node, by)    the node so many places further in their order
//   ranking(node, k, sure)  { node, says, columns: [[name, text]], objects: [{ name, score, truth, node, std, best }] }
//   compared(node, first, second)  what is known of two objects beside their scores: { columns, first, second, duel, above, why }
//   explain(node, first, second)   why the first has its score, or is above the second, as /explain answers; only of a service
//   chance(score)     the probability that the conditioning node beats an object with this score, or undefined
// A node is { name, at }; an object has one if it can be picked itself. All answers may be promises.
const MOST = 200; // suggestions at a time
const byId = (id) => document.getElementById(id);
const short = (value) => (Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6))));
const cell = (value) => (value === null ? "" : typeof value === "number" ? short(value) : String(value));

// The probability of a win that a score stands for; undefined if scores have no such scale.
const chanceOf = (scale, incoming) => (score) => {
  if (!scale || score === null) return undefined;
  const win = scale === "log-odds" ? 1 / (1 + Math.exp(-score)) : scale === "outcome" ? (1 + score) / 2 : score;
  const within = Math.min(Math.max(win, 0), 1);
  return incoming ? 1 - within : within;
};

const embedded = ({ names, columns, queries, scale, incoming }) => {
  const [NAME, LOSS, OBSERVED, CELLS, OBJECTS, SCORES, TRUTH, SURE] = [0, 1, 2, 3, 4, 5, 6, 7];
  const nodes = queries.map((query, at) => ({ name: names[query[NAME]], at }));
  const lower = nodes.map((node) => node.name.toLowerCase());
  const byName = new Map(queries.map((query, at) => [query[NAME], nodes[at]]));
  const most = queries.reduce((longest, query) => Math.max(longest, query[OBJECTS].length), 1);
  const chance = chanceOf(scale, incoming);
  const cells = (node) => (node ? queries[node.at][CELLS] : undefined);
  return {
    places: Math.min(most, 20),
    most,
    hasTruth: true,
    hasStd: false,
    chance,
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
      const right = query[LOSS] === null
        ? "Nothing to compare: no two observed objects differ."
        : `${Math.round(100 * (1 - query[LOSS]))} % of its observed pairs are ordered right.`;
      return {
        node,
        says: `${right} Observed: ${query[OBSERVED].toLocaleString("en")}.`,
        columns: columns.map((name, column) => [name, query[CELLS][column]]),
        objects: query[OBJECTS].slice(0, k).map((object, place) => ({
          name: names[object], score: query[SCORES][place], truth: query[TRUTH][place], node: byName.get(object), place,
        })),
      };
    },
    compared(node, first, second) {
      const [own, other] = [cells(first.node), cells(second.node)];
      let duel;
      if (own && other) { // what the ranking for the first says of the second
        const query = queries[first.node.at];
        const place = query[OBJECTS].findIndex((object) => names[object] === second.name);
        duel = place < 0 ? undefined : chance(query[SCORES][place]);
      }
      // The probability and the reason are known for the first five of some rankings.
      const known = (queries[node.at][SURE] ?? []).find(([one, two]) => one === first.place && two === second.place);
      const [, , above, why] = known ?? [];
      return { columns, first: own, second: other, duel, above, why };
    },
  };
};

const http = () => {
  let total = 0, isOneDomain = true, chance = () => undefined;
  // With a body it is posted.
  const get = async (path, body) => {
    const token = byId("token").value, headers = token ? { Authorization: "Bearer " + token } : {};
    const posted = body && { method: "POST", body: JSON.stringify(body) };
    if (posted) headers["Content-Type"] = "application/json";
    const asked = fetch(path, { headers, ...posted });
    const answer = await asked.catch(() => { throw new Error("The service does not answer."); });
    const found = await answer.json();
    if (answer.status === 401) {
      byId("locked").hidden = false;
      throw new Error(token ? "This token is wrong." : "A token is needed.");
    }
    if (!answer.ok) throw new Error(found.error.message);
    return found;
  };
  const nodeOf = (name, role) => get(`nodes/${encodeURIComponent(name)}?role=${role}`);
  return {
    places: 20,
    most: undefined,
    hasTruth: false,
    hasStd: true,
    chance: (score) => chance(score),
    async start() {
      const { model } = await get("health");
      total = model.queries;
      isOneDomain = model.one_domain;
      if (isOneDomain && model.relation === "reciprocal" && model.loss === "logistic") chance = chanceOf("log-odds");
      const sizes = isOneDomain ? `${total} nodes` : `${total} conditioning nodes, ${model.objects} objects`;
      const mark = model.file_fingerprint.slice(0, 12);
      return `${sizes}, ${model.relation} relation, ${model.loss} loss, model ${mark}`;
    },
    async find(text) {
      const page = await get(`nodes?limit=${MOST}&part=${encodeURIComponent(text)}`);
      byId("locked").hidden = true;
      return { total: page.total, nodes: page.ids.map((id) => ({ name: String(id) })) };
    },
    async step(node, by) {
      const at = (node.at + by + total) % total;
      const page = await get(`nodes?limit=1&start=${at}`);
      total = page.total; // a new model may have other nodes
      return page.ids.length ? { name: String(page.ids[0]) } : node;
    },
    async ranking(node, k, sure) {
      const asked = sure
        ? get("rank", { queries: [node.name], k, std: true }).then((answer) => answer.rankings[0])
        : get(`rank/${encodeURIComponent(node.name)}?k=${k}`);
      const [ranked, known] = await Promise.all([asked, nodeOf(node.name, "queries")]);
      return {
        node: { name: String(known.id), at: known.position },
        says: "",
        columns: Object.entries(known.columns).map(([key, value]) => [key, cell(value)]),
        objects: ranked.ranking.map(({ id, score, std, top_probability: best }) => ({
          name: String(id), score, std, best, node: isOneDomain ? { name: String(id) } : undefined,
        })),
      };
    },
    async compared(node, first, second) {
      const role = isOneDomain ? "queries" : "objects";
      const both = await Promise.all([first, second].map((one) => nodeOf(one.name, role)));
      const columns = Object.keys(both[0].columns);
      const [own, other] = both.map((one) => columns.map((name) => cell(one.columns[name])));
      return { columns, first: own, second: other };
    },
    explain: (node, first, second) => get("explain", { query: node.name, object: first.name, other: second?.name ?? null }),
  };
};
