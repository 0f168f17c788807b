// Which heads the table of all shows: of one kind, of one layer, by words, the blunt alone. Lines are hidden, not made
// anew, so a thousand heads filter at once.

import {headName} from "../drawing/grid.js";
import {chips, choice, node} from "../frame/dom.js";
import {count, distinct, plural} from "../frame/words.js";
import {bluntingText} from "./statistics.js";

export function headFilter(attention, table) {
  const {heads, thresholds} = attention;
  const kAll = "all";
  const wanted = {kind: kAll, layer: kAll, words: "", blunt: false};
  const byName = new Map(heads.map((head) => [headName(head), head]));
  const said = node("span", {role: "status", class: "filtered"});
  const isShown = (head) =>
    (wanted.kind === kAll || head.kind === wanted.kind) &&
    (wanted.layer === kAll || String(head.layer) === wanted.layer) &&
    (!wanted.blunt || isBlunt(head, thresholds)) &&
    (headName(head).startsWith(wanted.words) || `${head.kind} ${bluntingText(head.blunting)}`.toLowerCase().includes(wanted.words));
  const apply = () => {
    let found = 0;
    for (const line of table.tBodies[0].rows) {
      const keep = isShown(byName.get(JSON.parse(line.cells[0].dataset.csv).join(".")));
      line.hidden = !keep;
      found += keep;
    }
    said.textContent = found === heads.length ? plural(found, "head") : `${count(found)} of ${plural(heads.length, "head")}`;
  };
  const set = (name) => (value) => {
    wanted[name] = value;
    apply();
  };
  // A heading that was clicked has made the lines anew by the time this hears of it.
  table.tHead.addEventListener("click", apply);
  const words = node("input", {type: "search", size: "10", placeholder: "3.5, local"});
  words.addEventListener("input", () => set("words")(words.value.trim().toLowerCase()));
  const layers = distinct(heads.map(({layer}) => layer)).sort((a, b) => a - b);
  const controls = node(
    "div",
    {class: "controls"},
    choice("Kind", [kAll, ...distinct(heads.map(({kind}) => kind)).sort()], kAll, set("kind")),
    choice("Layer", [kAll, ...layers.map(String)], kAll, set("layer")),
    node("label", {class: "choice"}, "Find", words),
    chips("checkbox", "Show", [{text: "blunt only", checked: false, changed: set("blunt")}]),
    said,
  );
  apply();
  return controls;
}

function isBlunt(head, thresholds) {
  const peak = head.peak_outside.median.at(-1);
  return peak !== null && peak < thresholds.blunt;
}
