// A head's weights over one excerpt, block by block: queries down, keys across. Read by pointing, or by arrow keys.

import {headName} from "../drawing/grid.js";
import {colourLegend, heat} from "../drawing/ramp.js";
import {figureTools} from "../export/download.js";
import {node} from "../frame/dom.js";
import {drawTitle, drawing, hue} from "../frame/svg.js";
import {count, decimal} from "../frame/words.js";

const kMapTicks = [0, 0.25, 0.5, 0.75, 1];

export function mapPanel({drawn}) {
  if (!drawn?.maps) return null;
  const {size} = drawn.maps;
  const cells = node("div");
  const here = node("i", {hidden: ""});
  const picture = node("div", {class: "map-picture", role: "img", tabindex: "0"}, cells, here);
  const readout = node("p", {class: "readout"});
  const ticks = (of) => node("div", {class: of}, ...kMapTicks.map((share) => node("span", {}, count(share * drawn.tokens))));
  const frame = node("div", {class: "map-frame"}, node("span", {class: "map-down"}, "query"), ticks("map-queries"), picture, ticks("map-keys"), node("span", {class: "map-across"}, "key"));
  const element = node("figure", {class: "map"}, node("figcaption", {}, "Where its weight goes"), frame, colourLegend("weight 0", "1, by its square root"), readout);
  const state = {map: null, name: "", row: size - 1, column: 0};
  const say = (row, column) => {
    Object.assign(state, {row, column});
    here.hidden = false;
    for (const [side, share] of Object.entries({left: column, top: row, width: 1, height: 1})) here.style[side] = `${(100 * share) / size}%`;
    readout.textContent = cellSentence(state.map, row, column);
  };
  const idle = () => {
    here.hidden = true;
    readout.textContent = "Point at a cell, or focus the map and use the arrow keys, to read it.";
  };
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const cell = (share) => Math.min(size - 1, Math.max(0, Math.floor(share * size)));
    const [row, column] = [cell((event.clientY - box.top) / box.height), cell((event.clientX - box.left) / box.width)];
    if (state.map && column <= row) say(row, column);
  });
  picture.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -size], End: [0, size]}[event.key];
    if (!step || !state.map) return;
    event.preventDefault();
    const still = here.hidden && step[0] === 0 && Math.abs(step[1]) === 1; // the first press shows where one is
    const row = Math.min(size - 1, Math.max(0, state.row + step[0]));
    say(row, Math.min(row, Math.max(0, state.column + (still ? 0 : step[1]))));
  });
  figureTools(element, {name: "map", picture: () => mapPicture(state), csv: () => mapRows(state.map)});
  return {
    element,
    show: (head) => {
      const map = mapOf(drawn, head);
      Object.assign(state, {map, name: `Head ${headName(head)}`, row: size - 1, column: map ? heaviestCell(map, size - 1) : 0});
      cells.replaceChildren(mapCells(map));
      picture.setAttribute("aria-label", mapSentence(state));
      idle();
    },
  };
}

// Cells of the lower triangle, row by row; a byte is the root of a weight in 255ths of the scale's. Null where there is none.
export function mapOf({maps: {size, cells, scales}, tokens}, {index}) {
  if (!cells[index]) return null;
  const weights = Float64Array.from(atob(cells[index]), (letter) => scales[index] * (letter.charCodeAt(0) / 255) ** 2);
  return {size, tokens, weights};
}

export function weightAt({weights}, row, column) {
  return weights[(row * (row + 1)) / 2 + column];
}

function heaviestCell(map, row) {
  let best = 0;
  for (let column = 1; column <= row; ++column) if (weightAt(map, row, column) > weightAt(map, row, best)) best = column;
  return best;
}

// Tokens of a block, the last included: 300–310.
function blockText({size, tokens}, block) {
  const [first, last] = [Math.ceil((block * tokens) / size), Math.ceil(((block + 1) * tokens) / size) - 1];
  return first === last ? count(first) : `${count(first)}–${count(last)}`;
}

function cellSentence(map, row, column) {
  return `Tokens ${blockText(map, row)} look at ${blockText(map, column)}: ${decimal(weightAt(map, row, column), 2)}`;
}

function mapSentence({map, name}) {
  if (!map) return `${name}: its weights are not numbers`;
  const last = map.size - 1;
  return `${name}, weights over ${count(map.tokens)} tokens in ${map.size} × ${map.size} blocks, queries down and keys across. The heaviest of the last: ${cellSentence(map, last, heaviestCell(map, last))}`;
}

function mapCells(map) {
  const {svg, pen} = drawing(map?.size ?? 1, map?.size ?? 1);
  if (map) drawMap(pen, map, 0, 0, 1);
  return svg;
}

function drawMap(pen, map, left, top, side) {
  const places = [];
  for (let row = 0; row < map.size; ++row)
    for (let column = 0; column <= row; ++column) places.push([left + column * side, top + row * side, heat(weightAt(map, row, column))]);
  pen.cells(places, side, side);
}

function mapPicture({map, name}) {
  const [side, left, top] = [480, 76, 46];
  const {svg, pen} = drawing(side + left + 24, side + top + 56);
  drawTitle(pen, side + left, `${name}: where its weight goes`);
  if (!map) return svg;
  drawMap(pen, map, left, top, side / map.size);
  const quiet = {fill: hue("quiet")};
  for (const share of kMapTicks) {
    pen.text(left - 8, top + share * side, count(share * map.tokens), {...quiet, anchor: "end"});
    pen.text(left + share * side, top + side + 14, count(share * map.tokens), {...quiet, anchor: "middle"});
  }
  pen.text(16, top + side / 2, "query", {...quiet, anchor: "middle", turned: true});
  pen.text(left + side / 2, top + side + 36, "key", {...quiet, anchor: "middle"});
  return svg;
}

function mapRows(map) {
  const rows = [["queries", "keys", "weight"]];
  if (map)
    for (let row = 0; row < map.size; ++row)
      for (let column = 0; column <= row; ++column) rows.push([blockText(map, row), blockText(map, column), weightAt(map, row, column)]);
  return rows;
}
