// A chart in the page: drawn as wide as its place, read by pointing or by arrow keys, taken away as PNG, SVG and CSV.

import {figureTools, sectionTitle} from "../export/download.js";
import {node, rule, shown} from "../frame/dom.js";
import {formatted} from "../frame/formats.js";
import {fitted, hue, svgNode} from "../frame/svg.js";
import {plural} from "../frame/words.js";
import {chartDrawing, placesAcross} from "./chart.js";

const kPictureWidth = 860;

// Draws the chart (chart.js) that make() returns; its `title` and `subtitle` are those of a picture of it. Returns what draws it again.
export function liveChart(holder, make) {
  const place = node("div", {class: "chart", role: "img", tabindex: "0"});
  const readout = node("p", {class: "readout"});
  const foot = node("div", {class: "chart-foot"}, readout);
  holder.append(place, foot);
  let shownChart = null;
  let pointed = null; // which of the places across
  const point = (index) => {
    pointed = index;
    showPointed(shownChart, readout, index);
  };
  const draw = fitted(place, (width) => {
    const chart = make();
    shownChart = {chart, width, places: placesAcross(chart), ...chartDrawing(chart, width)};
    place.setAttribute("aria-label", spoken(shownChart));
    point(null);
    return shownChart.svg;
  });
  figureTools(foot, {
    name: make().up.label,
    picture: () => {
      const chart = make();
      return chartDrawing(chart, kPictureWidth, {title: chart.title || sectionTitle(holder), subtitle: chart.subtitle}).svg;
    },
    csv: () => curveRows(make()),
  });
  place.addEventListener("pointermove", ({clientX}) => {
    const {left, width: wide} = shownChart.svg.getBoundingClientRect();
    const x = ((clientX - left) * shownChart.width) / wide;
    const away = shownChart.places.map((n) => Math.abs(shownChart.at.x(n) - x));
    if (away.length) point(away.indexOf(Math.min(...away)));
  });
  place.addEventListener("pointerleave", () => point(null));
  place.addEventListener("keydown", (event) => {
    const move = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!move) return;
    event.preventDefault();
    const {length} = shownChart.places;
    point(Math.min(length - 1, Math.max(0, (pointed ?? (move > 0 ? -1 : length)) + move)));
  });
  return draw;
}

function spoken({chart: {up, across, curves}, places}) {
  const last = places.at(-1);
  const ends = curves.flatMap(({name, format, points}) =>
    points.filter(([at]) => at === last).map(([, value]) => `${name} ${formatted(format, value)}`));
  const at = last === undefined ? "" : ` At ${formatted(across.format, last)}: ${ends.join(", ")}.`;
  return shown(`${up.label} against ${across.label}, ${plural(curves.length, "curve")}.${at}`);
}

// A line and a dot on every curve where the reader points, and the numbers there.
function showPointed({chart: {curves, across}, places, svg, at, box}, readout, index) {
  svg.querySelector(".pointed")?.remove();
  if (index === null || !(index in places)) {
    readout.replaceChildren("Point at the chart, or focus it and use the arrow keys, to read its numbers.");
    return;
  }
  const n = places[index];
  const here = curves.flatMap(({name, look, format, points}) =>
    points.filter(([place]) => place === n).map(([, value, low, high]) => ({name, look, format, value, low, high})));
  const x = at.x(n);
  const group = svgNode("g", {class: "pointed"});
  group.append(svgNode("path", {d: `M${x} ${box.top}V${box.bottom}`, stroke: hue("quiet"), "stroke-dasharray": "3 3"}));
  for (const {look, value} of here)
    if (at.has(value)) group.append(svgNode("circle", {cx: x, cy: at.y(value), r: 4.5, fill: hue(look.paint)}));
  svg.append(group);
  readout.replaceChildren(
    node("b", {}, `${across.symbol} = ${formatted(across.format, n)}`),
    ...here.flatMap(({name, ...point}) => [" · ", rule(name), " " + withEnds(point)]),
  );
}

function withEnds({format, value, low, high}) {
  const ends = low === undefined || low === null ? "" : ` (${formatted(format, low)}–${formatted(format, high)})`;
  return formatted(format, value) + ends;
}

// Curves as columns: the size, then value, and where there are intervals low and high, of each.
function curveRows(chart) {
  const {up, across, curves} = chart;
  const columns = curves.flatMap(({name, points}) => {
    const ends = points.some(([, , low]) => low !== undefined && low !== null);
    const known = new Map(points.map((point) => [point[0], point]));
    return [`${name}: ${up.label}`, ...(ends ? [`${name}: low`, `${name}: high`] : [])].map((title, i) => [title, (at) => known.get(at)?.[i + 1] ?? null]);
  });
  return [
    [across.label, ...columns.map(([title]) => title)],
    ...placesAcross(chart).map((at) => [at, ...columns.map(([, cell]) => cell(at))]),
  ];
}
