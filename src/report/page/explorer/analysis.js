// Paper B's five analyses: what of its findings holds, and a figure for each.

import {decadesAround} from "../drawing/described.js";
import {liveChart} from "../drawing/live_chart.js";
import {plainTable} from "../drawing/sortable.js";
import {scrolling} from "../export/download.js";
import {chips, node, section} from "../frame/dom.js";
import {count, decimal, distinct, kNone, percent, plural} from "../frame/words.js";
import {threeDigits} from "./statistics.js";

const kAnalysisColours = ["blue", "sky", "green", "amber", "vermillion", "purple", "brown", "grey"];
const kDash = [7, 5];
const kKeys = {label: "N, keys selected", symbol: "N", format: count};

export function findingsSentence({findings}) {
  const judged = findings.filter(({holds}) => holds !== null);
  const failing = judged.filter(({holds}) => !holds);
  const kept = judged.length - failing.length;
  const open = findings.length - judged.length;
  return (
    `${count(kept)} of ${plural(judged.length, "finding")} of paper B ${kept === 1 ? "holds" : "hold"} here` +
    (failing.length ? `; not: ${failing.map(({claim}) => claim).join("; ")}` : "") +
    (open ? `. ${plural(open, "finding")} could not be judged.` : ".")
  );
}

export function showAnalysis(analysis) {
  showFindings(analysis);
  showDistances(analysis, ["distance-length", "Distance against length", "How far what a head selects, its N keys with most weight, is from what it leaves out, beside N keys drawn at random. Medians over heads; the band holds half of them. Dashed: what cannot be exceeded."], analysis.distance_length, "length", kTokensL);
  showDistances(analysis, ["distance-top", "Distance against the number of keys", "The same at one length, for more and more keys."], analysis.distance_top, "top", kKeys);
  if (analysis.critical_top) showCritical(analysis);
  if (analysis.separability) showSeparability(analysis.separability);
  if (analysis.gradient) showGradient(analysis.gradient);
}

const kTokensL = {label: "L, tokens", symbol: "L", format: count};

function showFindings(analysis) {
  const {findings, vectors, distance, length, chunks, heads, notes} = analysis;
  const place = section("findings", "What paper B found, and whether it holds here");
  const line = ({claim, found, rule: judged, holds}) => {
    const [style, word] = holds === null ? ["open", "open"] : holds ? ["holds", "holds"] : ["fails", "no"];
    return node(
      "li",
      {},
      node("span", {class: style}, word),
      node("strong", {}, claim),
      node("span", {}, `Here: ${found}.`),
      node("small", {}, `It holds if ${judged}.`),
    );
  };
  if (findings.length) place.append(node("ul", {class: "findings"}, ...findings.map(line)));
  place.append(
    node(
      "p",
      {class: "note"},
      `${count(length)} tokens, ${plural(chunks, "part")} of the text, ${plural(heads, "head")}. ` +
        `Vectors x: ${vectors === "values" ? "the heads’ values" : "hidden states before the layer"}. ` +
        `Judged by the distance “${distance}”.`,
    ),
    ...notes.map((text) => node("p", {class: "note"}, text)),
  );
}

// The two readings of the distance; both were measured.
function readingChips(analysis, changed) {
  const words = {sum: "sum over keys left out", norm: "norm of what is left out"};
  return node(
    "div",
    {class: "controls"},
    chips(
      "radio",
      "Distance",
      Object.entries(words).map(([reading, text]) => ({
        text,
        checked: reading === analysis.distance,
        changed: () => changed(reading),
      })),
    ),
  );
}

