// The layer × head grid. It is a table of cells with one tab stop, moved by the arrow keys.

import {gridDrawing, headGrid, headName} from "../drawing/grid.js";
import {colourLegend, ramp} from "../drawing/ramp.js";
import {scrolling} from "../export/download.js";
import {choice, node, shown} from "../frame/dom.js";
import {findPlaces, rememberPlace} from "../frame/view.js";
import {count} from "../frame/words.js";
import {headPanel} from "./head.js";
import {headsOf, offerHeadRows} from "./sketch.js";
import {kHeadStatistics, worstFirst} from "./statistics.js";

// Returns what opens a head, and puts it into the address.
export function showHeads(place, attention) {
  attention.heads ??= headsOf(attention);
  const state = {statistic: kHeadStatistics[0], length: attention.lengths.length - 1, head: null, said: null};
  const panel = headPanel(attention);
  const readout = node("p", {class: "readout"});
  const legend = node("div");
  const grid = headGrid(attention.heads, {
    say: (head) => say((state.said = head)),
    choose: (head) => choose(head),
  });
  const choose = (head) => {
    open(head, {scroll: true});
    rememberPlace(`head-${headName(head)}`);
  };
  findPlaces((place) => {
    const head = attention.heads.find((one) => place === `head-${headName(one)}`);
    if (head) open(head, {scroll: true});
    return head !== undefined;
  });
  const wordsOf = (head) => {
    const {name, write, byLength: varies} = state.statistic;
    return `${name} ${write(head, state.length)}` + (varies ? ` at ${count(attention.lengths[state.length])} tokens` : "");
  };
  const say = (head) => (readout.textContent = shown(`Head ${headName(head)}, ${head.kind}: ${wordsOf(head)}`));
  const colour = () => {
    const {value, scale, name} = state.statistic;
    const {low, high, share} = scale(attention);
    legend.replaceChildren(colourLegend(`${name} ${low}`, high), node("p", {class: "note"}, state.statistic.bright));
    for (const [head, cell] of grid.cells) {
      const found = value(head, state.length);
      cell.className = found === null ? "unknown" : "";
      cell.style.backgroundColor = found === null ? "" : ramp(share(found));
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
    panel.show(head);
    if (scroll) panel.element.scrollIntoView({block: "nearest"});
  };
  const picture = () => {
    const {scale, name, byLength: varies} = state.statistic;
    const {low, high} = scale(attention);
    const about = varies ? `at ${count(attention.lengths[state.length])} tokens` : `up to ${count(attention.lengths.at(-1))} tokens`;
    return gridDrawing(grid.table, {title: `Every head: ${name}`, subtitle: about, low, high});
  };
  const left = node("div", {}, scrolling("Layers and heads", grid.table, "", {picture}), legend, readout);
  place.append(
    gridControls(attention, state, colour),
    node("div", {class: "heads-beside"}, left, panel.element, ...panel.below),
  );
  if (attention.left_out.length)
    left.append(
      node("p", {class: "note"}, `Left out to keep this file small: ${attention.left_out.join(", ").replaceAll("_", " ")}.`),
    );
  panel.draw();
  colour();
  open(worstFirst(attention.heads)[0]);
  offerHeadRows(attention);
  readout.textContent = "Point at a cell to read it.";
  return choose;
}

function gridControls(attention, state, changed) {
  const statistics = kHeadStatistics.filter(({isIn}) => !isIn || isIn(attention));
  const names = statistics.map(({name}) => name);
  const lengths = attention.lengths.map(count);
  const length = choice("Tokens", lengths, lengths[state.length], (text) => {
    state.length = lengths.indexOf(text);
    changed();
  });
  const statistic = choice("Colour by", names, state.statistic.name, (name) => {
    state.statistic = statistics[names.indexOf(name)];
    length.querySelector("select").disabled = !state.statistic.byLength;
    changed();
  });
  return node("div", {class: "controls"}, statistic, length);
}
