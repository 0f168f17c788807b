// Several audits: blunt heads and medians over heads by length, a curve for each audit.

import {liveChart} from "../drawing/live_chart.js";
import {headsOf} from "../explorer/sketch.js";
import {kTokens, threeDigits, trainedMark} from "../explorer/statistics.js";
import {scrolling} from "../export/download.js";
import {choice, node, section} from "../frame/dom.js";
import {count, distinct, percent} from "../frame/words.js";
import {commonTo, resultTable} from "./comparison.js";
import {showComparedHeads} from "./heads.js";

export const kMedians = [
  ["peak outside", "peak_outside"],
  ["entropy, nats", "entropy"],
  ["entropy outside, nats", "entropy_outside"],
  ["peak", "peak"],
  ["weight of the first token", "first"],
  ["spread of scores", "spread"],
];

export function compareAudits(compared) {
  const audits = compared.filter(({data}) => data.attention?.lengths.length);
  if (audits.length < 2) return;
  for (const {data} of audits) data.attention.heads = headsOf(data.attention);
  const sentence = showComparedBlunt(audits);
  showComparedMedians(audits);
  showComparedHeads(audits);
  return sentence;
}

function auditCurve({data, short, look}, value, format) {
  const {lengths} = data.attention;
  return {name: short, look, format, points: new Map(lengths.map((n, i) => [n, {value: value(data.attention, i)}]))};
}

function auditChart(audits) {
  const trained = distinct(audits.map(({data}) => data.attention.trained_context));
  return {
    sizes: distinct(audits.flatMap(({data}) => data.attention.lengths)).sort((a, b) => a - b),
    across: kTokens,
    legend: true,
    marks: trained.length === 1 ? [trainedMark(audits[0].data.attention)] : [],
  };
}

function showComparedBlunt(audits) {
  const blunt = ({blunt_heads: heads, heads: all}, i) => heads[i] / all.length;
  const place = section(
    "compared-blunt",
    "Blunt heads",
    "The share of heads whose median peak outside the first token is below the threshold of a blunt head.",
  );
  liveChart(place, () => ({
    ...auditChart(audits),
    label: "heads that are blunt",
    percent: true,
    top: 1.02,
    curves: audits.map((one) => auditCurve(one, blunt, percent)),
  }));
  const n = commonTo(audits.map(({data}) => data.attention.lengths)).at(-1);
  if (n === undefined) return undefined;
  const at = ({data}) => data.attention.lengths.indexOf(n);
  const bluntAt = (one) => one.data.attention.blunt_heads[at(one)];
  const bluntWords = (v, one) => `${count(v)} of ${count(one.data.attention.heads.length)}`;
  const median = (field) => (one) => one.data.attention.median_over_heads[field]?.[at(one)] ?? null;
  const table = resultTable(
    [
      ["blunt heads", bluntAt, bluntWords],
      ...kMedians.map(([title, field]) => [title, median(field), threeDigits]),
    ],
    audits,
  );
  table.id = "compared-audits";
  table.prepend(node("caption", {}, `At ${count(n)} tokens, medians over heads`));
  place.append(scrolling("Audits side by side", table));
  return `Blunt heads at ${count(n)} tokens: ${audits.map((one) => `${bluntWords(bluntAt(one), one)} in ${one.short}`).join("; ")}.`;
}

function showComparedMedians(audits) {
  const state = {statistic: kMedians[0]};
  const place = section("compared-medians", "The median head", "Medians over heads of the medians over rows.");
  let draw = null;
  place.append(
    node(
      "div",
      {class: "controls"},
      choice("Statistic", kMedians.map(([title]) => title), state.statistic[0], (title) => {
        state.statistic = kMedians.find(([name]) => name === title);
        draw();
      }),
    ),
  );
  const value = ({median_over_heads: median}, i) => median[state.statistic[1]]?.[i] ?? null;
  draw = liveChart(place, () => ({
    ...auditChart(audits),
    label: state.statistic[0],
    curves: audits.map((one) => auditCurve(one, value, threeDigits)),
  }));
}
