// The page of `sharpmax attend --demo`: one needle among more and more keys, under every normalizer.

import {
  columnsThere, kNoCsv, normalizerChips, rowObjects, shareBar, showAllNumbers, wantedAtFirst,
} from "../drawing/kind_parts.js";
import {liveChart} from "../drawing/live_chart.js";
import {looksOf} from "../drawing/looks.js";
import {plainTable} from "../drawing/sortable.js";
import {scrolling} from "../export/download.js";
import {node, rule, section} from "../frame/dom.js";
import {offerRow} from "../frame/rows.js";
import {showTiles, showTitle, showVerdict, tile} from "../frame/view.js";
import {count, decimal, distinct, family, percent, plural, setting, shortCount} from "../frame/words.js";

const kDemoStory = ["softmax", "adaptive", "entropy_target", "entmax15", "hard"];
const kHalf = 0.5 - 2 ** -24; // a half that one rounding to float took down is a half
export const kKeysAcross = {label: "keys n", symbol: "n", format: count};

export function demoLabel({gap}) {
  return `a needle of score ${setting(gap)}`;
}

// One line for each normalizer: its rows by size, and where the needle falls below one half.
function demoLines(rows) {
  return distinct(rows.map((row) => row.normalizer)).map((name) => {
    const cells = rows.filter((row) => row.normalizer === name).sort((a, b) => a.n - b.n);
    const fall = cells.find((row) => !(row.needle_share >= kHalf)) ?? null;
    return {name, cells, fall, last: cells.at(-1)};
  });
}

// Those that hold first, then by how long they do.
function longestFirst(lines) {
  return [...lines].sort(
    (a, b) => (b.fall?.n ?? Infinity) - (a.fall?.n ?? Infinity) || b.last.needle_share - a.last.needle_share,
  );
}

export function showDemo(data) {
  const rows = rowObjects(data.table);
  const lines = demoLines(rows);
  const sizes = distinct(rows.map((row) => row.n)).sort((a, b) => a - b);
  showTitle("one needle among more and more keys", `One needle among up to ${count(sizes.at(-1) ?? 0)} keys`);
  if (!rows.length) return showVerdict("These results hold no row.");
  showVerdict(...demoVerdict(data, lines, sizes));
  showTiles(...demoTiles(lines));
  const looks = looksOf(lines.map(({name}) => name));
  if (sizes.length > 1) showDemoCurves(lines, sizes, looks);
  showDemoFalls(lines, sizes, looks);
  showAllNumbers(data, demoColumns(data.table), rows);
  offerRow(needleRow(data.gap));
}

function demoVerdict({gap}, lines, sizes) {
  const largest = sizes.at(-1);
  const among = `among ${count(largest)} keys`;
  const made = [];
  const plain = lines.find(({name}) => family(name) === "softmax");
  if (plain)
    made.push(
      node(
        "p",
        {},
        `A key scores ${setting(gap)} above the mean of the others. Under `,
        rule(plain.name),
        ` it has ${percent(plain.cells[0].needle_share)} of the weight among ${count(sizes[0])} keys and ` +
          `${percent(plain.last.needle_share)} ${among}` +
          (plain.fall ? `; at ${count(plain.fall.n)} it has less than half.` : "."),
      ),
    );
  const holding = longestFirst(lines).filter(({fall}) => fall === null);
  const named = holding.slice(0, 4).flatMap(({name}, i) => [i ? ", " : "", rule(name)]);
  const rest = holding.length - Math.min(4, holding.length);
  made.push(
    holding.length
      ? node(
          "p",
          {},
          `${count(holding.length)} of ${plural(lines.length, "normalizer")} still give it half or more ${among}: `,
          ...named,
          rest ? ` and ${plural(rest, "other")}.` : ".",
        )
      : node("p", {}, `None of the ${plural(lines.length, "normalizer")} gives it half ${among}.`),
  );
  return made;
}

function demoTiles(lines) {
  const colour = (name) => looksOf(lines.map((line) => line.name)).get(name).paint;
  const of = (name) => lines.find((line) => family(line.name) === name);
  const share = (line) =>
    line
      ? tile(
          percent(line.last.needle_share),
          rule(line.name),
          `the needle’s share among ${count(line.last.n)} keys`,
          colour(line.name),
        )
      : null;
  const plain = of("softmax");
  return [
    share(plain),
    plain?.fall
      ? tile(count(plain.fall.n), "keys", "where softmax leaves it less than half", colour(plain.name))
      : null,
    share(of("adaptive")),
    share(of("entropy_target")),
    plain
      ? tile(decimal(plain.last.entropy, 2), "nats", `entropy of softmax among ${count(plain.last.n)} keys`, "grey")
      : null,
  ];
}

