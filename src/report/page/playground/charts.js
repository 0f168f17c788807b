// What the playground draws and says about its rows of weights.

import {node, rule} from "../frame/dom.js";
import {count, decimal, family, kNarrowSpace, kNone, percent, powerOfTen, shortCount} from "../frame/words.js";
import {rulesShown, scoresOf} from "./state.js";

const kFaintest = 1e-12; // weights below are off the chart
const kEveryRank = 16; // ranks that are all drawn; beyond, so many that a line has no corners
const kRanksInOctave = 12;
const kColours = {softmax: "vermillion", adaptive: "purple", peak_target: "sky", softpick: "amber", hard: "grey"}; // as in other charts
export const kCurveSizes = Array.from({length: 13}, (_, i) => 16 << i);

// The statistics that are shown, in words. `share`: a part of 1, shown in percent.
export const kPlaygroundStatistics = [
  {key: "peak_weight", label: "largest weight", share: true},
  {key: "largest_share", label: "weight of the largest score", share: true},
  {key: "entropy", label: "entropy (nats)"},
  {key: "effective_support", label: "effective support"},
  {key: "support", label: "keys with weight", whole: true},
  {key: "mass", label: "sum of weights"},
  {key: "temperature", label: "sharpening β"},
  {key: "threshold", label: "threshold τ"},
];

function statisticText({share, whole}, value) {
  if (!Number.isFinite(value)) return kNone;
  if (share) return percent(value);
  return whole ? count(value) : decimal(value, Math.abs(value) < 10 ? 3 : 1);
}

// [{rule, name, look, weights, ...statistics}] of the state.
export function weighedRows(module, state) {
  const scores = scoresOf(state, state.n);
  const rules = rulesShown(state);
  const paint = (rule) => (rule === "softmax" || family(rule) !== "softmax" ? (kColours[family(rule)] ?? "green") : "green");
  return rules.map((rule) => ({
    rule, name: curveName(rule, state), look: {paint: paint(rule), dash: []}, ...weighedRow(module, rule, scores, state.temperature),
  }));
}

export function weighedRow(module, rule, scores, temperature) {
  const row = module.weigh(rule, scores, temperature);
  let largest = 0;
  for (let j = 1; j < scores.length; ++j) if (scores[j] > scores[largest]) largest = j;
  return {...row, largest_share: row.mass ? row.weights[largest] / row.mass : 0};
}

// Short, so that it does not change with every step of a slider.
function curveName(rule, state) {
  return rule === "softmax" ? rule : state.rule === "softmax" ? "softmax at another β" : state.rule;
}

function drawnRanks(n) {
  const ranks = new Set();
  for (let rank = 1; rank <= Math.min(n, kEveryRank); ++rank) ranks.add(rank);
  for (let i = 0; kEveryRank * 2 ** (i / kRanksInOctave) < n; ++i) ranks.add(Math.round(kEveryRank * 2 ** (i / kRanksInOctave)));
  return [...ranks.add(n)].sort((a, b) => a - b);
}

// Sizes on a logarithmic axis, with a little room at its ends.
function sizesAxis(label, symbol, sizes, ticks) {
  const edge = Math.max(1.12, (sizes.at(-1) / sizes[0]) ** 0.015);
  const ends = {low: sizes[0] / edge, high: sizes.at(-1) * edge};
  return {label, symbol, format: count, kind: "log", ...ends, ticks: ticks.map((n) => [n, shortCount(n)])};
}

// Powers of ten around the weights, 0.1 and 1 among them.
function weightsAxis(weights) {
  const ends = [Math.floor(Math.log10(Math.min(0.1, ...weights))), Math.ceil(Math.log10(Math.max(1, ...weights)))];
  const decades = Array.from({length: ends[1] - ends[0] + 1}, (_, i) => 10 ** (ends[0] + i));
  return {label: "weight", kind: "log", low: decades[0], high: decades.at(-1), ticks: decades.map((value) => [value, powerOfTen(value)])};
}

