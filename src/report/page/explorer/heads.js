// The explorer of heads: a grid of all, coloured by one statistic at one length, and all that is known of the head that is chosen. The
// grid is a table of cells with one tab stop, moved by the arrow keys.

import {gridDrawing, headGrid, headName} from "../drawing/grid.js";
import {colourLegend} from "../drawing/ramp.js";
import {scrolling} from "../export/download.js";
import {choice, node, shown} from "../frame/dom.js";
import {findPlaces, offerRow, rememberPlace, useRow} from "../frame/view.js";
import {count} from "../frame/words.js";
import {headPanel, rowOf} from "./head.js";
import {coloursOf, textAt, valueAt, varies} from "./layers.js";

export function showHeads(place, item, shared) {
  const heads = item.heads.map(([layer, head, kind], index) => ({layer, head, kind, index}));
  const explorer = {...item, heads, layers: new Map(item.layers.map((layer) => [layer.id, layer]))};
  const {lengths} = explorer;
  const state = {layer: item.layers.find(({meaning}) => meaning), length: lengths.length - 1, head: null, said: null};
  const panel = headPanel(explorer, shared);
  const readout = node("p", {class: "readout"}, "Point at a cell to read it.");
  const legend = node("div");
  const choose = (head) => {
    open(head, {scroll: true});
    if (explorer.drawn?.levels) useRow(rowOf(explorer, head));
    rememberPlace(`${explorer.id}-${headName(head)}`);
  };
  const grid = headGrid(heads, {say: (head) => say((state.said = head)), choose});
  findPlaces((wanted) => {
    const head = heads.find((one) => wanted === `${explorer.id}-${headName(one)}`);
    if (head) open(head, {scroll: true});
    return head !== undefined;
  });
  const when = () => (varies(state.layer, lengths) ? ` at ${count(lengths[state.length])} tokens` : "");
  const wordsOf = (head) => `${state.layer.name} ${textAt(state.layer, head, state.length)}${when()}`;
  const say = (head) => (readout.textContent = shown(`Head ${headName(head)}, ${head.kind}: ${wordsOf(head)}`));
  const colour = () => {
    const {name, ramp: [low, high], meaning} = state.layer;
    const {cell: colourAt, legend: colourOf} = coloursOf(state.layer);
    legend.replaceChildren(colourLegend(`${name} ${low}`, high, colourOf), node("p", {class: "note"}, meaning));
    for (const [head, cell] of grid.cells) {
      const found = valueAt(state.layer, head, state.length);
      cell.className = found === null ? "unknown" : "";
      cell.style.backgroundColor = found === null ? "" : colourAt(found);
      cell.dataset.value = found;
      cell.setAttribute("aria-label", shown(`Head ${headName(head)}: ${wordsOf(head)}`));
    }
    if (state.said) say(state.said);
  };
  const open = (head, {scroll = false} = {}) => {
    if (state.head) grid.cells.get(state.head).setAttribute("aria-selected", "false");
    state.head = head;
    grid.cells.get(head).setAttribute("aria-selected", "true");
    grid.stopAt(head);
    panel.show(head, state.length);
    if (scroll) panel.element.scrollIntoView({block: "nearest"});
  };
  const picture = () => {
    const {name, ramp: [low, high]} = state.layer;
    return gridDrawing(grid.table, {title: `${explorer.title}: ${name}`, subtitle: when().trim(), low, high, colour: coloursOf(state.layer).legend});
  };
  const csv = () => [
    ["layer", "head", "kind", state.layer.name],
    ...heads.map((head) => [head.layer, head.head, head.kind, valueAt(state.layer, head, state.length)]),
  ];
  const left = node("div", {}, scrolling("Layers and heads", grid.table, "", {picture, csv}), legend, readout);
  place.append(gridControls(explorer, state, () => {
    colour();
    panel.speak(state.head, state.length);
  }), node("div", {class: "heads-beside"}, left, panel.element, ...panel.below));
  panel.draw();
  colour();
  open(heads[explorer.first]);
  for (const index of explorer.offered) offerRow(rowOf(explorer, heads[index]));
}

function gridControls({layers, lengths, id}, state, changed) {
  const listed = [...layers.values()].filter(({meaning}) => meaning);
  const names = listed.map(({name}) => name);
  const texts = lengths.map(count);
  const length = choice("Tokens", texts, texts[state.length], (text) => {
    state.length = texts.indexOf(text);
    changed();
  });
  const statistic = choice(id === "head" ? "Color by" : "Difference of", names, state.layer.name, (name) => {
    state.layer = listed[names.indexOf(name)];
    length.querySelector("select").disabled = !varies(state.layer, lengths);
    changed();
  });
  return node("div", {class: "controls"}, statistic, ...(lengths.length ? [length] : []));
}
