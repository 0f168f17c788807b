// A layer × head grid: a table of cells with one tab stop, moved by the arrow keys; the same as a drawing to take away; and the grid of
// a view, read by pointing or by keys.

import {scrolling} from "../export/download.js";
import {node, shown} from "../frame/dom.js";
import {formatted} from "../frame/formats.js";
import {drawTitle, drawing, hue} from "../frame/svg.js";
import {colourLegend, drawColourLegend, ramp} from "./ramp.js";

export function headName({layer, head}) {
  return `${layer}.${head}`;
}

// heads: [{layer, head}, ...]; say(head): it is pointed at; choose(head). Returns {table, cells: Map from head to cell, stopAt}.
export function headGrid(heads, {say, choose}) {
  const rows = groupedByLayer(heads);
  const columns = [...new Set(heads.map(({head}) => head))].sort((a, b) => a - b);
  const every = columns.length > 16 ? 4 : 1;
  const table = node("table", {class: "head-grid", role: "grid", "aria-label": "Layers and heads"});
  const titles = columns.map((head, i) => node("th", {scope: "col", class: i % every ? "unwritten" : ""}, head));
  table.append(node("thead", {}, node("tr", {}, node("td"), ...titles)));
  const cells = new Map();
  const places = []; // [line][column]
  const body = node("tbody");
  for (const [layer, ofLayer] of [...rows].sort((a, b) => a[0] - b[0])) {
    const line = node("tr", {}, node("th", {scope: "row"}, layer));
    for (const head of ofLayer.sort((a, b) => a.head - b.head)) {
      const cell = node("td", {role: "gridcell", tabindex: "-1", "aria-selected": "false"});
      cell.dataset.head = headName(head);
      cell.addEventListener("pointerenter", () => say(head));
      cell.addEventListener("focus", () => say(head));
      cell.addEventListener("click", () => choose(head));
      cells.set(head, cell);
      line.append(cell);
    }
    places.push(ofLayer);
    body.append(line);
  }
  table.append(body);
  let stop = heads[0];
  const stopAt = (head) => {
    cells.get(stop).tabIndex = -1;
    cells.get((stop = head)).tabIndex = 0;
  };
  table.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") choose(stop);
    else if (!moveTo(neighbour(places, stop, event.key))) return;
    event.preventDefault();
  });
  const moveTo = (head) => {
    if (!head) return false;
    stopAt(head);
    cells.get(head).focus();
    return true;
  };
  stopAt(stop);
  return {table, cells, stopAt};
}

function groupedByLayer(heads) {
  const rows = new Map();
  for (const head of heads) rows.set(head.layer, [...(rows.get(head.layer) ?? []), head]);
  return rows;
}

// The head that a key leads to; undefined for other keys and at the edges.
function neighbour(places, head, key) {
  const line = places.findIndex((heads) => heads.includes(head));
  const column = places[line].indexOf(head);
  const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[key];
  if (step) return places[line + step[0]]?.[column + step[1]];
  return {Home: places[line][0], End: places[line].at(-1)}[key];
}

// The grid as it is laid out and coloured in the page, on paper.
export function gridDrawing(table, {title, subtitle, low, high, colour = ramp}) {
  table.classList.add("on-paper");
  const {left, top, width, height} = table.getBoundingClientRect();
  const wide = Math.max(480, width + 32);
  const {svg, pen} = drawing(wide, 66 + height + 56);
  const from = drawTitle(pen, wide, title, subtitle ?? " ");
  for (const cell of table.querySelectorAll("th:not(.unwritten), td")) {
    const at = cell.getBoundingClientRect();
    const [x, y] = [at.left - left + 16, at.top - top + from];
    if (cell.tagName === "TD") pen.box(x, y, at.width, at.height, {fill: plainColour(getComputedStyle(cell).backgroundColor)});
    else pen.text(x + at.width / 2, y + at.height / 2, cell.textContent, {fill: hue("quiet"), size: 11, anchor: "middle"});
  }
  drawColourLegend(pen, from + height + 30, low, high, colour);
  table.classList.remove("on-paper");
  return svg;
}

// Of a mixture browsers tell shares of one, which not every reader of SVG knows.
function plainColour(colour) {
  const shares = /^color\(srgb (\S+) (\S+) (\S+)\)$/.exec(colour)?.slice(1);
  return shares ? `rgb(${shares.map((share) => Math.round(255 * share)).join(" ")})` : colour;
}

const kRamps = {
  cividis: {colour: ramp, legend: ramp},
  mark: {colour: (share) => (share > 0 ? "var(--vermillion)" : ""), legend: null},
};

export function showGrid(place, grid) {
  const {ramp: {kind, low, high}, cells, title, subtitle, described} = grid;
  const heads = cells.map(([layer, head, value, share], i) => ({layer, head, value, share, words: spoken(grid, i)}));
  const readout = node("p", {class: "readout"}, "Point at a cell to read it.");
  const say = ({words}) => (readout.textContent = shown(words));
  const made = headGrid(heads, {say, choose: say});
  const {colour, legend} = kRamps[kind];
  for (const [{value, share, words}, cell] of made.cells) {
    cell.className = value === null ? "unknown" : "";
    cell.style.backgroundColor = value === null ? "" : colour(share);
    cell.dataset.value = value;
    cell.setAttribute("aria-label", shown(words));
  }
  made.table.setAttribute("aria-label", shown(described || title));
  const picture = () => gridDrawing(made.table, {title, subtitle, low, high, colour: legend ?? colour});
  const csv = () => [["layer", "head", "value", "words"], ...heads.map(({layer, head, value, words}) => [layer, head, value, words])];
  place.append(node("div", {class: "narrow-grid"}, scrolling(title, made.table, "", {picture, csv}), ...(legend ? [colourLegend(low, high, legend)] : []), readout));
}

function spoken({texts, format, unknown, cells}, i) {
  const [layer, head, value] = cells[i];
  return texts?.[i] ?? `Head ${headName({layer, head})}: ${value === null ? unknown : formatted(format, value)}`;
}