// From 0; shares have all of 1.
function statisticAxis(label, share, values) {
  const high = share ? 1 : 1.05 * Math.max(1e-3, ...values);
  const shares = [0, 0.2, 0.4, 0.6, 0.8, 1].map((value) => [value, `${Math.round(100 * value)}${kNarrowSpace}%`]);
  return {label, kind: "linear", low: 0, high, ticks: share ? shares : evenTicks(high)};
}

function evenTicks(most) {
  const decade = 10 ** Math.floor(Math.log10(most / 6));
  const step = decade * [1, 2, 2.5, 5, 10].find((times) => times * decade >= most / 6);
  const digits = Math.max(0, 1 - Math.floor(Math.log10(step)));
  return Array.from({length: Math.floor((most / step) * (1 + 1e-9)) + 1}, (_, i) => [i * step, String(Number((i * step).toFixed(digits)))]);
}

export function weightsChart(rows) {
  const n = rows[0].weights.length;
  const ranks = drawnRanks(n);
  const curves = rows.map(({name, look, weights}) => {
    const sorted = weights.slice().sort();
    const points = ranks.map((rank) => [rank, sorted[n - rank]]).filter(([, weight]) => weight >= kFaintest);
    return {name, look, points, format: percent, marker: n > 64 ? "none" : "dot"};
  });
  const ticks = ranks.filter((rank) => Number.isInteger(Math.log2(rank)));
  return {curves, across: sizesAxis("keys, heaviest first", "key", ranks, ticks), up: weightsAxis(curves.flatMap(({points}) => points.map(([, weight]) => weight)))};
}

// `known`: a Map of Maps, rule to size to statistics, filled in the background.
export function lengthsChart(rows, known, {key, label, share, whole}, n) {
  const curves = rows.map(({rule, name, look}) => {
    const points = kCurveSizes.filter((size) => known.get(rule)?.has(size)).map((size) => [size, known.get(rule).get(size)[key]]);
    return {name, look, points: points.filter(([, value]) => Number.isFinite(value)), format: (value) => statisticText({share, whole}, value)};
  });
  const values = curves.flatMap(({points}) => points.map(([, value]) => value));
  return {
    curves, across: sizesAxis("keys n", "n", kCurveSizes, kCurveSizes), up: statisticAxis(label, share, values),
    marks: n >= kCurveSizes[0] ? [{at: n, name: `n = ${count(n)}`}] : [],
  };
}

export function numbersTable(rows) {
  const told = {mass: (value) => Math.abs(value - 1) > 1e-6};
  const some = kPlaygroundStatistics.filter(({key}) => rows.some((row) => (told[key] ?? Number.isFinite)(row[key])));
  const names = rows.map(({rule: text}) => node("th", {scope: "col"}, rule(text)));
  const head = node("tr", {}, node("th", {scope: "col", class: "words"}, `${count(rows[0].weights.length)} keys`), ...names);
  const lines = some.map((statistic) =>
    node("tr", {}, node("th", {scope: "row", class: "words"}, statistic.label),
      ...rows.map((row) => node("td", {"data-statistic": statistic.key, "data-rule": row.rule, "data-value": row[statistic.key]}, statisticText(statistic, row[statistic.key]))),
    ),
  );
  return node("table", {}, node("thead", {}, head), node("tbody", {}, ...lines));
}

// Every score and what became of it.
export function rowCells(scores, rows) {
  return [["score", ...rows.map(({rule}) => rule)], ...Array.from(scores, (score, j) => [score, ...rows.map(({weights}) => weights[j])])];
}

export function playgroundSummary(rows, {n, temperature}) {
  const part = ({rule: text, peak_weight, entropy}) => `${text} gives its heaviest key ${percent(peak_weight)} (entropy ${decimal(entropy, 2)} nats)`;
  return `At ${count(n)} keys and temperature ${temperature}, ${rows.map(part).join("; ")}.`;
}
