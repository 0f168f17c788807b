// Values as colours, for maps of many cells.

import {node} from "../frame/dom.js";
import {hue, textWidth} from "../frame/svg.js";

// Cividis (Nuñez, Anderton and Renslow 2018), which reads the same to colour-blind eyes; evenly spaced stops.
const kRamp = [
  [0, 34, 78],
  [18, 53, 112],
  [59, 73, 108],
  [87, 93, 109],
  [112, 113, 115],
  [138, 134, 120],
  [165, 156, 116],
  [195, 179, 105],
  [225, 204, 85],
  [254, 232, 56],
];

// share: from 0, dark, to 1, bright.
export function ramp(share) {
  const place = Math.min(1, Math.max(0, share)) * (kRamp.length - 1);
  const low = Math.min(kRamp.length - 2, Math.floor(place));
  const mix = kRamp[low].map((from, i) => Math.round(from + (kRamp[low + 1][i] - from) * (place - low)));
  return `rgb(${mix.join(" ")})`;
}

// Weights, in steps that no eye tells apart. The square root spends the colours where dispersed weights are: 1/16 of the weight is
// a quarter of the way.
export function heat(weight) {
  return weight === null ? "none" : ramp(Math.round(128 * Math.sqrt(Math.min(1, Math.max(0, weight)))) / 128);
}

// Differences, from -1 to 1: blue below, orange above, which colour-blind eyes tell apart; the background for none.
export function diverging(share) {
  const strength = Math.sqrt(Math.min(1, Math.abs(share)));
  return `color-mix(in srgb, var(--${share < 0 ? "below" : "above"}) ${(100 * strength).toFixed(1)}%, var(--tint))`;
}

// What the colours mean, from one end to the other; colour: of a share from 0 to 1.
export function colourLegend(low, high, colour = ramp) {
  const bar = node("span", {class: "ramp", "aria-hidden": "true"});
  const stops = Array.from({length: 21}, (_, i) => colour(i / 20));
  bar.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
  return node("div", {class: "scale"}, low, bar, high);
}

// The same in a picture that is taken away.
export function drawColourLegend(pen, y, low, high, colour = ramp) {
  const [left, long, steps] = [24 + textWidth(low), 160, 80];
  pen.text(16, y, low, {fill: hue("quiet")});
  for (let i = 0; i < steps; ++i) pen.box(left + (i * long) / steps, y - 6, long / steps + 0.3, 12, {fill: colour(i / (steps - 1))});
  pen.text(left + long + 8, y, high, {fill: hue("quiet")});
}
