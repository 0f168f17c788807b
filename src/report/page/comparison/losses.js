// Several runs of loss by position: a curve for each, and what they lose or gain against the first.

import {liveChart} from "../drawing/live_chart.js";
import {plainTable} from "../drawing/sortable.js";
import {scrolling} from "../export/download.js";
import {section} from "../frame/dom.js";
import {count, decimal, distinct} from "../frame/words.js";
import {lessBaseline, signedBy} from "./comparison.js";

const kPositions = {label: "tokens before, up to", symbol: "up to", format: count};

export function compareLosses(compared) {
  const runs = compared.filter(({data}) => data.buckets?.length);
  if (runs.length < 2) return undefined;
  const ends = distinct(runs.flatMap(({data}) => data.buckets.map(({to}) => to))).sort((a, b) => a - b);
  const [first, ...others] = runs;
  const bucketAt = ({data}, to) => data.buckets.find((bucket) => bucket.to === to);
  const curveBy = (one, point) => ({
    name: one.short,
    look: one.look,
    format: (v) => decimal(v, 3),
    points: new Map(ends.filter((to) => bucketAt(one, to)).map((to) => [to, point(bucketAt(one, to), to)])),
  });
  const chart = {sizes: ends, across: kPositions, legend: true};
  const place = section(
    "compared-losses",
    "Loss by position",
    "Nats a token, by how many tokens stood before. Bands are 95\u00a0% intervals.",
  );
  liveChart(place, () => {
    const curves = runs.map((one) => curveBy(one, ({loss, low, high}) => ({value: loss, low, high})));
    const values = curves.flatMap((c) => [...c.points.values()].flatMap((p) => [p.value, p.low ?? p.value, p.high ?? p.value]));
    return {...chart, label: "loss, nats per token", ...room(values), curves};
  });
  const change = (one, to) => lessBaseline(bucketAt(one, to)?.loss, bucketAt(first, to)?.loss);
  const below = section(
    "compared-changes",
    "Change of loss",
    `Each loss less that of ${first.short}: below 0 is better. The intervals of each run are in the chart above: they are of its own losses, not of the change.`,
  );
  liveChart(below, () => {
    const curves = others.map((one) => curveBy(one, (_, to) => ({value: change(one, to)})));
    const values = curves.flatMap((c) => [...c.points.values()].map(({value}) => value)).filter((v) => v !== null);
    return {...chart, label: "change of loss, nats", ...room([0, ...values]), reference: {name: "no change", value: () => 0}, curves};
  });
  below.append(scrolling("Losses of the runs", lossTable(runs, ends, bucketAt, change)));
  if (!runs.every(({data}) => data.all)) return undefined;
  return `Loss over all tokens, in nats: ${runs.map(({data, short}) => `${decimal(data.all.loss, 3)} (${short})`).join("; ")}.`;
}

// From a little below the least to a little above the largest.
function room(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const edge = 0.06 * (high - low || Math.abs(high) || 1);
  return {least: low - edge, top: high + edge};
}

function lossTable(runs, ends, bucketAt, change) {
  const whole = {name: "all", of: ({data}) => data.all?.loss ?? null};
  const lines = [
    ...ends.map((to) => ({to, name: positionsText(runs, to, bucketAt), of: (one) => bucketAt(one, to)?.loss ?? null})),
    ...(runs.every(({data}) => data.all) ? [whole] : []),
  ];
  const columns = [
    ["tokens before", ({to}) => to ?? null, (_, {name}) => name, {csv: [["tokens before", ({name}) => name]]}],
    ...runs.map((one) => [one.short, ({of}) => of(one), (v) => decimal(v, 4)]),
    ...runs.slice(1).map((one) => [
      `${one.number} less ${runs[0].number}`,
      ({to, of}) => (to === undefined ? lessBaseline(of(one), of(runs[0])) : change(one, to)),
      (v) => signedBy(v, (size) => decimal(size, 4)),
    ]),
  ];
  const table = plainTable(columns, lines);
  table.id = "compared-loss-table";
  return table;
}

function positionsText(runs, to, bucketAt) {
  const {from} = runs.map((one) => bucketAt(one, to)).find(Boolean);
  return `${count(from)}–${count(to)}`;
}
