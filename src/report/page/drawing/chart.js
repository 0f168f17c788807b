// A chart as a drawing: curves with their intervals, axes, marks, zones, a reference, and names where there is room.
//
// A chart is a value: {across, up, curves, reference, marks, zones}. An axis is {label, symbol, kind: "log" or "linear",
// low, high, ticks: [[at, text], ...], format}; a curve {name, look: {paint, dash}, format, marker, points: [[at, value],
// or [at, value, low, high], ...], unlisted}; the reference {name, points, rising}; a mark {at, name}.

import {cutTo, drawTitle, drawing, hue, textWidth} from "../frame/svg.js";

const kWideEnoughForNames = 640;
const kLeastTickGap = 32; // pixels between the middles of two labels
const kLongestName = 190; // pixels

// {svg, at: where a number is on an axis, box: where the axes are}; title and subtitle: of a picture that is taken away.
export function chartDrawing(chart, width, {title, subtitle} = {}) {
  const listed = chart.curves.filter((curve) => !curve.unlisted);
  const named = width < kWideEnoughForNames ? [] : chart.curves.filter((curve) => endOf(curve, chart) !== null);
  const legend = legendPlaces(listed.filter((curve) => !named.includes(curve)), width);
  const high = title ? 380 : width < 480 ? 210 : 300;
  const top = title ? (subtitle ? 66 : 46) : 14;
  const box = {
    left: 38 + Math.max(0, ...chart.up.ticks.map(([, text]) => textWidth(text))),
    right: width - (named.length ? 18 + Math.min(kLongestName, Math.max(...named.map(({name}) => textWidth(name)))) : 14),
    top,
    bottom: top + high,
  };
  const {svg, pen} = drawing(width, box.bottom + 50 + legend.height);
  const at = {...placing(chart, box)};
  drawTitle(pen, width, title, subtitle);
  drawAxes(pen, chart, box, at);
  for (const zone of chart.zones ?? []) drawZone(pen, zone, at);
  for (const curve of chart.curves) drawBand(pen, curve, at);
  for (const mark of chart.marks ?? []) drawMark(pen, mark, box, at);
  if (chart.reference) drawReference(pen, chart.reference, at);
  for (const curve of chart.curves) drawCurve(pen, curve, at);
  drawNames(pen, named.map((curve) => ({curve, y: at.y(endOf(curve, chart))})), box);
  for (const {entry, x, y} of legend.places) drawLegendEntry(pen, entry, x, box.bottom + 58 + y);
  return {svg, at, box};
}

// Every place across at which a curve has a point, from the first to the last.
export function placesAcross({curves}) {
  return [...new Set(curves.flatMap(({points}) => points.map(([at]) => at)))].sort((a, b) => a - b);
}

// The share of an axis at which a number is. An axis of one value has it in the middle.
export function shareOn({kind, low, high}) {
  if (low === high) return () => 0.5;
  return kind === "log" ? (v) => Math.log(v / low) / Math.log(high / low) : (v) => (v - low) / (high - low);
}

// Where a number is; a logarithmic axis has no place for one that is not above 0.
function placing({across, up}, {left, right, top, bottom}) {
  const [along, above] = [shareOn(across), shareOn(up)];
  return {
    x: (v) => left + along(v) * (right - left),
    y: (v) => bottom - Math.min(1, Math.max(0, above(v))) * (bottom - top),
    has: (v) => typeof v === "number" && (up.kind !== "log" || v > 0),
  };
}

function endOf({points}, chart) {
  const last = placesAcross(chart).at(-1);
  const end = points.find(([at]) => at === last)?.[1];
  return typeof end === "number" && (chart.up.kind !== "log" || end > 0) ? end : null;
}

function drawAxes(pen, {across, up}, box, at) {
  const [stroke, quiet] = [hue("line"), hue("quiet")];
  for (const [value, text] of up.ticks) {
    pen.line([[box.left, at.y(value)], [box.right, at.y(value)]], {stroke});
    pen.text(box.left - 8, at.y(value), text, {fill: quiet, anchor: "end"});
  }
  drawAcross(pen, across, at.x, box);
  pen.text(14, (box.top + box.bottom) / 2, up.label, {fill: quiet, anchor: "middle", turned: true});
}

// The axis across: a line at every tick, and the texts that have room.
export function drawAcross(pen, {label, ticks}, at, {left, right, top, bottom}) {
  const quiet = {fill: hue("quiet"), anchor: "middle"};
  let next = Infinity;
  for (const [value, text] of [...ticks].reverse()) {
    const x = at(value);
    if (x < left - 1 || x > right + 1) continue;
    pen.line([[x, top], [x, bottom]], {stroke: hue("line")});
    if (next - x < Math.max(kLeastTickGap, textWidth(text) + 6)) continue;
    next = x;
    pen.text(x, bottom + 16, text, quiet);
  }
  pen.text((left + right) / 2, bottom + 38, label, quiet);
}

