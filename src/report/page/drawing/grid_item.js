// A layer × head grid of a view, read by pointing or by keys.

import {scrolling} from "../export/download.js";
import {node, shown} from "../frame/dom.js";
import {formatted} from "../frame/formats.js";
import {gridDrawing, headGrid, headName} from "./grid.js";
import {colourLegend, ramp} from "./ramp.js";

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
