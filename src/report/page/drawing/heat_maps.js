// Weights over the items of sets, one panel per size: one is shown large, all small beside it. A panel is {name, below, width,
// thousandths}: cells row by row, weights in thousandths, null where nothing was measured.

import {figureTools} from "../export/download.js";
import {choice, node} from "../frame/dom.js";
import {drawTitle, drawing, hue} from "../frame/svg.js";
import {decimal, kNone} from "../frame/words.js";
import {colourLegend, heat} from "./ramp.js";

export function showHeatMaps(place, maps) {
  const readout = node("p", {class: "readout"}, "Point at a cell to read its weight.");
  const holder = node("div");
  const names = maps.lines.map(({name}) => name);
  const chosen = {size: 0};
  const show = (name) => holder.replaceChildren(...heatViewer(maps.lines[names.indexOf(name)].panels, readout, chosen));
  if (names.length > 1) place.append(node("div", {class: "controls"}, choice("Shown", names, names[0], show)));
  place.append(holder);
  if (names.length) show(names[0]);
  const foot = node("div", {class: "chart-foot"}, readout);
  figureTools(foot, {name: maps.id, picture: () => heatPicture(maps), csv: () => heatRows(maps)});
  place.append(colourLegend(maps.ramp.low, maps.ramp.high), foot);
}

// The slider, the large panel and the small ones.
function heatViewer(panels, readout, chosen) {
  const input = node("input", {type: "range", min: 0, max: Math.max(0, panels.length - 1), step: 1, value: 0});
  const told = node("output");
  const slider = node("label", {class: "choice size-slider"}, "Items n", input, told);
  const large = node("div", {class: "large-panel"});
  const small = node("div", {class: "panels"}, ...panels.map((panel, i) => {
    const figure = node("figure", {}, heatPanel(panel, readout), caption(panel));
    // For the pointer alone: the slider does the same by keyboard.
    figure.addEventListener("click", () => show(i));
    return figure;
  }));
  const show = (index) => {
    const panel = panels[index];
    chosen.size = index;
    input.value = index;
    told.value = panel.name;
    input.setAttribute("aria-valuetext", `${panel.name} items, mean weight ${decimal(panel.below, 2)}`);
    large.replaceChildren(heatPanel(panel, readout), caption(panel));
    for (const [i, figure] of [...small.children].entries()) figure.classList.toggle("chosen", i === index);
  };
  input.addEventListener("input", () => show(Number(input.value)));
  if (panels.length) show(Math.min(chosen.size, panels.length - 1));
  return [node("div", {class: "controls"}, slider), node("div", {class: "heat-beside"}, large, small)];
}

function caption({name, below}) {
  return node("figcaption", {}, `n = ${name}`, node("span", {"data-value": below}, decimal(below, 2)));
}

function heatPanel(panel, readout) {
  const {name, below, width, thousandths} = panel;
  const height = Math.ceil(thousandths.length / width);
  const {svg, pen} = drawing(width, height);
  drawHeat(pen, panel, 0, 0, 1);
  for (const [key, value] of Object.entries({preserveAspectRatio: "none", role: "img", "aria-label": `n = ${name}, mean weight on the largest item ${decimal(below, 2)}`})) svg.setAttribute(key, value);
  svg.removeAttribute("aria-hidden");
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const cell = (share, most) => Math.min(most - 1, Math.max(0, Math.floor(share * most)));
    const [column, line] = [cell((event.clientX - box.left) / box.width, width), cell((event.clientY - box.top) / box.height, height)];
    const weight = thousandths[line * width + column];
    const rank = width - column;
    readout.textContent =
      `${name}, set ${line + 1}, ${rank === 1 ? "largest item" : `item ${rank} from the largest`}: weight ` +
      (weight === null ? kNone : decimal(weight / 1000));
  });
  return svg;
}

function drawHeat(pen, {width, thousandths}, left, top, cell) {
  // Most weights of a dispersed panel round to none: they are its background.
  pen.box(left, top, width * cell, Math.ceil(thousandths.length / width) * cell, {fill: heat(0)});
  const places = thousandths.map((weight, i) => [left + (i % width) * cell, top + Math.floor(i / width) * cell, heat(weight === null ? null : weight / 1000)]);
  pen.cells(places.filter((_, i) => thousandths[i] !== 0), cell, cell);
}

// All panels in rows of seven, as the page shows them small.
function heatPicture({lines, title, subtitle}) {
  const [cell, gap, across] = [8, 16, 7];
  const panels = lines.flatMap((line) => line.panels);
  const wide = Math.max(...panels.map(({width}) => width)) * cell;
  const high = Math.max(...panels.map(({width, thousandths}) => Math.ceil(thousandths.length / width))) * cell;
  const width = Math.max(480, 32 + Math.min(across, panels.length) * (wide + gap));
  const {svg, pen} = drawing(width, 82 + Math.ceil(panels.length / across) * (high + 44));
  drawTitle(pen, width, title, subtitle || " ");
  for (const [i, panel] of panels.entries()) {
    const [left, top] = [16 + (i % across) * (wide + gap), 66 + Math.floor(i / across) * (high + 44)];
    drawHeat(pen, panel, left, top, cell);
    pen.text(left, top + high + 12, panel.name, {fill: hue("ink")});
    pen.text(left, top + high + 28, decimal(panel.below, 2), {fill: hue("quiet")});
  }
  return svg;
}

function heatRows({lines}) {
  const rows = [["line", "panel", "set", "rank from the largest", "weight"]];
  for (const {name, panels} of lines)
    for (const panel of panels)
      for (const [i, weight] of panel.thousandths.entries())
        rows.push([name, panel.name, Math.floor(i / panel.width) + 1, panel.width - (i % panel.width), weight === null ? null : weight / 1000]);
  return rows;
}
