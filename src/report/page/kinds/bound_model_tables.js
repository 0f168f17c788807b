// Tables of what the weights of a model prove: what tokens attain, by layer, and every head.

import {groupedByLayer, headName} from "../drawing/grid.js";
import {columnsThere, kNoCsv, leftOutNote, shareBar} from "../drawing/kind_parts.js";
import {sortable} from "../drawing/sortable.js";
import {scrolling} from "../export/download.js";
import {choice, node, section} from "../frame/dom.js";
import {count, decimal, distinct} from "../frame/words.js";
import {weightText} from "./bound.js";
import {lengthText, spreadText, surestFirst, tokenText} from "./bound_model.js";

const kHeadAsCsv = {
  csv: [
    ["layer", ({layer}) => layer],
    ["head", ({head}) => head],
  ],
};

function headOpener(open) {
  return (_, head) => {
    const button = node("button", {type: "button", class: "link"}, headName(head));
    button.addEventListener("click", () => open(head));
    return button;
  };
}

export function showAttained(heads, open) {
  if (!heads.length) return;
  const place = section(
    "attained",
    "What tokens attain",
    "In layer 0, where every token can be tried: how far the scores of a real sequence spread beside what is certified, and the largest weight that a sequence of that length was found to give one key.",
  );
  const most = Math.max(...heads.map(({spread}) => spread ?? 0), 1e-9);
  const table = sortable(
    "all-attained",
    [
      ["head", ({layer, head}) => layer + head / 1e4, headOpener(open), kHeadAsCsv],
      ["certified", (h) => h.spread, spreadText],
      ["attained", (h) => h.attained.spread, spreadText],
      ["largest weight", (h) => h.attained.peak, weightText],
      ["tokens", (h) => h.attained.length, count],
      ["query", (h) => h.attained.query.text, (_, h) => tokenText(h.attained.query)],
      ["best key", (h) => h.attained.high.text, (_, h) => tokenText(h.attained.high)],
      ["worst key", (h) => h.attained.low.text, (_, h) => tokenText(h.attained.low)],
      [
        "attained, of certified",
        (h) => h.reached,
        (_, h) => shareBar(0, h.attained.spread / most, "vermillion", h.spread / most),
        kNoCsv,
      ],
    ],
    heads,
  );
  place.append(scrolling("What tokens attain", table, "tall"));
  place.append(node("p", {class: "note"}, "Bar: the attained spread; dotted line: the certified one."));
}

// Certified spreads by layer: the least, the median and the most.
export function showBoundLayers(heads) {
  const layers = [...groupedByLayer(heads)].sort((a, b) => a[0] - b[0]);
  if (layers.length < 2) return;
  const lines = layers.map(([layer, members]) => {
    const sorted = surestFirst(members);
    return {layer, surest: sorted[0], median: sorted[Math.floor(sorted.length / 2)], most: sorted.at(-1)};
  });
  const table = sortable(
    "all-layers",
    [
      ["layer", (l) => l.layer, count],
      ["least spread", (l) => l.surest.spread, spreadText],
      ["median", (l) => l.median.spread, spreadText],
      ["most", (l) => l.most.spread, spreadText],
      [
        "surest head",
        (l) => l.surest.head,
        (_, l) => headName(l.surest),
        {csv: [["surest head", (l) => l.surest.head]]},
      ],
      ["its length", (l) => l.surest.log10_length, (_, l) => lengthText(l.surest)],
    ],
    lines,
  );
  section("layers", "By layer", "Certified spreads over the heads of a layer.").append(
    scrolling("Spreads by layer", table, "tall"),
  );
}

export function showBoundTable(data, heads, open) {
  const columns = columnsThere(data.table, [
    ["head", ({layer, head}) => layer + head / 1e4, headOpener(open), null, kHeadAsCsv],
    ["spread at most", (h) => h.spread, spreadText],
    ["by norms", (h) => h.norm_spread, spreadText, "norm_spread"],
    ["by tokens", (h) => h.vocabulary_spread, spreadText, "vocabulary_spread"],
    ["reached by norms", (h) => h.norm_reached, spreadText, "norm_reached"],
    ["log10 of the length", (h) => h.log10_length, (v) => decimal(v, 2)],
    ["length", (h) => h.log10_length, (_, h) => lengthText(h)],
    ["useful", (h) => h.useful, (v) => (v ? "yes" : "no")],
    ["window", (h) => h.window, count, "window"],
  ]);
  const place = section("numbers", "All numbers", "The surest head first. A heading sorts by its column.");
  const holder = node("div");
  const every = "all";
  const state = {layer: every, only: every};
  const filters = {[every]: () => true, useful: (h) => h.useful, "tokens tried": (h) => h.attained !== undefined};
  const show = () => {
    const rows = surestFirst(heads).filter(
      (h) => filters[state.only](h) && (state.layer === every || String(h.layer) === state.layer),
    );
    holder.replaceChildren(
      rows.length
        ? scrolling("All heads", sortable("all-rows", columns, rows), "tall")
        : node("p", {class: "note"}, "No head is such."),
    );
  };
  const layers = [every, ...distinct(heads.map(({layer}) => String(layer)))];
  const set = (name) => (value) => {
    state[name] = value;
    show();
  };
  place.append(
    node(
      "div",
      {class: "controls"},
      choice("Layer", layers, every, set("layer")),
      choice("Heads", Object.keys(filters), every, set("only")),
    ),
    holder,
  );
  leftOutNote(place, data);
  show();
}
