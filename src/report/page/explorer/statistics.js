// What the grid can be coloured by, and how a statistic of a head is written.

import {count, decimal} from "../frame/words.js";

export const kTokens = {label: "tokens", symbol: "n", format: count};
export const threeDigits = (value) => decimal(value, 3);
export const oneDigit = (value) => decimal(value, 1);

// Weights by their square root, as in the heat maps: most of them are small.
const kWeightScale = () => ({low: "0", high: "1, by its square root", share: Math.sqrt});

function scaleTo(most, format) {
  return {low: "0", high: format(most), share: (value) => value / most};
}

export function scaleBetween(values, format) {
  const least = Math.min(...values);
  const most = Math.max(...values);
  return {low: format(least), high: format(most), share: (value) => (value - least) / (most - least || 1)};
}

function measured(attention, field) {
  return attention.heads.flatMap((head) => head[field].median).filter((value) => value !== null);
}

// A statistic that differs from length to length: the same colours at every length, so that they compare.
function byLength(name, field, format, bright, scale) {
  return {
    name,
    bright,
    value: (head, i) => head[field].median[i],
    write: (head, i) => withInterval(head[field], i, format),
    scale: scale ?? ((attention) => scaleTo(Math.max(...measured(attention, field), 1e-9), format)),
    isIn: ({heads}) => field in heads[0],
    byLength: true,
  };
}

export const kHeadStatistics = [
  byLength("peak outside", "peak_outside", threeDigits, "Bright: the head puts its weight on one key. Dark: it is blunt.", kWeightScale),
  byLength("entropy, nats", "entropy", threeDigits, "Bright: the weight is spread over many keys. Dark: it lies on few."),
  byLength("entropy outside, nats", "entropy_outside", threeDigits, "Bright: what is not on the first token is spread over many keys."),
  byLength("weight of the first token", "first", threeDigits, "Bright: a sink, which parks its weight on the first token.", kWeightScale),
  byLength("peak", "peak", threeDigits, "Bright: one key has most of the weight, be it the first token.", kWeightScale),
  byLength("spread of scores", "spread", oneDigit, "Bright: scores lie far apart, so a sharp row is possible."),
  byLength("support", "support", count, "Bright: many keys have a weight above 0; under softmax all do."),
  byLength("distance to the heaviest key outside", "distance_outside", count, "Bright: the head looks far back. Dark: at what is near."),
  {
    name: "slope of entropy against ln n",
    bright: "Bright: entropy grows with length as fast as it can; 1 is that of equal weights.",
    value: (head) => head.entropy_slope,
    write: (head) => decimal(head.entropy_slope, 2),
    scale: ({heads}) => {
      const slopes = heads.map((head) => head.entropy_slope).filter((slope) => slope !== null);
      return scaleBetween(slopes, (value) => decimal(value, 2));
    },
  },
  {
    name: "blunting length",
    bright: "Bright: sharp up to great lengths. Dark: blunt early.",
    value: (head) => head.blunting.length,
    write: (head) => bluntingText(head.blunting),
    // Eight times the greatest length is as far as a forecast is worth telling apart.
    scale: ({lengths}) => {
      const [least, most] = [lengths[0], 8 * lengths.at(-1)];
      return {
        low: count(least),
        high: `${count(most)} and more; blank: none foreseen`,
        share: (value) => Math.log(value / least) / Math.log(most / least),
      };
    },
  },
];

export function withInterval(field, i, format) {
  const value = format(field.median[i]);
  const [low, high] = [field.low?.[i] ?? null, field.high?.[i] ?? null];
  return low === null ? value : `${value} (${format(low)}–${format(high)})`;
}

export function bluntingText({how, length}) {
  if (length === null) return how;
  if (how === "from the start") return "<" + count(length);
  return (how === "forecast" ? "~" : "") + count(length);
}

// Blunt heads first, the bluntest in front; sinks, which do not try to pick, behind.
export function worstFirst(heads) {
  const peak = (head) => head.peak_outside.median.at(-1) ?? 2;
  return [...heads].sort((a, b) => (a.kind === "sink") - (b.kind === "sink") || peak(a) - peak(b));
}

export function trainedMark(attention) {
  return {at: attention.trained_context, name: "trained length"};
}
