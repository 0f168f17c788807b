// Charts that the page makes itself, of the head that is chosen or the row that is played with: a chart's value (chart.js) out of
// {curves, sizes, label, top, percent, reference, marks}, and where they differ from items n {across: {label, symbol, ticks, tick, format}};
// {bottom} makes its values logarithmic, from there to top; {least} is where other values begin, 0 unless told; {about} is the subtitle.
// A curve is {name, look: {paint, dash}, points, format, hollow, bare, unlisted}, its points a Map from size to {value, low, high}.

import {count, kNarrowSpace, powerOfTen, shortCount} from "../frame/words.js";

const kItems = {label: "items n", symbol: "n", format: count};

export function described({curves, sizes, label, reference, marks, about, across = kItems, ...values}) {
  const edge = Math.max(1.12, (sizes.at(-1) / sizes[0]) ** 0.015);
  const ticks = (across.ticks ?? sizes).map((n) => [n, (across.tick ?? shortCount)(n)]);
  const ends = {low: sizes[0] / edge, high: sizes.at(-1) * edge};
  return {
    subtitle: about,
    across: {label: across.label, symbol: across.symbol, format: across.format, kind: "log", ...ends, ticks},
    up: {label, ...axisOfValues(curves, values)},
    curves: curves.map((curve) => curveOfMap(curve, sizes)),
    reference: reference && {...reference, points: sizes.map((n) => [n, reference.value(n)])},
    marks,
  };
}

function curveOfMap({name, look, points, format, hollow, bare, unlisted, dotSize}, sizes) {
  const known = sizes.filter((n) => points.has(n)).map((n) => [n, points.get(n)]);
  return {
    name,
    format,
    unlisted,
    look,
    marker: bare ? "none" : hollow ? "ring" : dotSize > 6 ? "large_dot" : "dot",
    points: known.map(([n, {value, low, high}]) => (low === undefined ? [n, value] : [n, value, low, high])),
  };
}

function axisOfValues(curves, {percent: inPercent, bottom, least, top}) {
  const highest = () => Math.max(1e-3, ...curves.flatMap((c) => [...c.points.values()].map((p) => p.value ?? 0)));
  const [low, high] = [bottom ?? least ?? 0, top ?? 1.05 * highest()];
  if (bottom !== undefined) return {kind: "log", low, high, ticks: decadesBetween(low, high).map((value) => [value, powerOfTen(value)])};
  const share = (value) => [value, `${Math.round(100 * value)}${kNarrowSpace}%`];
  return {kind: "linear", low, high, ticks: inPercent ? [0, 0.2, 0.4, 0.6, 0.8, 1].map(share) : evenTicks(low, high)};
}

function evenTicks(least, most) {
  const rough = (most - least) / 6;
  const decade = 10 ** Math.floor(Math.log10(rough));
  const step = decade * [1, 2, 2.5, 5, 10].find((times) => times * decade >= rough);
  const digits = Math.max(0, 2 - Math.floor(Math.log10(step)) - 1);
  const ticks = [];
  for (let i = Math.ceil(least / step); i * step <= most * (1 + 1e-9); ++i) ticks.push([i * step, String(Number((i * step).toFixed(digits)))]);
  return ticks;
}

function decadesBetween(bottom, top) {
  const decades = [];
  for (let e = Math.ceil(Math.log10(bottom) - 1e-9); e <= Math.log10(top) + 1e-9; ++e) decades.push(10 ** e);
  return decades;
}

// Powers of ten around every value above 0 of the curves.
export function decadesAround(curves) {
  const values = curves.flatMap((c) => [...c.points.values()].map((p) => p.value)).filter((value) => value > 0);
  const bottom = 10 ** Math.floor(Math.log10(Math.min(...values, 1e300)));
  if (!values.length) return {bottom: 0.1, top: 1};
  return {bottom, top: Math.max(10 * bottom, 10 ** Math.ceil(Math.log10(Math.max(...values))))};
}