// part: of {mean, median, …}; the band is of quartiles over heads. A logarithmic axis has no place for 0 and less.
function overHeads(points, size, spread, name, colour, {part = "median", band = false, dashed = false, log = true} = {}) {
  const kept = (value) => (log && !(value > 0) ? null : value);
  return {
    name,
    look: {paint: colour, dash: dashed ? kDash : []},
    bare: dashed,
    format: (value) => decimal(value, Math.abs(value) < 10 ? 3 : 1),
    points: new Map(
      points
        .filter((point) => kept(point[spread]?.[part] ?? null) !== null)
        .map((point) => {
          const found = point[spread];
          const ends = band ? {low: kept(found.lower_quartile), high: kept(found.upper_quartile)} : {};
          return [point[size], {value: found[part], ...ends}];
        }),
    ),
  };
}

function showDistances(analysis, names, measuredHere, size, across) {
  if (!measuredHere) return;
  const place = section(...names);
  let reading = analysis.distance;
  const describe = () => {
    const points = measuredHere.points[reading];
    const curves = [
      overHeads(points, size, "chosen_bound", "most weight, theorem 1.1", "vermillion", {dashed: true}),
      overHeads(points, size, "drawn_bound", "drawn, bound", "green", {dashed: true}),
      overHeads(points, size, "drawn", "drawn at random", "green"),
      overHeads(points, size, "chosen", "most weight", "vermillion", {band: true}),
    ].filter((c) => c.points.size);
    return {
      label: "distance",
      legend: true,
      sizes: points.map((point) => point[size]),
      across,
      curves,
      ...decadesAround(curves),
    };
  };
  const controls = readingChips(analysis, (chosen) => {
    reading = chosen;
    redraw();
  });
  place.append(controls);
  const redraw = liveChart(place, describe);
  const fixed = size === "length" ? `N = ${count(measuredHere.top)}` : `L = ${count(measuredHere.length)}`;
  place.append(node("p", {class: "note"}, `${fixed}.`));
}

function showCritical(analysis) {
  const {critical_top: critical} = analysis;
  const place = section(
    "critical-top",
    "When chosen keys cannot be told from drawn ones",
    "The Kolmogorov–Smirnov statistic over heads between the distances of chosen and of drawn keys, one curve for each length. A dot is the critical N: the first at which the two are no longer told apart.",
  );
  const table = node("div");
  let reading = analysis.distance;
  const fill = () => table.replaceChildren(scrolling("Critical N", criticalTable(critical, reading)));
  place.append(
    readingChips(analysis, (chosen) => {
      reading = chosen;
      redraw();
      fill();
    }),
  );
  const redraw = liveChart(place, () => criticalChart(critical[reading].against_drawn));
  place.append(table, node("p", {class: "note"}, `Test: ${critical.test}; level ${critical.level}. Of subsets of the heads the median, and the range in brackets.`));
  fill();
}

function criticalChart(lines) {
  const curves = lines.flatMap((line, i) => {
    const look = {paint: kAnalysisColours[i % kAnalysisColours.length], dash: []};
    const at = (k) => [line.tops[k] / line.length, {value: line.statistic[k]}];
    const name = `L = ${count(line.length)}`;
    const whole = {name, look, bare: true, format: threeDigits, points: new Map([...line.tops.keys()].map(at))};
    if (line.critical === null) return [whole];
    const dot = {...whole, name: `${name}, critical N = ${line.critical}`, bare: false, dotSize: 10, unlisted: true};
    return [whole, {...dot, points: new Map([at(line.tops.indexOf(line.critical))])}];
  });
  const sizes = distinct(curves.flatMap((c) => [...c.points.keys()])).sort((a, b) => a - b);
  const ticks = [0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.3, 1].filter((s) => s >= sizes[0] && s <= sizes.at(-1));
  const across = {label: "N / L", symbol: "N / L", format: (share) => decimal(share, 4), ticks};
  return {label: "Kolmogorov–Smirnov", legend: true, top: 1.02, sizes, across, curves};
}

