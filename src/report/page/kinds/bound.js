// The page of `sharpmax bound --spread`: how sharp and how blunt a row can be at all, under every normalizer.

import {decadesAround} from "../drawing/described.js";
import {
  columnsThere, kNoCsv, normalizerChips, rowObjects, shareBar, showAllNumbers, wantedAtFirst,
} from "../drawing/kind_parts.js";
import {liveChart} from "../drawing/live_chart.js";
import {looksOf} from "../drawing/looks.js";
import {plainTable, sortable} from "../drawing/sortable.js";
import {scrolling} from "../export/download.js";
import {chips, choice, node, rule, section} from "../frame/dom.js";
import {offerRow} from "../frame/rows.js";
import {showTiles, showTitle, showVerdict, tile} from "../frame/view.js";
import {count, decimal, distinct, family, kNone, plural, setting, shortCount, sizeFromLog10} from "../frame/words.js";
import {kKeysAcross} from "./demo.js";

const kBoundStory = ["softmax", "entmax15", "ssmax", "adaptive", "entropy_target", "softpick"];

export function boundLabel({spread}) {
  return `scores at most ${setting(spread)} apart`;
}

export function showBound(data) {
  const rows = rowObjects(data.table);
  const sizes = distinct(rows.map(({n}) => n)).sort((a, b) => a - b);
  const names = distinct(rows.map(({normalizer}) => normalizer));
  showTitle(
    "bounds, not measurements",
    `How sharp a row can be whose scores lie at most ${setting(data.spread)} apart`,
  );
  showVerdict(...boundVerdict(data, rows, sizes));
  if (rows.length) {
    showTiles(...boundTiles(data, rows, sizes.at(-1)));
    const looks = looksOf(names);
    if (sizes.length > 1) showBoundCurves(rows, sizes, names, looks);
    showRanges(rows, sizes, looks, data.peak);
    showLosing(data);
  }
  showRefused(data);
  if (data.softmax.length) showLemma(data);
  if (rows.length) showAllNumbers(data, boundColumns(data.table), rows, kBoundWords);
  offerRow(twoLevelRow(...data.scores));
}

const kBoundWords =
  "Weights are shares of a row’s sum. At worst: of rows with one first place; with ties: of all rows. Ceiling: no row passes it, where the largest was found by a search. As used: weights that need not sum to one. A heading sorts by its column.";

function keysText(n) {
  if (n === null) return kNone;
  return n <= 1e15 ? count(n) : n.toExponential(1);
}

export function weightText(value) {
  if (value === null) return kNone;
  if (value === 0 || value === 1) return String(value);
  return value >= 0.001 ? (1 - value < 5e-4 ? "0.999…" : value.toFixed(3)) : value.toExponential(1);
}

// What the bound of softmax says of the largest size, and who may do better.
function boundVerdict({softmax, softmax_lost: lost, spread, beta}, rows, sizes) {
  const scaled = beta === 1 ? "" : `, times ${setting(beta)}`;
  const last = softmax.at(-1);
  const made = [
    node(
      "p",
      {},
      `Scores at most ${setting(spread)} apart${scaled}: from ${sizeFromLog10(lost.log10_n)} keys on no key can have ` +
        `${setting(lost.peak)} of the weight under `,
      rule("softmax"),
      last ? `; among ${keysText(last.n)} none has more than ${weightText(last.tight.high)}.` : ".",
    ),
  ];
  const free = rows.filter((row) => row.n === sizes.at(-1) && row.high >= 0.999).map((row) => row.normalizer);
  if (free.length)
    made.push(
      node(
        "p",
        {},
        `${count(free.length)} of ${plural(distinct(rows.map((r) => r.normalizer)).length, "normalizer")} can still put all weight on one key there: `,
        ...free.slice(0, 5).flatMap((name, i) => [i ? ", " : "", rule(name)]),
        free.length > 5 ? ` and ${plural(free.length - 5, "other")}.` : ".",
      ),
    );
  return made;
}

