// What a section of a view holds, one drawer for each type of item. A view is made by the library (src/report/view/view.h); the page
// shows it and computes nothing.

import {chips, choice, definitions, node, rule} from "../frame/dom.js";
import {offerRow} from "../frame/view.js";
import {showBars} from "./bars.js";
import {showChart} from "./chart_item.js";
import {showGrid} from "./grid.js";
import {showHeatMaps} from "./heat_maps.js";
import {showTable} from "./table.js";

const kDrawers = {
  chart: showChart,
  grid: showGrid,
  bars: showBars,
  heat_maps: showHeatMaps,
  table: showTable,
  note: (place, {text}) => place.append(node("p", {class: "note"}, ...wordsOf(text))),
  facts: (place, {pairs}) => place.append(definitions(pairs)),
  command: showCommand,
  choice: showChoice,
  heads: (place, item, shared) => shared.explorer(place, item, shared),
  row: (place, {row}) => offerRow(row),
};

// shared: what items of one view have in common: {curves, choices}, Maps, and what shows the explorer of heads.
export function showItems(place, items, shared) {
  for (const item of items) kDrawers[item.type](place, item, shared);
}

// A string, or parts of which some are code.
export function wordsOf(words) {
  return [words].flat().map((part) => (typeof part === "string" ? part : rule(part.code)));
}

function showCommand(place, {words, text}) {
  const copy = node("button", {type: "button", class: "copy"}, "Copy");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Copy by hand";
    }
  });
  place.append(node("div", {class: "copyable"}, node("span", {}, ...wordsOf(words)), copy), node("pre", {}, node("code", {}, text)));
}

// One option at a time. Those of a group change together, and the first of them has the control.
function showChoice(place, {label, style, options, shown, group}, shared) {
  const holder = node("div");
  const show = (index) => {
    holder.replaceChildren();
    showItems(holder, options[Math.min(index, options.length - 1)].items, shared);
  };
  const known = group ? shared.choices.get(group) : undefined;
  if (known) {
    known.push(show);
    place.append(holder);
    show(known.chosen);
    return;
  }
  const all = [show];
  all.chosen = shown ?? 0;
  if (group) shared.choices.set(group, all);
  const choose = (index) => {
    all.chosen = index;
    for (const one of all) one(index);
  };
  const names = options.map(({name}) => name);
  const control =
    style === "radio"
      ? chips("radio", label, names.map((text, i) => ({text, checked: i === all.chosen, changed: () => choose(i)})))
      : choice(label, names, names[all.chosen], (name) => choose(names.indexOf(name)));
  const before = place.lastElementChild;
  const row = before?.matches(".controls.choices") ? before : node("div", {class: "controls choices"});
  row.append(control);
  place.append(row, holder);
  show(all.chosen);
}
