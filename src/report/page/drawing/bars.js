// Horizontal bars of a view, each of one piece or of several end to end, with numbers beside them.

import {figureTools} from "../export/download.js";
import {node, shown} from "../frame/dom.js";
import {cutTo, drawTitle, drawing, fitted, hue, textWidth} from "../frame/svg.js";
import {drawAcross, legendPlaces, shareOn} from "./chart.js";

const kLine = 26; // pixels from bar to bar
const kPictureWidth = 860;

export function showBars(place, bars) {
  const holder = node("div", {class: "chart", role: "img", "aria-label": shown(bars.described || bars.title)});
  place.append(holder);
  fitted(holder, (width) => barsDrawing(bars, width));
  figureTools(place, {
    name: bars.id,
    picture: () => barsDrawing(bars, kPictureWidth, {title: bars.title, subtitle: bars.subtitle}),
    csv: () => barRows(bars),
  });
}

function barsDrawing({bars, legend, across, beside, mark}, width, {title, subtitle} = {}) {
  const narrow = width < 480;
  const room = narrow ? width - 24 : Math.min(220, 10 + Math.max(0, ...bars.map(({name}) => textWidth(name))));
  const columns = beside.map((name, i) => 14 + Math.max(textWidth(name), ...bars.map((bar) => textWidth(bar.beside[i] ?? ""))));
  const left = narrow ? 12 : 16 + room;
  const right = width - 12 - columns.reduce((sum, wide) => sum + wide, 0);
  const {places, height} = legendPlaces(legend, width);
  const head = (title ? (subtitle ? 66 : 46) : 8) + height;
  const line = narrow ? kLine + 16 : kLine;
  const {svg, pen} = drawing(width, head + bars.length * line + 64);
  drawTitle(pen, width, title, subtitle);
  for (const {entry: {name, paint}, x, y} of places) {
    pen.box(x, head - height + y, 18, 12, {fill: hue(paint)});
    pen.text(x + 24, head - height + y + 6, name, {fill: hue("ink")});
  }
  const top = head + 22;
  const at = placing(across, left, right);
  drawAcross(pen, across, at, {left, right, top: top - 4, bottom: top + bars.length * line});
  let x = right;
  for (const [i, wide] of columns.entries()) pen.text((x += wide), top - 14, beside[i], {fill: hue("quiet"), anchor: "end"});
  for (const [i, bar] of bars.entries()) drawBar(pen, bar, {y: top + i * line, left, right, room, columns, narrow, at, across});
  if (mark !== undefined && mark !== null) pen.line([[at(mark), top - 4], [at(mark), top + bars.length * line]], {stroke: hue("ink"), dash: [2, 3]});
  return svg;
}

function placing(across, left, right) {
  const share = shareOn(across);
  return (value) => left + Math.min(1, Math.max(0, share(value))) * (right - left);
}

function drawBar(pen, {name, pieces, beside, low, high, bold}, {y, left, right, room, columns, narrow, at, across}) {
  const ink = {fill: hue("ink"), bold};
  const top = narrow ? y + 16 : y;
  if (narrow) pen.text(left, y + 7, cutTo(name, room, 12, bold), ink);
  else pen.text(left - 10, top + 9, cutTo(name, room, 12, bold), {...ink, anchor: "end"});
  let from = 0;
  for (const [length, paint] of pieces) {
    const [start, end] = across.kind === "log" ? [left, at(length)] : [at(from), at(from + length)];
    pen.box(Math.min(start, end), top, Math.abs(end - start), 18, {fill: hue(paint)});
    from += length;
  }
  if (typeof low === "number" && typeof high === "number") pen.line([[at(low), top + 9], [at(high), top + 9]], {stroke: hue("ink"), width: 1.5});
  let x = right;
  for (const [i, wide] of columns.entries()) pen.text((x += wide), top + 9, beside[i] ?? "", {...ink, anchor: "end"});
}

function barRows({bars, legend, across, beside}) {
  const pieces = Math.max(0, ...bars.map((bar) => bar.pieces.length));
  const names = Array.from({length: pieces}, (_, i) => legend[i]?.name ?? across.label);
  return [
    ["", ...names, ...beside],
    ...bars.map((bar) => [bar.name, ...names.map((_, i) => bar.pieces[i]?.[0] ?? null), ...bar.beside]),
  ];
}