function boundTiles({softmax, softmax_lost: lost}, rows, largest) {
  const last = softmax.at(-1);
  return [
    tile(
      sizeFromLog10(lost.log10_n),
      "keys",
      `from here on no key has ${setting(lost.peak)} under softmax`,
      "vermillion",
    ),
    last ? tile(weightText(last.tight.high), "at most, softmax", `among ${keysText(last.n)} keys`, "vermillion") : null,
    ...["entmax15", "adaptive", "entropy_target"].map((name) => {
      const row = rows.find((one) => one.n === largest && family(one.normalizer) === name);
      return row
        ? tile(
            weightText(row.high),
            rule(row.normalizer),
            `at most, among ${keysText(largest)} keys; at least ${weightText(row.untied_low)}`,
            looksOf([row.normalizer]).get(row.normalizer).paint,
          )
        : null;
    }),
  ];
}

const kBoundEnds = [
  {name: "at best", field: "high"},
  {name: "at worst", field: "untied_low"},
];

function showBoundCurves(rows, sizes, names, looks) {
  const wanted = wantedAtFirst(names, kBoundStory);
  const state = {end: kBoundEnds[0], log: false};
  const place = section(
    "peak",
    "The largest weight of a row",
    "The most that the heaviest key of any such row can have, or the least that it must have: of rows with one first place, no row of these scores passes it.",
  );
  const redraws = [];
  const changed = () => redraws.forEach((redraw) => redraw());
  place.append(normalizerChips(names, looks, wanted, changed));
  const ends = kBoundEnds.map((end) => ({
    text: end.name,
    checked: end === state.end,
    changed: () => {
      state.end = end;
      changed();
    },
  }));
  const axis = (on) => {
    state.log = on;
    changed();
  };
  place.append(
    node(
      "div",
      {class: "controls"},
      chips("radio", "Largest weight", ends),
      chips("checkbox", "Weights", [{text: "logarithmic", checked: false, changed: axis}]),
    ),
  );
  const curve = (name) => ({
    name,
    look: looks.get(name),
    format: weightText,
    points: new Map(rows.filter((row) => row.normalizer === name).map((row) => [row.n, {value: row[state.end.field]}])),
  });
  redraws.push(
    liveChart(place, () => {
      const curves = names.filter((name) => wanted.has(name)).map(curve);
      return {
        label: `largest weight, ${state.end.name}`,
        legend: true,
        sizes,
        across: {...kKeysAcross, format: keysText, tick: shortKeys},
        curves,
        ...(state.log ? {bottom: decadesAround(curves).bottom, top: 1} : {top: 1.02}),
      };
    }),
  );
}

function shortKeys(n) {
  const text = shortCount(n);
  return text.length > 6 || n % 1 ? n.toExponential(0).replace("+", "") : text;
}

function showRanges(rows, sizes, looks, peak) {
  const place = section(
    "ranges",
    "At worst and at best",
    "From the bluntest to the sharpest row: bars from 0 to all the weight on one key." +
      (peak === null ? "" : ` Dotted: ${setting(peak)}, the weight that was asked for.`),
  );
  const holder = node("div");
  const texts = sizes.map(keysText);
  const show = (n) => {
    const here = rows.filter((row) => row.n === n).sort((a, b) => b.high - a.high || b.untied_low - a.untied_low);
    const table = plainTable(
      [
        ["normalizer", (r) => r.normalizer, "words"],
        ["at worst", (r) => r.untied_low, weightText],
        ["at best", (r) => r.high, (v, r) => (r.found_by === "search" ? "~" : "") + weightText(v)],
        [
          "from 0 to 1",
          (r) => r.high,
          (v, r) => shareBar(r.untied_low ?? 0, v ?? 0, looks.get(r.normalizer).paint, peak),
          kNoCsv,
        ],
      ],
      here,
    );
    table.id = "all-ranges";
    table.className = "with-bars";
    holder.replaceChildren(scrolling("At worst and at best", table));
  };
  if (sizes.length > 1)
    place.append(
      node(
        "div",
        {class: "controls"},
        choice("Keys", texts, texts.at(-1), (text) => show(sizes[texts.indexOf(text)])),
      ),
    );
  place.append(holder);
  show(sizes.at(-1));
  if (rows.some((row) => row.found_by === "search"))
    place.append(
      node(
        "p",
        {class: "note"},
        "~: the best row that a search found; a row may be better, but none passes the ceiling below.",
      ),
    );
  if (rows.some((row) => row.moves_with_level)) place.append(node("p", {class: "note"}, levelNote(rows)));
}