function demoCurve({name, cells}, looks, field, format) {
  return {name, look: looks.get(name), points: new Map(cells.map((row) => [row.n, {value: row[field]}])), format};
}

function showDemoCurves(lines, sizes, looks) {
  const names = lines.map(({name}) => name);
  const wanted = wantedAtFirst(names, kDemoStory);
  const chosen = () => lines.filter(({name}) => wanted.has(name));
  const redraws = [];
  const place = section(
    "share",
    "The needle’s share",
    "How much of the row’s weight the one needle gets: its score stays, only the number of keys grows.",
  );
  place.append(normalizerChips(names, looks, wanted, () => redraws.forEach((redraw) => redraw())));
  redraws.push(
    liveChart(place, () => ({
      label: "share of the weight",
      legend: true,
      percent: true,
      top: 1.02,
      sizes,
      across: kKeysAcross,
      reference: {name: "one half", value: () => 0.5},
      curves: chosen().map((line) => demoCurve(line, looks, "needle_share", percent)),
    })),
  );
  const below = section(
    "entropy",
    "Entropy",
    "Of the whole row, in nats: 0 is all weight on one key, ln n an equal share for each. Normalizers as chosen above.",
  );
  redraws.push(
    liveChart(below, () => ({
      label: "entropy, nats",
      legend: true,
      top: 1.05 * Math.log(sizes.at(-1)),
      sizes,
      across: kKeysAcross,
      reference: {name: "ln n: equal weights", value: (n) => Math.log(n), rising: true},
      curves: chosen().map((line) => demoCurve(line, looks, "entropy", (v) => decimal(v))),
    })),
  );
}

function showDemoFalls(lines, sizes, looks) {
  const place = section(
    "falls",
    "Who holds, who lets go",
    `Where the needle first has less than half of the weight, and what it has among ${count(sizes.at(-1))} keys.`,
  );
  const bar = (_, {last, name}) => shareBar(0, last.needle_share ?? 0, looks.get(name).paint, 0.5);
  const table = plainTable(
    [
      ["normalizer", ({name}) => name, "words"],
      ["below half at", ({fall}) => fall?.n ?? null, (n) => (n === null ? "not here" : count(n))],
      [`share among ${shortCount(sizes.at(-1))}`, ({last}) => last.needle_share, percent],
      ["from none to all", ({last}) => last.needle_share, bar, kNoCsv],
    ],
    longestFirst(lines),
  );
  table.id = "all-falls";
  table.className = "with-bars";
  place.append(scrolling("Who holds, who lets go", table));
}

function demoColumns(table) {
  const three = (value) => decimal(value, 3);
  return columnsThere(table, [
    ["normalizer", (r) => r.normalizer, "words"],
    ["n", (r) => r.n, count],
    ["needle’s share", (r) => r.needle_share, percent],
    ["entropy", (r) => r.entropy, three],
    ["effective support", (r) => r.effective_support, (v) => decimal(v, 1), "effective_support"],
    ["support", (r) => r.support, count, "support"],
    ["largest weight", (r) => r.peak_weight, three, "peak_weight"],
    ["needle’s weight", (r) => r.needle_weight, three, "needle_weight"],
    ["sum of weights", (r) => r.mass, three, "mass"],
    ["temperature β", (r) => r.temperature, three, "temperature"],
    ["threshold τ", (r) => r.threshold, three, "threshold"],
    ["heaviest key", (r) => r.peak_key, count, "peak_key"],
    ["the needle", (r) => r.needle_key, count, "needle_key"],
  ]);
}

// As the demonstration draws it: all but one score are those of a normal distribution, evenly.
function needleRow(gap) {
  const others = 255;
  const scores = Array.from({length: others}, (_, i) => normalQuantile((i + 0.5) / others));
  return {name: `needle of score ${setting(gap)}`, n: others + 1, quantiles: [...scores, gap].sort((a, b) => a - b)};
}

// By adding up the density: good to some 1e-5, which no eye can see.
function normalQuantile(share) {
  const step = 1 / 512;
  let [at, sum] = [-6, 0];
  for (; at < 6 && sum < share; at += step)
    sum += (step * Math.exp(-((at + step / 2) ** 2) / 2)) / Math.sqrt(2 * Math.PI);
  return at;
}
