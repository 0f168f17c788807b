// The page of `sharpmax perplexity`: how well a model predicts a text, by how much of it it has seen.

import {kNoCsv, shareBar, showAllNumbers} from "../drawing/kind_parts.js";
import {liveChart} from "../drawing/live_chart.js";
import {sortable} from "../drawing/sortable.js";
import {scrolling} from "../export/download.js";
import {node, rule, section} from "../frame/dom.js";
import {showTiles, showTitle, showVerdict, tile} from "../frame/view.js";
import {count, decimal, fileName, kNone, percent, shortCount} from "../frame/words.js";

const kTokensBefore = {label: "tokens before", symbol: "after", format: count};

export function lossesLabel({settings}) {
  return `loss of ${fileName(settings.model.file)} under ${normalizerOf(settings.model)}`;
}

// One normalizer for all heads, or a table of them.
function normalizerOf({normalizer}) {
  return normalizer ?? "a table of normalizers";
}

export function showLosses(data) {
  const {all, settings} = data;
  const buckets = byPosition(data.buckets ?? []);
  showTitle("loss by position", `${fileName(settings.model.file)}: loss on ${fileName(settings.text)}`);
  if (!data.complete) showVerdict("This run was not finished: what was measured so far is shown.");
  if (!all) return showVerdict("No chunk of the text was read to its end, so there is nothing to show.");
  showVerdict(lossSentence(data), ...withContext(buckets));
  showTiles(...lossTiles(data));
  showLossByPosition({...data, buckets});
  showChunks(data);
  showAllNumbers(data, kBucketColumns, [...buckets, {...all, all: true}]);
}

export function nats(value) {
  return decimal(value, 3);
}

function lossSentence({all, settings, likeliest_right: right}) {
  const ends = all.low === null ? "" : ` (95\u00a0% interval ${nats(all.low)} to ${nats(all.high)})`;
  return node(
    "p",
    {},
    `Over ${count(all.tokens)} tokens, under `,
    rule(normalizerOf(settings.model)),
    `, the loss is ${nats(all.loss)} nats per token${ends}: a perplexity of ${decimal(all.perplexity, 2)}. ` +
      `${percent(right)} of the tokens were the model’s first guess.`,
  );
}

// Does more text before a token make it easier to guess? Told where the intervals tell.
function withContext(buckets) {
  const [first, last] = [buckets[0], buckets.at(-1)];
  if (!first || first === last || first.loss === null || last.loss === null) return [];
  const change = last.loss - first.loss;
  const apart = first.low !== null && last.low !== null && (last.high < first.low || last.low > first.high);
  return [
    `After ${rangeText(last)} tokens it is ${nats(last.loss)}, ` +
      `${nats(Math.abs(change))} ${change < 0 ? "less" : "more"} than in the first ${count(first.to)}` +
      (apart ? "." : ": within their intervals, so no more than a hint."),
  ];
}

export function rangeText({from, to}) {
  return `${count(from)}–${count(to)}`;
}

function lossTiles({all, buckets, likeliest_right: right}) {
  const last = buckets.at(-1);
  return [
    tile(decimal(all.perplexity, 2), "perplexity", `over ${count(all.tokens)} tokens`, "vermillion"),
    tile(
      nats(all.loss),
      "nats per token",
      all.low === null ? "mean loss" : `${nats(all.low)} to ${nats(all.high)}`,
      "vermillion",
    ),
    buckets.length > 1 ? tile(nats(last.loss), "nats per token", `after ${rangeText(last)} tokens`, "blue") : null,
    tile(percent(right), "first guesses right", "the likeliest token was the next", "grey"),
  ];
}

// A bucket stands where its middle is on a logarithmic axis; the first, which begins at no token at all, as if it were
// as wide as the others.
export function bucketMiddle({from, to}) {
  return Math.sqrt(Math.max(from, to / 4) * to);
}

export function byPosition(buckets) {
  return [...buckets].sort((a, b) => bucketMiddle(a) - bucketMiddle(b));
}

// Losses do not begin at 0: the chart shows what differs.
export function endsAround(values, least) {
  const known = values.filter((value) => value !== null && value !== undefined);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const room = Math.max(least, 0.12 * (high - low));
  return {least: low - room, top: high + room};
}

export function bucketAxis(buckets) {
  const bucketAt = (n) => buckets.find((bucket) => bucketMiddle(bucket) === n) ?? {from: n, to: n};
  const short = ({from, to}) => `${shortCount(from)}–${shortCount(to)}`;
  return {...kTokensBefore, format: (n) => rangeText(bucketAt(n)), tick: (n) => short(bucketAt(n))};
}

function showLossByPosition({buckets, settings, all}) {
  const place = section(
    "by-position",
    "Loss by position",
    "Mean loss of the tokens that have so many before them, in nats, with 95\u00a0% intervals. A point stands in the middle of its range.",
  );
  if (buckets.length < 2)
    return place.append(
      node("p", {class: "note"}, "Chunks are too short to tell positions apart; a greater --length does."),
    );
  liveChart(place, () => ({
    label: "nats per token",
    legend: true,
    ...endsAround(
      buckets.flatMap(({loss, low, high}) => [loss, low, high]),
      0.02,
    ),
    sizes: buckets.map(bucketMiddle),
    across: bucketAxis(buckets),
    reference: {name: "all tokens", value: () => all.loss},
    curves: [
      {
        name: normalizerOf(settings.model),
        look: {paint: "vermillion", dash: []},
        format: nats,
        points: new Map(
          buckets.map((bucket) => [bucketMiddle(bucket), {value: bucket.loss, low: bucket.low, high: bucket.high}]),
        ),
      },
    ],
  }));
}

export const kRangeAsCsv = {
  csv: [
    ["from", (b) => b.from],
    ["to", (b) => b.to],
  ],
};
const kBucketColumns = [
  ["tokens before", (b) => (b.all ? -1 : b.from), (_, b) => (b.all ? "all" : rangeText(b)), kRangeAsCsv],
  ["tokens", (b) => b.tokens, count],
  ["loss", (b) => b.loss, (v) => decimal(v, 4)],
  ["95 % from", (b) => b.low, (v) => decimal(v, 4)],
  ["to", (b) => b.high, (v) => decimal(v, 4)],
  ["perplexity", (b) => b.perplexity, (v) => decimal(v, 2)],
];

// Parts of the text differ: by how much is what the intervals are made of.
function showChunks({chunks = []}) {
  if (!chunks.length) return;
  const place = section(
    "chunks",
    "Along the text",
    "Each chunk is read from an empty cache. They differ, as parts of a text do; the intervals above come from this.",
  );
  const most = Math.max(...chunks.map(({loss}) => loss ?? 0), 1e-9);
  const table = sortable(
    "all-chunks",
    [
      ["first token", (c) => c.first, count],
      ["tokens", (c) => c.tokens, count],
      ["loss", (c) => c.loss, (v) => decimal(v, 4)],
      ["first guess right", (c) => c.likeliest / Math.max(1, c.tokens), percent],
      [
        "of the largest",
        (c) => c.loss,
        (loss) => (loss === null ? kNone : shareBar(0, loss / most, "vermillion")),
        kNoCsv,
      ],
    ],
    chunks,
  );
  table.className = "with-bars";
  place.append(scrolling("Losses of the chunks", table, "tall"));
}
