// Paper A's figure 2: weights on the largest items of some sets. One size is shown large, all sizes small beside it.

import {colourLegend, heat} from "../drawing/ramp.js";
import {figureTools, sectionTitle} from "../export/download.js";
import {choice, node, section, shown} from "../frame/dom.js";
import {drawTitle, drawing, hue} from "../frame/svg.js";
import {count, decimal, distinct, family, kNone, plural, shortCount} from "../frame/words.js";
import {paperArm} from "./results.js";

export function showRetrievalHeatMaps(data) {
  if (!data.heat_maps.length) return;
  const arms = distinct(data.heat_maps.map((map) => map.arm));
  const normalizers = distinct(data.heat_maps.map((map) => map.normalizer));
  const state = {
    arm: arms.find((arm) => arm === paperArm(data)) ?? arms[0],
    normalizer: normalizers.find((name) => family(name) === "softmax") ?? normalizers[0],
    n: data.sizes[0],
  };
  const mapsOf = () =>
    data.heat_maps.filter((m) => m.arm === state.arm && m.normalizer === state.normalizer).sort((a, b) => a.n - b.n);
  const readout = node("p", {class: "readout"});
  const viewer = heatViewer(state, readout);
  const fill = () => {
    const maps = mapsOf();
    viewer.fill(maps);
    readout.textContent = maps.length
      ? `Seed ${shown(maps[0].seed)}. Point at a cell to read its weight.`
      : "No heat maps of this pair are in the page.";
  };
  const place = section(
    "heat-maps",
    "Where the weight goes",
    "One panel is one size: each line a set, each column one of its largest items, the largest at the right. A head that finds the largest item has a bright right edge. The slider chooses the size; the number below a panel is the mean weight on the largest item.",
  );
  place.append(
    node(
      "div",
      {class: "controls"},
      choice("Training", arms, state.arm, (arm) => {
        state.arm = arm;
        fill();
      }),
      choice("Normalizer", normalizers, state.normalizer, (name) => {
        state.normalizer = name;
        fill();
      }),
      viewer.slider,
    ),
    viewer.panels,
    colourLegend("weight 0", "1, by its square root"),
  );
  const foot = node("div", {class: "chart-foot"}, readout);
  figureTools(foot, {picture: () => retrievalHeatPicture(mapsOf(), state, sectionTitle(place)), csv: () => heatRows(mapsOf())});
  place.append(foot);
  if (data.heat_maps_left_out.length) place.append(leftOutPairs(data.heat_maps_left_out));
  fill();
}

function leftOutPairs(pairs) {
  const names = pairs.map((m) => `${m.arm} ${m.normalizer}`).join(", ");
  return node("p", {class: "note"}, `Left out to keep this file small: ${names}.`);
}

// The slider, the large panel and the small ones; state.n is the size that is shown large.
function heatViewer(state, readout) {
  const input = node("input", {type: "range", min: 0, step: 1, value: 0});
  const told = node("output");
  const slider = node("label", {class: "choice size-slider"}, "Items n", input, told);
  const large = node("div", {class: "large-panel"});
  const small = node("div", {class: "panels"});
  let maps = [];
  const show = (index) => {
    const map = maps[index];
    state.n = map.n;
    input.value = index;
    told.value = count(map.n);
    input.setAttribute("aria-valuetext", `${count(map.n)} items, mean weight ${decimal(map.on_largest)} on the largest`);
    large.replaceChildren(heatPanel(map, readout), panelNumber(map, count));
    for (const [i, figure] of [...small.children].entries()) figure.classList.toggle("chosen", i === index);
  };
  input.addEventListener("input", () => show(Number(input.value)));
  const fill = (chosen) => {
    maps = chosen;
    input.max = Math.max(0, maps.length - 1);
    input.disabled = maps.length < 2;
    large.replaceChildren();
    small.replaceChildren(...maps.map((map, i) => panel(map, readout, () => show(i))));
    if (maps.length) show(Math.max(0, maps.findIndex(({n}) => n === state.n)));
  };
  return {slider, panels: node("div", {class: "heat-beside"}, large, small), fill};
}

function panel(map, readout, choose) {
  const figure = node("figure", {}, heatPanel(map, readout), panelNumber(map, shortCount));
  // For the pointer alone: the slider does the same by keyboard.
  figure.addEventListener("click", choose);
  return figure;
}

function panelNumber({n, on_largest: mean}, write) {
  return node("figcaption", {}, `n = ${write(n)}`, node("span", {"data-value": mean}, decimal(mean)));
}

function heatPanel(map, readout) {
  const {sets, items, n, thousandths, on_largest: mean} = map;
  const {svg, pen} = drawing(items, sets);
  drawHeat(pen, map, 0, 0, 1);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.removeAttribute("aria-hidden");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `n = ${count(n)}: mean weight ${decimal(mean)} on the largest item over ${plural(sets, "set")}`);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const column = Math.min(items - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * items)));
    const line = Math.min(sets - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * sets)));
    const weight = thousandths[line * items + column];
    const rank = items - column;
    readout.textContent =
      `n = ${count(n)}, set ${line + 1}, ${rank === 1 ? "largest item" : `item ${rank} from the largest`}: weight ` +
      (weight === null ? kNone : decimal(weight / 1000));
  });
  return svg;
}

function drawHeat(pen, {sets, items, thousandths}, left, top, cell) {
  // Most weights of a dispersed panel round to none: they are its background.
  pen.box(left, top, items * cell, sets * cell, {fill: heat(0)});
  const places = thousandths.map((weight, i) => [left + (i % items) * cell, top + Math.floor(i / items) * cell, heat(weight === null ? null : weight / 1000)]);
  pen.cells(places.filter((_, i) => thousandths[i] !== 0), cell, cell);
}

// All sizes in lines of seven, as the page shows them small.
function retrievalHeatPicture(maps, {arm, normalizer}, title) {
  const [cell, gap, across] = [8, 16, 7];
  const [wide, high] = [Math.max(...maps.map((m) => m.items)) * cell, Math.max(...maps.map((m) => m.sets)) * cell];
  const width = Math.max(480, 32 + Math.min(across, maps.length) * (wide + gap));
  const {svg, pen} = drawing(width, 82 + Math.ceil(maps.length / across) * (high + 44));
  drawTitle(pen, width, title, `${arm} training, ${normalizer}; below: mean weight on the largest item`);
  for (const [i, map] of maps.entries()) {
    const [left, top] = [16 + (i % across) * (wide + gap), 66 + Math.floor(i / across) * (high + 44)];
    drawHeat(pen, map, left, top, cell);
    pen.text(left, top + map.sets * cell + 12, `n = ${count(map.n)}`, {fill: hue("ink")});
    pen.text(left, top + map.sets * cell + 28, decimal(map.on_largest), {fill: hue("quiet")});
  }
  return svg;
}

function heatRows(maps) {
  const rows = [["training", "normalizer", "seed", "n", "set", "rank from the largest", "weight"]];
  for (const {arm, normalizer, seed, n, items, thousandths} of maps)
    for (const [i, weight] of thousandths.entries())
      rows.push([arm, normalizer, seed, n, Math.floor(i / items) + 1, items - (i % items), weight === null ? null : weight / 1000]);
  return rows;
}
