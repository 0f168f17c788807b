// A layer × head grid of a view: read by pointing, chosen by click or by keys, opened by an address.

import {scrolling} from "../export/download.js";
import {definitions, node, shown} from "../frame/dom.js";
import {formatted} from "../frame/formats.js";
import {useRow} from "../frame/rows.js";
import {findPlaces, rememberPlace} from "../frame/view.js";
import {gridDrawing, headGrid, headName} from "./grid.js";
import {colourLegend, diverging, ramp} from "./ramp.js";
import {cellNode} from "./table.js";

const kRamps = {
  cividis: {colour: ramp, legend: ramp},
  diverging: {colour: diverging, legend: (share) => diverging(2 * share - 1)},
  mark: {colour: (share) => (share > 0 ? "var(--vermillion)" : ""), legend: null},
};

export function showGrid(place, grid, shared) {
  const {ramp: {kind, low, high}, cells, title, subtitle, described} = grid;
  const heads = cells.map(([layer, head, value, share], i) => ({layer, head, value, share, words: spoken(grid, i)}));
  const readout = node("p", {class: "readout"}, "Point at a cell to read it.");
  const say = (head) => (readout.textContent = shown(`Head ${headName(head)}: ${head.words}`));
  const details = grid.details ? node("div", {id: "head"}) : null;
  const open = (head) => {
    for (const cell of made.cells.values()) cell.setAttribute("aria-selected", "false");
    made.cells.get(head).setAttribute("aria-selected", "true");
    made.stopAt(head);
    details?.replaceChildren(node("h3", {}, `Head ${headName(head)}`), ...detailsOf(shared.tables.get(grid.details), heads.indexOf(head)));
  };
  const choose = (head) => {
    say(head);
    if (!details) return;
    open(head);
    const row = shared.rows.get(headName(head));
    if (row) useRow(row);
    rememberPlace(`head-${headName(head)}`);
  };
  const made = headGrid(heads, {say, choose});
  for (const [head, cell] of made.cells) colourCell(cell, head, kRamps[kind].colour);
  const {legend} = kRamps[kind];
  const picture = () => gridDrawing(made.table, {title, subtitle, low, high, colour: legend ?? kRamps.mark.colour});
  made.table.setAttribute("aria-label", shown(described || title));
  const left = node("div", {}, scrolling(title, made.table, "", {picture}), ...(legend ? [colourLegend(low, high, legend)] : []), readout);
  place.append(details ? node("div", {class: "heads-beside"}, left, details) : node("div", {class: "narrow-grid"}, left));
  if (!details) return;
  findPlaces((wanted) => {
    const head = heads.find((one) => wanted === `head-${headName(one)}`);
    if (head) open(head);
    if (head) details.scrollIntoView({block: "nearest"});
    return head !== undefined;
  });
  // The table that has the details may come after the grid.
  queueMicrotask(() => open(heads[0]));
}

function spoken({texts, say, format, unknown, cells}, i) {
  if (texts?.[i]) return texts[i];
  const value = cells[i][2];
  if (value === null) return unknown || formatted(format, null);
  return say ? say.replace("{}", formatted(format, value)) : formatted(format, value);
}

function colourCell(cell, {value, share, words, ...head}, colour) {
  cell.className = value === null ? "unknown" : "";
  cell.style.backgroundColor = value === null ? "" : colour(share);
  cell.dataset.value = value;
  cell.setAttribute("aria-label", shown(`Head ${headName(head)}: ${words}`));
}

// The row of a table as pairs, with columns that it does not show.
function detailsOf(known, i) {
  if (!known) return [];
  const {columns, rows} = known.table;
  return [definitions(columns.map((column, at) => [column.name, cellNode(column, rows[i][at])]))];
}
