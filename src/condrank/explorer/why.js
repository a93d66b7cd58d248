// Why an object has its score, or is above another one: a sentence, and the largest terms of the sum that the score is.
const MOST_TERMS = 6, LEAST_SHARE = 0.01; // terms that are shown, and the smallest one beside the largest
const signed = (value) => (value > 0 ? "+" : value < 0 ? "−" : "") + Number(Math.abs(value).toPrecision(3));

// What a term belongs to, in words.
const termOf = (by, term, { query, object, other }) => {
  if (by === "features" && term.side !== "both") {
    const isQuery = term.side === "query", hasOther = other !== null && !isQuery;
    const name = hasOther ? term.feature : `${term.feature} of ${isQuery ? query : object}`;
    if (term.value === undefined || term.value === null) return name;
    return `${name}: ${cell(term.value)}` + (hasOther ? ` against ${cell(term.other_value)}` : "");
  }
  if (by === "features") return term.feature;
  if (by === "nodes") return `what is known of ${term.node}`;
  if (by === "parts") return [...new Set([term.query_part, term.object_part])].filter((part) => part).join(" × ");
  return `the label ${cell(term.label)} of ${term.query} and ${term.object}`;
};

// The parts of the panel for an answer of `explain`.
const reasons = (answer) => {
  const size = (term) => Math.abs(term.contribution);
  const largest = Math.max(...answer.contributions.map(size), Number.MIN_VALUE);
  const terms = answer.contributions.filter((term) => size(term) > LEAST_SHARE * largest).slice(0, MOST_TERMS);
  const table = make("table", undefined, "terms"), body = make("tbody");
  for (const term of terms) {
    const line = make("tr", undefined, term.contribution < 0 ? "against" : "");
    const title = make("th", termOf(answer.by, term, answer)), bar = make("i", undefined, "bar");
    title.scope = "row";
    bar.style.width = (100 * size(term)) / largest + "%";
    title.append(bar);
    line.append(title, make("td", signed(term.contribution), "number"));
    body.append(line);
  }
  const left = answer.n_contributions - terms.length, rest = Object.entries(answer.rest);
  const others = rest.map(([name, value]) => `${name} ${signed(value)}`);
  if (left > 0) {
    const sum = (values) => values.reduce((all, value) => all + value, 0);
    const known = sum(terms.map((term) => term.contribution)) + sum(rest.map(([, value]) => value));
    others.unshift(`${left.toLocaleString("en")} more ${signed(answer.total - known)}`);
  }
  table.append(body);
  return [
    make("p", answer.sentence, "why"), table,
    make("p", [...others, `sum ${signed(answer.total)}`].join(", ") + ".", "muted"),
  ];
};