function levelNote(rows) {
  const names = distinct(rows.filter((row) => row.moves_with_level).map((row) => row.normalizer)).join(", ");
  return `These change when all scores move together, so their bounds are of scores at this level: ${names}.`;
}

function showLosing({normalizers, peak}) {
  const asked = normalizers.filter(({loss}) => loss);
  if (!asked.length) return;
  const lostText = ({lost, regained}) => {
    if (lost === null) return "never";
    if (lost === 1 && regained === null) return "always";
    return keysText(lost) + (regained === null ? "" : ` to ${keysText(regained - 1)}`);
  };
  const table = sortable(
    "all-losses",
    [
      ["normalizer", (e) => e.normalizer, "words"],
      ["lost to every row from", ({loss}) => loss.lost, (_, {loss}) => lostText(loss)],
      ["sure of every row up to", ({loss}) => loss.sure, (sure) => (sure === null ? "any n" : keysText(sure))],
    ],
    asked,
  );
  section(
    "lost",
    `Where a weight of ${setting(peak)} is lost`,
    "From so many keys on no row can give it to any key; up to so many every row with one first place does.",
  ).append(scrolling("Where the weight is lost", table));
}

function showRefused({normalizers}) {
  const refused = normalizers.filter((entry) => entry.refused);
  if (!refused.length) return;
  section("refused", "No bound is known of these", "They were asked for, and this is why there is no number.").append(
    node(
      "ul",
      {class: "lines"},
      ...refused.map((entry) => node("li", {}, rule(entry.normalizer), `: ${entry.refused}`)),
    ),
  );
}

function showLemma({softmax, softmax_lost: lost}) {
  const place = section(
    "lemma",
    "Softmax: as published, and tight",
    `Every weight of a row lies between these. A weight of ${setting(lost.peak)} is lost from ${sizeFromLog10(lost.log10_n)} keys on; as published, from ${sizeFromLog10(lost.log10_n_published)}.`,
  );
  const table = plainTable(
    [
      ["keys", (s) => s.n, keysText],
      ["at least", (s) => s.tight.low, weightText],
      ["at most", (s) => s.tight.high, weightText],
      ["as published, from", (s) => s.published.low, weightText],
      ["to", (s) => s.published.high, (v) => (v > 1 ? decimal(v, 1) : weightText(v))],
    ],
    softmax,
  );
  table.id = "all-lemma";
  place.append(scrolling("Softmax, as published and tight", table));
}

function boundColumns(table) {
  const yes = (value) => (value ? "yes" : "");
  return columnsThere(table, [
    ["normalizer", (r) => r.normalizer, "words"],
    ["n", (r) => r.n, keysText],
    ["at worst", (r) => r.untied_low, weightText],
    ["with ties", (r) => r.low, weightText, "low"],
    ["at best", (r) => r.high, weightText],
    ["ceiling", (r) => r.ceiling, weightText, "ceiling"],
    ["as used, from", (r) => r.weight_low, weightText, "weight_low"],
    ["to", (r) => r.weight_high, weightText, "weight_high"],
    ["found by", (r) => r.found_by, (v) => v, "found_by"],
    ["sums to one", (r) => r.sums_to_one, yes, "sums_to_one"],
    ["moves with level", (r) => r.moves_with_level, yes, "moves_with_level"],
  ]);
}

// The sharpest row that such scores allow under softmax: one at the top, all others at the bottom.
export function twoLevelRow(bottom, top, n = 256) {
  return {
    name: `one score ${setting(top - bottom)} above all others`,
    n,
    quantiles: [...Array(n - 1).fill(bottom), top],
  };
}
