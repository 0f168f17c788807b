// What the playground draws and says about its rows of weights.

import {decadesAround} from "../drawing/described.js";
import {looksOf} from "../drawing/looks.js";
import {node, rule} from "../frame/dom.js";
import {count, decimal, kNone, percent} from "../frame/words.js";
import {rulesShown, scoresOf} from "./state.js";

const kFaintest = 1e-12; // weights below are off the chart
const kEveryRank = 16; // ranks that are all drawn; beyond, so many that a line has no corners
const kRanksInOctave = 12;
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
  const looks = looksOf(rules);
  return rules.map((rule) => ({
    rule, name: curveName(rule, state), look: looks.get(rule), ...weighedRow(module, rule, scores, state.temperature),
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

export function weightsChart(rows) {
  const n = rows[0].weights.length;
  const sizes = drawnRanks(n);
  const curves = rows.map(({name, look, weights}) => {
    const sorted = weights.slice().sort();
    const points = sizes.map((rank) => [rank, {value: sorted[n - rank]}]).filter(([, {value}]) => value >= kFaintest);
    return {name, look, points: new Map(points), format: percent, bare: n > 64};
  });
  const decades = decadesAround(curves);
  const ticks = sizes.filter((rank) => Number.isInteger(Math.log2(rank)));
  return {
    curves, sizes, legend: true, label: "weight",
    bottom: Math.max(kFaintest, Math.min(decades.bottom, 0.1)), top: Math.max(1, decades.top),
    across: {label: "keys, heaviest first", symbol: "key", format: count, ticks},
  };
}

// `known`: a Map of Maps, rule to size to statistics, filled in the background.
export function lengthsChart(rows, known, {key, label, share, whole}, n) {
  const curves = rows.map(({rule, name, look}) => {
    const points = kCurveSizes.filter((size) => known.get(rule)?.has(size)).map((size) => [size, {value: known.get(rule).get(size)[key]}]);
    return {name, look, points: new Map(points.filter(([, {value}]) => Number.isFinite(value))), format: (value) => statisticText({share, whole}, value)};
  });
  return {
    curves, sizes: kCurveSizes, legend: true, label, percent: share, top: share ? 1 : undefined,
    across: {label: "keys n", symbol: "n", format: count},
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
