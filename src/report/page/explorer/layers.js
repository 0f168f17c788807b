// Statistics of heads, as the explorer of a view has them (src/report/view/view.h): {id, name, format, values: [head][length] or [head][0],
// low, high, texts, meaning, scale, least, most, ramp}.

import {headName} from "../drawing/grid.js";
import {diverging, ramp} from "../drawing/ramp.js";
import {formatted} from "../frame/formats.js";
import {kNone} from "../frame/words.js";

export function varies({values}, lengths) {
  return values[0]?.length === lengths.length;
}

function at(lists, head, i) {
  const line = lists?.[head.index];
  return line?.[Math.max(0, Math.min(i, line.length - 1))] ?? null;
}

export function valueAt(layer, head, i) {
  return at(layer.values, head, i);
}

// With its interval, if it has one.
export function textAt(layer, head, i) {
  if (layer.texts) return layer.texts[head.index];
  const [value, low, high] = [layer.values, layer.low, layer.high].map((lists) => at(lists, head, i));
  const write = (number) => formatted(layer.format, number);
  return low === null ? write(value) : `${write(value)} (${write(low)}–${write(high)})`;
}

const kShares = {
  root: () => Math.sqrt,
  linear: ({least, most}) => (value) => (value - least) / (most - least || 1),
  log: ({least, most}) => (value) => Math.log(value / least) / (Math.log(most / least) || 1),
};

// {cell(value), legend(share)}: colours of cells, and of the ramp from one end to the other.
export function coloursOf(layer) {
  if (layer.scale === "diverging") return {cell: (value) => diverging(value / layer.most), legend: (share) => diverging(2 * share - 1)};
  const share = kShares[layer.scale](layer);
  return {cell: (value) => ramp(share(value)), legend: ramp};
}

// A sentence of the view with what stands in braces filled in: layer, head, kind, or the id of a statistic at a length.
export function filledWords(words, {layers}, head, i) {
  const known = {layer: head.layer, head: head.head, kind: head.kind, name: headName(head)};
  return words.replace(/\{(\w+)\}/g, (_, id) => known[id] ?? (layers.has(id) ? textAt(layers.get(id), head, i) : kNone));
}

// A chart of the view with the points of one head.
export function filledChart(chart, {layers, lengths}, head) {
  const points = ({values, low, high}) =>
    lengths.map((n, i) => [n, ...[values, low, high].map((lists) => at(lists, head, i))]).filter(([, value]) => value !== null);
  const curves = chart.curves.filter(({layer}) => layers.has(layer));
  return {...chart, subtitle: `Head ${headName(head)}`, curves: curves.map((curve) => ({...curve, points: points(layers.get(curve.layer))}))};
}
