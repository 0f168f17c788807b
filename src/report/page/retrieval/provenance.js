// What was proved about the heads, and how the numbers were made.

import {scrolling} from "../export/download.js";
import {node, rule, section} from "../frame/dom.js";
import {count, decimal, distinct, kNone, plural, setting, sizeFromLog10} from "../frame/words.js";

export function showCertificate(data) {
  if (!data.heads.length) return;
  const lines = data.heads.map((head) =>
    node(
      "li",
      {},
      `${head.arm}, seed ${head.seed}: scores spread at most ${decimal(head.spread.certified, 2)} (attained: ${decimal(head.spread.attained, 2)}); ` +
        `from ${sizeFromLog10(head.half_lost_from_log10)} items on, no input at all gets half of the weight under softmax.`,
    ),
  );
  // Where the bound is about 1 it says nothing.
  const bounded = data.rows.filter((row) => row.weight_bound !== null && row.weight_bound < 0.99);
  const broken = data.rows.reduce((sum, row) => sum + row.bound_violations, 0);
  const checked = data.rows.reduce((sum, row) => sum + row.sets, 0);
  const place = section(
    "certificate",
    "What no input can do",
    "Over every priority and query in [0, 1] and every class, a head's scores spread at most so far. Under softmax this bounds every weight at every size; each measured row was checked against it.",
  );
  place.append(node("ul", {class: "lines"}, ...lines));
  place.append(
    node(
      "p",
      {class: "note", "data-value": broken},
      `${plural(broken, "violation")} among ${plural(checked, "measured row")} of weights.` +
        (bounded.length ? " The closest: " + closest(bounded) + "." : ""),
    ),
  );
}

function closest(rows) {
  const row = rows.reduce((a, b) =>
    b.largest_peak_weight / b.weight_bound > a.largest_peak_weight / a.weight_bound ? b : a,
  );
  return `${row.arm} with ${row.normalizer} at ${count(row.n)}, largest weight ${decimal(row.largest_peak_weight)} under a bound of ${decimal(row.weight_bound)}`;
}

export function showRetrievalProvenance(data) {
  const place = section("provenance", "How these numbers were made");
  place.append(node("pre", {}, node("code", {}, data.command)));
  const seconds = Object.entries(data.seconds ?? {})
    .map(([what, value]) => `${what} ${value === null ? kNone : value.toFixed(1)} s`)
    .join(", ");
  const sets = Object.entries(data.settings.sets ?? {})
    .map(([n, value]) => `${count(value)} at ${count(Number(n))}`)
    .join(", ");
  const pairs = [
    ["sharpmax", data.sharpmax],
    ["preset", data.preset],
    ["date", data.created],
    ["time taken", seconds],
    ["seeds", (data.settings.seeds ?? []).join(", ")],
    ["test sets a seed", sets],
  ];
  place.append(node("dl", {}, ...pairs.flatMap(([name, value]) => [node("dt", {}, name), node("dd", {}, value)])));
  place.append(scrolling("How each arm was trained", trainingTable(data)));
  if (data.heads.length) {
    const losses = data.heads.map((head) => `${head.arm} seed ${head.seed}: ${decimal(head.loss, 4)}`).join(", ");
    place.append(node("p", {class: "note"}, `Loss at the end of training: ${losses}.`));
  }
}

function trainingTable(data) {
  const settings = distinct(data.arms.flatMap(({training}) => Object.keys(training)));
  const differs = (name) => distinct(data.arms.map(({training}) => setting(training[name]))).length > 1;
  const body = node(
    "tbody",
    {},
    ...settings.map((name) =>
      node(
        "tr",
        {},
        node("th", {scope: "row", class: "words"}, name.replaceAll("_", " ")),
        ...data.arms.map(({training}) =>
          node("td", {class: differs(name) ? "words differs" : "words"}, setting(training[name])),
        ),
      ),
    ),
  );
  return node(
    "table",
    {},
    node("caption", {}, "How each arm was trained"),
    node(
      "thead",
      {},
      node(
        "tr",
        {},
        node("th", {class: "words"}, "setting"),
        ...data.arms.map(({name}) => node("th", {scope: "col", class: "words"}, rule(name))),
      ),
    ),
    body,
  );
}