function drawZone(pen, {name, from, to, low, high}, at) {
  const [x, y] = [at.x(from), at.y(high)];
  pen.area([[x, y], [at.x(to), y], [at.x(to), at.y(low)], [x, at.y(low)]], {fill: hue("tint")});
  pen.text(x + 6, y + 12, name, {fill: hue("quiet")});
}

function drawBand(pen, {points, look}, at) {
  const known = points.filter(([, value, low, high]) => [value, low, high].every(at.has));
  if (known.length < 2) return;
  const upper = known.map(([n, , , high]) => [at.x(n), at.y(high)]);
  const lower = known.map(([n, , low]) => [at.x(n), at.y(low)]);
  pen.area([...upper, ...lower.reverse()], {fill: hue(look.paint), opacity: 0.16});
}

function drawCurve(pen, curve, at) {
  const places = curve.points.filter(([, value]) => at.has(value)).map(([n, value]) => [at.x(n), at.y(value)]);
  if (places.length > 1) pen.line(places, {stroke: hue(curve.look.paint), width: 2.25, dash: curve.look.dash});
  for (const [x, y] of places) drawMarker(pen, curve, x, y);
}

function drawMarker(pen, {look, marker = "dot"}, x, y) {
  const stroke = hue(look.paint);
  if (marker === "none") return;
  pen.dot(x, y, marker === "large_dot" ? 4.5 : 3, {fill: marker === "ring" ? hue("card") : stroke, stroke, width: 1.5});
}

// A vertical line with its name at its top, on the side where there is room.
function drawMark(pen, {at: n, name}, box, at) {
  const x = at.x(n);
  if (x < box.left || x > box.right) return;
  const before = x > (box.left + box.right) / 2;
  pen.line([[x, box.top], [x, box.bottom]], {stroke: hue("quiet"), dash: [3, 3]});
  pen.text(x + (before ? -5 : 5), box.top + 10, name, {fill: hue("quiet"), anchor: before ? "end" : "start", halo: hue("card")});
}

// A thin dotted curve to judge by. Its name stands above it, left of a rising one.
function drawReference(pen, {name, points, rising}, at) {
  const known = points.filter(([, value]) => at.has(value));
  if (!known.length) return;
  pen.line(known.map(([n, value]) => [at.x(n), at.y(value)]), {stroke: hue("quiet"), dash: [2, 3]});
  const [n, value] = known[rising ? Math.min(known.length - 1, Math.floor(0.7 * known.length)) : 0];
  pen.text(at.x(n) + (rising ? -8 : 4), at.y(value) - 10, name, {fill: hue("quiet"), anchor: rising ? "end" : "start", halo: hue("card")});
}

function drawNames(pen, ends, box) {
  ends.sort((a, b) => b.y - a.y);
  const heights = apart(ends.map(({y}) => y), 15, box.top - 7.5, box.bottom - 7.5);
  for (const [i, {curve}] of ends.entries())
    pen.text(box.right + 8, heights[i], cutTo(curve.name, kLongestName), {fill: hue(curve.look.paint)});
}

// Heights for names that want to stand at these, from the lowest up: pushed up where they meet, and down again from the
// top where they would leave the picture.
function apart(wanted, step, top, bottom) {
  let limit = bottom + step;
  const placed = wanted.map((at) => (limit = Math.min(limit - step, at)));
  limit = top - step;
  for (let i = placed.length - 1; i >= 0; --i) placed[i] = limit = Math.max(limit + step, placed[i]);
  return placed;
}

// Where samples and names stand, line by line: {places: [{entry, x, y}, ...], height}.
export function legendPlaces(entries, width) {
  const places = [];
  let [x, y] = [16, 0];
  for (const entry of entries) {
    const wide = 40 + Math.min(width - 64, textWidth(entry.name)) + 22;
    if (x > 16 && x + wide > width) [x, y] = [16, y + 22];
    places.push({entry, x, y});
    x += wide;
  }
  return {places, height: entries.length ? y + 26 : 0};
}

function drawLegendEntry(pen, curve, x, y) {
  pen.line([[x, y], [x + 32, y]], {stroke: hue(curve.look.paint), width: 2.25, dash: curve.look.dash});
  drawMarker(pen, curve, x + 16, y);
  pen.text(x + 40, y, cutTo(curve.name, 300), {fill: hue("ink")});
}
