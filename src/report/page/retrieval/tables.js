// Every number in one sortable table, and the published table beside ours.

import {sortable} from "../drawing/sortable.js";
import {scrolling} from "../export/download.js";
import {node, rule, section} from "../frame/dom.js";
import {count, decimal, distinct, interval, kNone, pValue, percent, plural} from "../frame/words.js";
import {member, paperArm, rowAt} from "./results.js";

const three = (value) => decimal(value, 3);
const kAccuracyEnds = [
  ["accuracy low", (r) => r.accuracy_low],
  ["accuracy high", (r) => r.accuracy_high],
];
const kColumns = [
  ["training", (r) => r.arm, "words"],
  ["normalizer", (r) => r.normalizer, "words"],
  ["n", (r) => r.n, count],
  ["seeds", (r) => r.seeds, count],
  ["sets", (r) => r.sets, count],
  ["accuracy", (r) => r.accuracy, percent],
  ["95 % interval", (r) => r.accuracy_low, (_, r) => interval(r), {csv: kAccuracyEnds}],
  ["entropy", (r) => r.entropy, three],
  ["peak weight", (r) => r.peak_weight, three],
  ["weight on right", (r) => r.right_weight, three],
  ["temperature β", (r) => r.temperature, three],
  ["score spread", (r) => r.spread, (v) => decimal(v, 2)],
  ["ranked first", (r) => r.ranked_first, percent],
  ["hard right", (r) => r.hard_accuracy, percent],
  ["largest weight", (r) => r.largest_peak_weight, three],
  ["its bound", (r) => r.weight_bound, three],
];

export function showNumbers(data) {
  section("numbers", "All numbers", "A heading sorts by its column.").append(scrolling("All numbers", sortable("all-rows", kColumns, data.rows), "tall"));
}

export function showPublished(data) {
  const arm = paperArm(data);
  const rules = distinct(data.published.map((p) => p.normalizer)).filter((name) => member(data, name));
  const sizes = distinct(data.published.map((p) => p.n))
    .filter((n) => data.sizes.includes(n))
    .sort((a, b) => a - b);
  if (!arm || !rules.length || !sizes.length) return;
  const tests = new Map(data.tests.filter((test) => test.arm === arm).map((test) => [test.n, test]));
  const body = node("tbody");
  for (const n of sizes) {
    const line = node("tr", {}, node("td", {"data-value": n}, count(n)));
    for (const name of rules) {
      const theirs = data.published.find((p) => p.normalizer === name && p.n === n);
      const ours = rowAt(data, arm, member(data, name), n);
      line.append(
        node("td", {"data-value": theirs?.accuracy ?? null}, theirs ? percent(theirs.accuracy) : kNone),
        ours
          ? node("td", {"data-value": ours.accuracy, title: interval(ours)}, percent(ours.accuracy))
          : node("td", {}, kNone),
      );
    }
    const test = tests.get(n);
    if (tests.size)
      line.append(
        node("td", {"data-value": test ? 100 * test.difference : null}, test ? (100 * test.difference).toFixed(1) : kNone),
        test ? node("td", {"data-value": test.p}, pValue(test.p)) : node("td", {}, kNone),
      );
    body.append(line);
  }
  const upper = node(
    "tr",
    {},
    node("td"),
    ...rules.map((name) => node("th", {scope: "colgroup", colspan: 2}, rule(name))),
  );
  const lower = node(
    "tr",
    {},
    node("th", {scope: "col"}, "n"),
    ...rules.flatMap(() => [node("th", {scope: "col"}, "paper A"), node("th", {scope: "col"}, "ours")]),
  );
  if (tests.size) {
    const {first, second, seeds} = [...tests.values()][0];
    upper.append(node("th", {scope: "colgroup", colspan: 2}, `${second} − ${first}`));
    lower.append(node("th", {scope: "col"}, "points"), node("th", {scope: "col"}, `p, ${plural(seeds, "seed")}`));
  }
  const place = section(
    "published",
    "Beside the published table",
    "Accuracy as paper A reports it, and ours. The p value is of a two-sided paired t-test over seeds.",
  );
  place.append(scrolling("Published and ours", node("table", {}, node("thead", {}, upper, lower), body)));
  if (!tests.size) place.append(node("p", {class: "note"}, "This run has one seed, so no p value."));
}