function criticalTable(critical, reading) {
  const {against_drawn: drawn, against_drawn_bound: bound} = critical[reading];
  const top = (value, line) => (value === null ? `>${count(line.largest_tried)}` : count(value));
  const subsets = (lines) => (_, i) => {
    const found = lines[i].subsets;
    return found ? `${top(found.median, lines[i])} (${top(found.lowest, lines[i])}–${top(found.highest, lines[i])})` : kNone;
  };
  const some = drawn[0]?.subsets ? `${count(drawn[0].subsets.heads)} heads` : "subsets";
  return plainTable(
    [
      ["L", (i) => drawn[i].length, count],
      ["critical N, all heads", (i) => drawn[i].critical, (value, i) => top(value, drawn[i])],
      [
        "of L",
        (i) => (drawn[i].critical === null ? null : drawn[i].critical / drawn[i].length),
        (share) => decimal(share, 2),
      ],
      [some, (i) => drawn[i].subsets?.median ?? null, subsets(drawn)],
      ["against the bound", (i) => bound[i].critical, (value, i) => top(value, bound[i])],
      [`${some}, bound`, (i) => bound[i].subsets?.median ?? null, subsets(bound)],
    ],
    [...drawn.keys()],
  );
}

function showSeparability({points, length}) {
  const place = section(
    "separability",
    "How many of the selected keys are told apart",
    "The share of the N selected keys that are nearer to what was selected than anything left out. Means over heads; the band holds half of them. Dashed: what they cannot fall below.",
  );
  const mean = {part: "mean", log: false};
  liveChart(place, () => ({
    label: "share told apart",
    legend: true,
    percent: true,
    top: 1.02,
    sizes: points.map(({top}) => top),
    across: kKeys,
    curves: [
      overHeads(points, "top", "bound", "theorem 2", "grey", {part: "mean", dashed: true}),
      overHeads(points, "top", "counted_bound", "at least, counted", "green", {...mean, dashed: true}),
      overHeads(points, "top", "share", "told apart", "vermillion", {...mean, band: true}),
    ]
      .filter((c) => c.points.size)
      .map((c) => ({...c, format: percent})),
  }));
  place.append(node("p", {class: "note"}, `L = ${count(length)}. Where theorem 2 is 0 or less it says nothing and is not drawn.`));
}

function showGradient({points, steps, length}) {
  const place = section(
    "gradient",
    "How much weights move when scores do",
    "The change of the weights, over the step ε that the scores took in a random direction, against the temperature. Dashed: min{1/(2T), √2/ε}, which no row of softmax exceeds. Dotted: the published min{1/(4T), √2}.",
  );
  let part = "highest";
  place.append(
    node(
      "div",
      {class: "controls"},
      chips(
        "radio",
        "Over heads",
        [
          ["highest", "the largest"],
          ["median", "median and quartiles"],
        ].map(([name, text]) => ({
          text,
          checked: name === part,
          changed: () => {
            part = name;
            redraw();
          },
        })),
      ),
    ),
  );
  const across = {label: "temperature T", symbol: "T", format: String};
  const constant = (line, field, name, look) => ({
    name,
    look,
    bare: true,
    format: threeDigits,
    points: new Map(line.map((point) => [point.temperature, {value: point[field]}])),
  });
  const redraw = liveChart(place, () => {
    const curves = steps.flatMap((step, i) => {
      const line = points.filter((point) => point.step === step);
      const colour = ["vermillion", "green", "blue", "amber", "purple"][i % 5];
      return [
        constant(line, "bound", `ε = ${step}, at most`, {paint: colour, dash: kDash}),
        overHeads(line, "temperature", "g", `ε = ${step}`, colour, {part, band: part === "median"}),
      ];
    });
    const first = points.filter(({step}) => step === steps[0]);
    curves.push(constant(first, "published_bound", "published", {paint: "grey", dash: [2, 4]}));
    const sizes = distinct(points.map(({temperature}) => temperature));
    return {label: "change / ε", legend: true, sizes, across, curves, ...decadesAround(curves)};
  });
  place.append(node("p", {class: "note"}, `L = ${count(length)}. Means over rows of each head.`));
}
