// One head at every length: its weights beside the most that any input could have, its entropy, all numbers; and what
// was drawn of it over one excerpt.

import {decadesAround} from "../drawing/described.js";
import {headName} from "../drawing/grid.js";
import {liveChart} from "../drawing/live_chart.js";
import {plainTable} from "../drawing/sortable.js";
import {scrolling} from "../export/download.js";
import {chips, node, shown} from "../frame/dom.js";
import {count, decimal} from "../frame/words.js";
import {gapPanel} from "./gaps.js";
import {keysPanel} from "./keys.js";
import {mapPanel} from "./map.js";
import {headActions, sketchOf} from "./sketch.js";
import {bluntingText, kTokens, oneDigit, threeDigits, trainedMark, withInterval} from "./statistics.js";
import {tokensPanel} from "./tokens.js";

export function headPanel(attention) {
  const title = node("h3");
  const words = node("p");
  const charts = node("div");
  const table = node("div", {id: "head-lengths"});
  const state = {head: attention.heads[0], log: false};
  let redraws = [];
  const redraw = () => redraws.forEach((draw) => draw());
  const axis = chips("checkbox", "Weights", [
    {
      text: "logarithmic",
      checked: state.log,
      changed: (on) => {
        state.log = on;
        redraw();
      },
    },
  ]);
  const actions = headActions(attention);
  const [map, keys, gaps, tokens] = [mapPanel(attention), keysPanel(attention), gapPanel(attention), tokensPanel(attention)];
  const drawn = [map, keys].filter(Boolean).map(({element}) => element);
  return {
    element: node("div", {id: "head"}, title, words, actions.element, axis, charts),
    below: [
      ...(drawn.length ? [node("div", {class: "wide", id: "head-drawn"}, sketchNote(attention), node("div", {class: "drawn"}, ...drawn))] : []),
      ...(tokens ? [tokens.element] : []),
      ...(gaps ? [node("div", {class: "wide", id: "head-gaps"}, gaps.element)] : []),
      node("div", {class: "wide"}, table, headNote(attention)),
    ],
    // The charts measure the width of their place, so this waits until the panel is in the page.
    draw: () => {
      redraws = [weightChart, entropyChart].map((chart) => liveChart(charts, () => chart(attention, state)));
      gaps?.draw();
    },
    show: (head) => {
      state.head = head;
      title.textContent = `Head ${headName(head)}`;
      words.textContent = shown(
        `Layer ${head.layer}, head ${head.head}: ${head.kind}. Blunt from: ${bluntingText(head.blunting)}. ` +
          `Slope of entropy against ln n: ${decimal(head.entropy_slope, 2)}; outside: ${decimal(head.entropy_slope_outside, 2)}.`,
      );
      redraw();
      const sketch = sketchOf(attention, head);
      actions.show(head);
      map?.show(head, sketch.map);
      tokens?.show(head, sketch.map);
      keys?.show(head, sketch);
      gaps?.show(head, sketch.gaps);
      table.replaceChildren(scrolling(`Head ${headName(head)} at every length`, headLengths(attention, head)));
    },
  };
}

function sketchNote({drawn}) {
  return node(
    "p",
    {class: "note"},
    `Over the first ${count(drawn.tokens)} tokens of the first excerpt, counted from 0. A cell of the map is the weight that a block of keys gets, on average over a block of queries: a bright left edge is a sink, a bright diagonal a head that looks at what is near.`,
  );
}

function headNote({lengths, trained_context: trained}) {
  return node(
    "p",
    {class: "note"},
    "Medians over rows, 95 % intervals in brackets. Bound: the largest weight that any key could have among so many " +
      "whose scores lie within this spread. Distance: tokens back to the heaviest key outside." +
      (lengths.at(-1) > trained ? " *: past the trained length." : ""),
  );
}

function curveOf({lengths}, field, name, colour, more = {}) {
  const points = new Map(
    lengths.map((n, i) => [n, {value: field.median[i], low: field.low?.[i] ?? null, high: field.high?.[i] ?? null}]),
  );
  return {name, look: {paint: colour, dash: []}, points, format: threeDigits, ...more};
}

function weightChart(attention, {head, log}) {
  const bound = {look: {paint: "grey", dash: [7, 5]}, bare: true};
  const curves = [
    curveOf(attention, {median: head.peak_bound}, "bound", "grey", bound),
    curveOf(attention, head.first, "first token", "purple"),
    curveOf(attention, head.peak_outside, "peak outside", "vermillion"),
  ];
  return {
    label: "weight",
    about: `Head ${headName(head)}`,
    legend: true,
    sizes: attention.lengths,
    across: kTokens,
    marks: [trainedMark(attention)],
    curves,
    ...(log ? {bottom: decadesAround(curves).bottom, top: 1} : {top: 1.02}),
  };
}

function entropyChart(attention, {head}) {
  const {lengths} = attention;
  return {
    label: "entropy, nats",
    about: `Head ${headName(head)}`,
    legend: true,
    top: 1.05 * Math.log(lengths.at(-1)),
    sizes: lengths,
    across: kTokens,
    marks: [trainedMark(attention)],
    reference: {name: "ln n: equal weights", value: (n) => Math.log(n), rising: true},
    curves: [
      curveOf(attention, head.entropy, "entropy", "blue"),
      curveOf(attention, head.entropy_outside, "outside", "green"),
    ],
  };
}

function headLengths({lengths, trained_context: trained}, head) {
  const column = (title, field, format) =>
    field in head
      ? [[title, (i) => head[field].median[i], (value, i) => withInterval(head[field], i, format)]]
      : [];
  return plainTable(
    [
      ["tokens", (i) => lengths[i], (n) => count(n) + (n > trained ? "*" : "")],
      ...column("peak outside", "peak_outside", threeDigits),
      ["bound", (i) => head.peak_bound[i], threeDigits],
      ...column("first token", "first", threeDigits),
      ...column("entropy", "entropy", (v) => decimal(v, 2)),
      ...column("outside", "entropy_outside", (v) => decimal(v, 2)),
      ...column("spread", "spread", oneDigit),
      ...column("support", "support", count),
      ...column("distance", "distance_outside", count),
    ],
    [...lengths.keys()],
  );
}
