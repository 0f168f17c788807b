// Numbers as people read them. A number that was not measured is a dash.

export const kNone = "–";
export const kNarrowSpace = "\u202f";

const kGrouped = new Intl.NumberFormat("en-US");

export function count(n) {
  return n === null ? kNone : kGrouped.format(Math.round(n));
}

// 16, 1K, 128K, 1M: for axes, where sizes are powers of two.
export function shortCount(n) {
  if (n >= 1 << 20 && n % (1 << 20) === 0) return n / (1 << 20) + "M";
  if (n >= 1 << 10 && n % (1 << 10) === 0) return n / (1 << 10) + "K";
  return String(n);
}

// One decimal; more where it would round to a perfection that was not measured.
export function percent(share) {
  if (share === null) return kNone;
  if (share === 0 || share === 1) return 100 * share + kNarrowSpace + "%";
  for (const digits of [1, 2]) {
    const text = (100 * share).toFixed(digits);
    if (Number(text) > 0 && Number(text) < 100) return text + kNarrowSpace + "%";
  }
  return share < 0.5 ? "<0.01" + kNarrowSpace + "%" : ">99.99" + kNarrowSpace + "%";
}

export function decimal(value, digits = 3) {
  if (value === null) return kNone;
  if (value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits) return value.toExponential(1);
  return Math.abs(value) >= 1e5 ? count(value) : value.toFixed(digits);
}

export function powerOfTen(value) {
  const exponent = Math.round(Math.log10(value));
  return exponent >= -3 && exponent <= 4 ? String(10 ** exponent) : "1e" + exponent;
}

// A size given as its logarithm: of a sharp head it has thousands of digits.
export function sizeFromLog10(log10) {
  if (log10 === null) return kNone;
  if (log10 < 9) return count(Math.ceil(10 ** log10));
  return "~10" + String(Math.round(log10)).replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
}

export function pValue(p) {
  if (p === null) return kNone;
  return p < 0.001 ? p.toExponential(1) : p.toFixed(3);
}

export function plural(n, word) {
  return `${count(n)} ${word}${n === 1 ? "" : "s"}`;
}

export function family(normalizer) {
  return normalizer.split(":")[0];
}
