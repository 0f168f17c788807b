// Several runs of max retrieval: one training and normalizer, a curve for each run.

import {liveChart} from "../drawing/live_chart.js";
import {sortable} from "../drawing/sortable.js";
import {scrolling} from "../export/download.js";
import {choice, node, section} from "../frame/dom.js";
import {count, decimal, distinct, family, interval, kNone, percent} from "../frame/words.js";
import {curve} from "../retrieval/curves.js";
import {chance, readRetrieval} from "../retrieval/results.js";
import {commonTo, lessBaseline, signedBy} from "./comparison.js";

export function compareRetrievals(compared) {
  for (const {data} of compared) readRetrieval(data);
  const runs = compared.filter(({data}) => data.rows.length);
  if (runs.length < 2) return undefined;
  const arms = distinct(runs.flatMap(({data}) => data.armNames));
  const normalizers = distinct(runs.flatMap(({data}) => data.normalizers));
  const state = {
    arm: arms.find((arm) => runs.every(({data}) => data.armNames.includes(arm))) ?? null,
    normalizer:
      normalizers.find((name) => family(name) === "softmax" && runs.every(({data}) => data.normalizers.includes(name))) ?? normalizers[0],
  };
  const sizes = distinct(runs.flatMap(({data}) => data.sizes)).sort((a, b) => a - b);
  const redraws = [];
  const changed = () => redraws.forEach((redraw) => redraw());
  // Runs that share no training have each their own first one.
  const armOf = (data) => (state.arm === null ? data.armNames[0] : state.arm);
  const curves = (field, format) =>
    runs
      .map(({data, short, look}) => ({...curve(data, armOf(data), state.normalizer, field, format), name: short, look}))
      .filter(({points}) => points.size);

  const accuracy = section(
    "compared-accuracy",
    "Accuracy of the runs",
    "The same training and normalizer in each run. Bands are 95\u00a0% intervals.",
  );
  accuracy.append(comparedControls(state, {arms, normalizers}, changed));
  const about = () => `${state.arm === null ? "the first training of each" : state.arm + " training"}, ${state.normalizer}`;
  const common = {sizes, legend: true};
  redraws.push(
    liveChart(accuracy, () => ({
      ...common,
      label: "accuracy",
      about: about(),
      percent: true,
      top: 1.02,
      reference: {name: "chance", value: () => chance(runs[0].data)},
      curves: curves("accuracy", percent),
    })),
  );
  const entropy = section("compared-entropy", "Entropy of the runs", "Training and normalizer as chosen above; in nats.");
  redraws.push(
    liveChart(entropy, () => ({
      ...common,
      label: "entropy, nats",
      about: about(),
      top: 1.05 * Math.log(sizes.at(-1)),
      reference: {name: "ln n: equal weights", value: (n) => Math.log(n), rising: true},
      curves: curves("entropy", (v) => decimal(v)),
    })),
  );
  return showComparedRows(runs, {arm: state.arm, normalizer: state.normalizer});
}

function comparedControls(state, {arms, normalizers}, changed) {
  const first = "first of each";
  const controls = node("div", {class: "controls"});
  const trainings = state.arm === null ? [first, ...arms] : arms;
  controls.append(
    choice("Training", trainings, state.arm ?? first, (arm) => {
      state.arm = arm === first ? null : arm;
      changed();
    }),
    choice("Normalizer", normalizers, state.normalizer, (name) => {
      state.normalizer = name;
      changed();
    }),
  );
  return controls;
}

// At the largest size that all have: every pair of training and normalizer that at least two runs have.
function showComparedRows(runs, {arm, normalizer}) {
  const n = commonTo(runs.map(({data}) => data.sizes)).at(-1);
  if (n === undefined) return undefined;
  const pairs = new Map();
  for (const [i, {data}] of runs.entries())
    for (const row of data.rows.filter((one) => one.n === n)) {
      const key = JSON.stringify([row.arm, row.normalizer]);
      if (!pairs.has(key)) pairs.set(key, {arm: row.arm, normalizer: row.normalizer, of: []});
      pairs.get(key).of[i] = row;
    }
  const lines = [...pairs.values()].filter(({of}) => of.filter(Boolean).length > 1);
  if (!lines.length) return undefined;
  const share = (line, i) => line.of[i]?.accuracy ?? null;
  const columns = [
    ["training", ({arm}) => arm, "words"],
    ["normalizer", ({normalizer}) => normalizer, "words"],
    ...runs.map(({short}, i) => [
      short,
      (line) => share(line, i),
      (value, line) => (line.of[i] ? `${percent(value)} (${interval(line.of[i])})` : kNone),
      {csv: [[short, (line) => share(line, i)], [`${short} low`, (l) => l.of[i]?.accuracy_low ?? null], [`${short} high`, (l) => l.of[i]?.accuracy_high ?? null]]},
    ]),
    ...runs.slice(1).map(({number}, i) => [
      `${number} less ${runs[0].number}, points`,
      (line) => lessBaseline(share(line, i + 1), share(line, 0)),
      (value) => signedBy(value, (v) => (100 * v).toFixed(1)),
    ]),
  ];
  section(
    "compared-rows",
    `All normalizers at n = ${count(n)}`,
    "Accuracy at the largest size that every run has, with 95\u00a0% intervals in per cent.",
  ).append(scrolling("Accuracy of the runs", sortable("compared-table", columns, lines), "tall"));
  const told = pairs.get(JSON.stringify([arm, normalizer]));
  if (!told) return undefined;
  const each = runs.flatMap(({short}, i) => (told.of[i] ? [`${percent(told.of[i].accuracy)} (${short})`] : []));
  return `Under ${arm} training, ${normalizer} at ${count(n)} items is right in: ${each.join("; ")}.`;
}
