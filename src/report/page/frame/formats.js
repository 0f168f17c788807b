// Numbers as text, by the name of a format: the same as src/report/view/format.h, held equal by tests/support/formats.json.

import {count, decimal, kNone, pValue, percent, shortCount, sizeFromLog10} from "./words.js";

// 1.2e-5 as C++ writes it too.
function exponential(value) {
  return value.toExponential(1).replace("e+", "e");
}

function plain(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e-4 && size < 1e7 ? String(Number(value.toPrecision(6))) : exponential(value);
}

function signed(value, digits) {
  return (value > 0 ? "+" : value < 0 ? "−" : "±") + Math.abs(value).toFixed(digits);
}

function weight(value) {
  if (value === 0 || value === 1) return String(value);
  if (!(value >= 0.001)) return exponential(value);
  return 1 - value < 5e-4 ? "0.999…" : value.toFixed(3);
}

function bytes(value) {
  const step = value < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(value) / 3));
  return step ? `${(value / 1000 ** step).toFixed(1)} ${["kB", "MB", "GB", "TB"][step - 1]}` : `${Math.round(value)} B`;
}

const kFormats = {
  count,
  percent,
  plain,
  weight,
  bytes,
  short: (value) => (shortCount(value) === String(value) ? plain(value) : shortCount(value)),
  points: (value) => signed(100 * value, 1),
  keys: (n) => (n <= 1e15 ? count(n) : n.toExponential(1)),
  power: sizeFromLog10,
  spread: (value) => (value < 100 ? value.toFixed(1) : count(value)),
  p: pValue,
  text: String,
};

// A format may be a function too: that of a chart that the page makes itself.
export function formatted(format, value) {
  if (value === null || value === undefined) return kNone;
  if (typeof format === "function") return format(value);
  if (typeof value !== "number") return String(value);
  const [, name, digits] = /^(\D+)(\d?)$/.exec(format);
  if (name === "fixed") return decimal(value, Number(digits));
  if (name === "signed") return signed(value, Number(digits));
  return kFormats[name](value);
}

