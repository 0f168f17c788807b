// Rows of scores of any length: how a row of the results, a typed one or the needle is made longer or shorter.
//
// A row here is {name, n, quantiles}: n scores in ascending order of which all are known (quantiles.length === n), or some,
// evenly from the least to the largest. A typed row also has {typed}: its scores in the order they were typed.

import {shown} from "../frame/dom.js";
import {count} from "../frame/words.js";

export const kLeastRow = 2;
export const kLargestTyped = 4096;

// The scores of a row at length n. The largest is always among them; alone: it is one key however many the others become.
export function scoresAt(row, n, alone) {
  const known = row.quantiles.length === row.n;
  if (known && n === row.n) return Float64Array.from(row.typed ?? row.quantiles);
  const quantile = known ? stepped : interpolated;
  const top = row.quantiles.at(-1);
  const below = row.quantiles.filter((score) => score < top);
  const others = alone && below.length ? below : row.quantiles;
  const many = alone ? n - 1 : n;
  const scores = new Float64Array(n);
  for (let i = 0; i < many; ++i) scores[i] = quantile(others, (i + 0.5) / many);
  scores[n - 1] = top;
  return scores;
}

// Where every score is known each stands for an equal share, so that ties stay ties.
function stepped(sorted, share) {
  return sorted[Math.floor(share * sorted.length)];
}

function interpolated(sorted, share) {
  const at = share * (sorted.length - 1);
  const below = Math.min(Math.floor(at), sorted.length - 2);
  if (below < 0) return sorted[0];
  return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}

// One score of `gap` among n - 1 that are normal: their expected places, not a draw.
export function needleAt(gap, n) {
  const scores = new Float64Array(n);
  scores.set(normalQuantiles(n - 1));
  scores[n - 1] = gap;
  return scores;
}

const kNormalQuantiles = new Map();

// Quantiles of the normal at (i + 1/2) / n, ascending.
function normalQuantiles(n) {
  if (kNormalQuantiles.has(n)) return kNormalQuantiles.get(n);
  const scores = new Float64Array(n);
  let z = 0;
  for (let i = Math.floor(n / 2); i < n; ++i) {
    const above = (n - i - 0.5) / n;
    // Newton from the one before, in the logarithm: far out the tail falls like exp(-z^2 / 2).
    for (let step = 1, left = 20; Math.abs(step) > 1e-12 && left > 0; z += step, --left) {
      const tail = normalTail(z);
      step = (tail / normalDensity(z)) * Math.log(tail / above);
    }
    scores[i] = z;
    scores[n - 1 - i] = -z;
  }
  if (kNormalQuantiles.size > 24) kNormalQuantiles.clear();
  kNormalQuantiles.set(n, scores);
  return scores;
}

function normalDensity(z) {
  return Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI);
}

// The share above z >= 0: a series near the middle, a continued fraction far out.
function normalTail(z) {
  if (z > 2.5) {
    let fraction = z;
    for (let k = 60; k > 0; --k) fraction = z + k / fraction;
    return normalDensity(z) / fraction;
  }
  let sum = 0;
  for (let k = 1, term = z; term > 1e-17 * sum || k === 1; k += 2, term *= (z * z) / k) sum += term;
  return 0.5 - normalDensity(z) * sum;
}

// {row} of numbers with blanks or commas between them, or {problem}: one sentence.
export function typedRow(text) {
  const words = text.split(/[\s,;]+/).filter((word) => word);
  const scores = words.map((word) => (/^[-+−]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(word) ? Number(word.replace("−", "-")) : NaN));
  const wrong = scores.findIndex((score) => !Number.isFinite(score));
  if (wrong >= 0) return {problem: `“${shown(words[wrong].slice(0, 40))}” is not a finite number; the row shown is the last good one.`};
  if (scores.length < kLeastRow) return {problem: `A row has at least ${kLeastRow} scores; the row shown is the last good one.`};
  if (scores.length > kLargestTyped)
    return {problem: `These are ${count(scores.length)} scores, and a typed row may have ${count(kLargestTyped)}; the row shown is the last good one.`};
  return {row: {name: "typed", n: scores.length, quantiles: scores.slice().sort((a, b) => a - b), typed: scores}};
}
