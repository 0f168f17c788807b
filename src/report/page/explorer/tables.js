// Tables of an audit by length: heads, lengths, forecasts.

import {headName} from "../drawing/grid.js";
import {liveChart} from "../drawing/live_chart.js";
import {plainTable, sortable} from "../drawing/sortable.js";
import {scrolling} from "../export/download.js";
import {node, section} from "../frame/dom.js";
import {count, decimal, percent, shortCount} from "../frame/words.js";
import {headFilter} from "./filter.js";
import {bluntingText, kTokens, oneDigit, threeDigits, trainedMark, withInterval, worstFirst} from "./statistics.js";

export function showHeadTable(attention, open) {
  const {lengths, thresholds} = attention;
  const last = lengths.length - 1;
  const opener = (_, head) => {
    const button = node("button", {type: "button", class: "link"}, headName(head));
    button.addEventListener("click", () => open(head));
    return button;
  };
  const peak = (i) => [
    `peak outside, ${shortCount(lengths[i])}`,
    (head) => head.peak_outside.median[i],
    (_, head) => withInterval(head.peak_outside, i, threeDigits),
  ];
  const columns = [
    ["head", ({layer, head}) => layer + head / 1e4, opener, {csv: [["layer", ({layer}) => layer], ["head", ({head}) => head]]}],
    ["kind", (head) => head.kind, "words"],
    ...(last > 0 ? [peak(0)] : []),
    peak(last),
    ["entropy outside", (head) => head.entropy_outside.median[last], (v) => decimal(v, 2)],
    ["slope", (head) => head.entropy_slope_outside, (v) => decimal(v, 2)],
    ["spread", (head) => head.spread.median[last], oneDigit],
    ["blunt from", (head) => head.blunting.length, (_, head) => bluntingText(head.blunting)],
  ];
  const place = section(
    "worst",
    "The worst heads",
    "The bluntest in front, by their median peak outside the first token at the greatest length; sinks, which do not try to pick, behind. A heading sorts by its column.",
  );
  const table = sortable("all-heads", columns, worstFirst(attention.heads));
  place.append(headFilter(attention, table), scrolling("Heads, the worst first", table, "tall"));
  place.append(
    node(
      "p",
      {class: "note"},
      `Blunt: a median peak outside below ${thresholds.blunt}. ~: forecast; <: blunt at the shortest length already.`,
    ),
  );
}

export function showByLength(attention) {
  const {lengths, median_over_heads: median, blunt_heads: blunt, heads, trained_context: trained} = attention;
  const place = section(
    "by-length",
    "By length",
    "Medians over heads of the medians over rows, and how many heads are blunt.",
  );
  if (lengths.length > 1)
    liveChart(place, () => ({
      label: "heads that are blunt",
      percent: true,
      top: 1.02,
      sizes: lengths,
      across: kTokens,
      marks: [trainedMark(attention)],
      curves: [
        {
          name: "blunt heads",
          look: {paint: "vermillion", dash: []},
          points: new Map(lengths.map((n, i) => [n, {value: blunt[i] / heads.length}])),
          format: percent,
        },
      ],
    }));
  const column = (title, field, digits) => [title, (i) => median[field][i], (v) => decimal(v, digits)];
  const table = plainTable(
    [
      ["tokens", (i) => lengths[i], (n) => count(n) + (n > trained ? "*" : "")],
      column("entropy", "entropy", 2),
      column("peak", "peak", 3),
      column("first token", "first", 3),
      column("peak outside", "peak_outside", 3),
      column("entropy outside", "entropy_outside", 2),
      column("spread", "spread", 1),
      ["blunt heads", (i) => blunt[i], (n) => `${count(n)} of ${count(heads.length)}`],
    ],
    [...lengths.keys()],
  );
  table.id = "all-lengths";
  place.append(scrolling("By length", table));
  if (lengths.at(-1) > trained) place.append(node("p", {class: "note"}, "*: past the trained length."));
}

export function showForecasts({forecast}) {
  if (!forecast.errors.length) return;
  const column = (title, name) => [
    title,
    (errors) => errors[name].median,
    (value, errors) => `${decimal(value, 2)} (${decimal(errors[name].ninetieth, 2)})`,
  ];
  const table = sortable(
    "all-forecasts",
    [
      ["known up to", ({from}) => from, count],
      ["forecast at", ({to}) => to, count],
      column("ours", "ours"),
      column("no change", "no_change"),
      column("power law", "power_law"),
    ],
    forecast.errors,
  );
  section(
    "forecast",
    "How good the forecasts are",
    "Where they could be checked: the factor by which the forecast peak outside is off in the median head, and in brackets the factor within which 90\u00a0% of the heads lie.",
  ).append(scrolling("Errors of forecasts", table, "tall"));
}
