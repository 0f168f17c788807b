// The page of `sharpmax bound MODEL`: what the weights alone prove of every head, whatever the text.

import {headGrid, headName} from "../drawing/grid.js";
import {rowObjects} from "../drawing/kind_parts.js";
import {colourLegend, ramp} from "../drawing/ramp.js";
import {scaleBetween} from "../explorer/statistics.js";
import {scrolling} from "../export/download.js";
import {choice, definitions, node, section, shown} from "../frame/dom.js";
import {offerRow, useRow} from "../frame/rows.js";
import {findPlaces, rememberPlace, showTiles, showTitle, showVerdict, tile} from "../frame/view.js";
import {count, fileName, kNone, percent, plural, setting, sizeFromLog10} from "../frame/words.js";
import {twoLevelRow, weightText} from "./bound.js";
import {showAttained, showBoundLayers, showBoundTable} from "./bound_model_tables.js";

export function boundModelLabel({model}) {
  return `bounds of ${fileName(model.file)}`;
}

export function showBoundModel(data) {
  const heads = rowObjects(data.table);
  for (const row of data.attained) {
    const head = heads.find((one) => one.layer === row.layer && one.head === row.head);
    if (head) head.attained = row;
  }
  showTitle("bounds of a model", `${fileName(data.model.file)}: what no input can do`);
  showVerdict(data.verdict);
  if (!heads.length) return;
  showTiles(...boundModelTiles(data, heads));
  const open = showBoundHeads(data, heads);
  showAttained(
    heads.filter(({attained}) => attained),
    open,
  );
  showBoundLayers(heads);
  showBoundTable(data, heads, open);
  const surest = surestFirst(heads)[0];
  if (surest.spread !== null) offerRow(headRow(surest));
}

// The sharpest row that the certificate of a head allows.
function headRow(head) {
  return {
    ...twoLevelRow(0, head.spread),
    name: `head ${headName(head)}: one score ${spreadText(head.spread)} above all others`,
  };
}

export function surestFirst(heads) {
  return [...heads].sort((a, b) => (a.spread ?? Infinity) - (b.spread ?? Infinity));
}

export function spreadText(value) {
  if (value === null || value === undefined) return kNone;
  return value < 100 ? value.toFixed(1) : count(value);
}

export function lengthText({log10_length: log10}) {
  return sizeFromLog10(log10);
}

function boundModelTiles({horizon, peak, attained}, heads) {
  const useful = heads.filter((head) => head.useful).length;
  const surest = surestFirst(heads)[0];
  const sharp = attained.filter((row) => row.peak > peak).length;
  return [
    tile(
      count(useful),
      `of ${plural(heads.length, "head")}`,
      `have a length within ${count(horizon)} tokens from which no key has ${setting(peak)}`,
      useful ? "green" : "vermillion",
    ),
    tile(spreadText(surest.spread), "the least spread", `scores of head ${headName(surest)} lie within it`, "blue"),
    tile(sizeFromLog10(surest.log10_length), "tokens", `the surest length, head ${headName(surest)}`, "blue"),
    attained.length
      ? tile(
          count(sharp),
          `of ${plural(attained.length, "head")} tried`,
          `some text still gives one key more than ${setting(peak)} at ${count(Math.max(...attained.map(({length}) => length)))} tokens`,
          "vermillion",
        )
      : null,
  ];
}

const kBoundStatistics = [
  {
    name: "length at which a peak is lost",
    field: "log10_length",
    low: sizeFromLog10,
    say: (head) => `lost from ${lengthText(head)} tokens on${head.useful ? "" : ", so nothing useful is promised"}`,
  },
  {
    name: "spread at most",
    field: "spread",
    low: spreadText,
    say: (head) => `scores spread at most ${spreadText(head.spread)}`,
  },
  {
    name: "share of it reached",
    field: "reached",
    low: percent,
    say: (head) => `${percent(head.reached)} of the certified spread reached`,
  },
];

// The share of the certified spread that tokens, or hidden states of the right size, were found to reach.
function reachedShare({attained, norm_reached: reached, spread}) {
  const found = attained?.spread ?? reached ?? null;
  return found === null || !spread ? null : Math.min(1, found / spread);
}

function showBoundHeads(data, heads) {
  for (const head of heads) head.reached = reachedShare(head);
  const state = {statistic: kBoundStatistics[0], head: null};
  const readout = node("p", {class: "readout"}, "Point at a cell to read it.");
  const legend = node("div");
  const panel = node("div", {id: "head"});
  const say = (head) => (readout.textContent = shown(`Head ${headName(head)}: ${state.statistic.say(head)}`));
  const grid = headGrid(heads, {say, choose: (head) => choose(head)});
  const open = (head, scroll) => {
    if (state.head) grid.cells.get(state.head).setAttribute("aria-selected", "false");
    state.head = head;
    grid.cells.get(head).setAttribute("aria-selected", "true");
    grid.stopAt(head);
    panel.replaceChildren(...headWords(head, data));
    if (scroll) panel.scrollIntoView({block: "nearest"});
  };
  const choose = (head) => {
    open(head, true);
    if (head.spread !== null) useRow(headRow(head));
    rememberPlace(`head-${headName(head)}`);
  };
  findPlaces((place) => {
    const head = heads.find((one) => place === `head-${headName(one)}`);
    if (head) open(head, true);
    return head !== undefined;
  });
  const colour = () => {
    const {field, low, say: words} = state.statistic;
    const known = heads.map((head) => head[field]).filter((value) => value !== null && value !== undefined);
    const scale = known.length ? scaleBetween(known.map(logOf(field)), (v) => low(unlogOf(field)(v))) : null;
    legend.replaceChildren(...(scale ? [colourLegend(scale.low, scale.high)] : []));
    for (const [head, cell] of grid.cells) {
      const value = head[field] ?? null;
      cell.className = value === null ? "unknown" : "";
      cell.style.backgroundColor = value === null ? "" : ramp(scale.share(logOf(field)(value)));
      cell.dataset.value = value;
      cell.setAttribute("aria-label", shown(`Head ${headName(head)}: ${words(head)}`));
    }
  };
  const names = kBoundStatistics.map(({name}) => name);
  section(
    "heads",
    "Every head",
    "One cell is one head, a layer to a line. Dark: a length is near; bright: astronomic, so that the bound promises nothing. Choose one by click, or by arrow keys and Enter.",
  ).append(
    node(
      "div",
      {class: "controls"},
      choice("Colour by", names, state.statistic.name, (name) => {
        state.statistic = kBoundStatistics[names.indexOf(name)];
        colour();
      }),
    ),
    node(
      "div",
      {class: "heads-beside"},
      node("div", {}, scrolling("Layers and heads", grid.table), legend, readout),
      panel,
    ),
  );
  colour();
  open(surestFirst(heads)[0], false);
  return choose;
}

// Spreads and lengths cover orders of magnitude; their colours go by the logarithm.
function logOf(field) {
  return (value) => (field === "reached" ? value : Math.log10(Math.max(value, 1e-3)));
}

function unlogOf(field) {
  return (value) => (field === "reached" ? value : 10 ** value);
}

function headWords(head, {peak, horizon}) {
  const claim = head.useful
    ? `From ${sizeFromLog10(head.log10_length)} tokens on no input at all can give any key more than ${setting(peak)} of the weight.`
    : `The bound says nothing useful: it allows lengths up to ${sizeFromLog10(head.log10_length)} tokens, and a text has at most ${count(horizon)}.`;
  const pairs = [
    ["spread at most", spreadText(head.spread)],
    ["by norms of the weights", spreadText(head.norm_spread)],
    ["by all pairs of tokens", spreadText(head.vocabulary_spread)],
    ["share of it reached", percent(head.reached ?? null)],
    ...(head.window ? [["window", `${count(head.window)} keys`]] : []),
  ];
  const made = [node("h3", {}, `Head ${headName(head)}`), node("p", {}, claim), definitions(pairs)];
  if (head.attained) made.push(node("p", {}, ...attainedWords(head.attained)));
  return made;
}

export function tokenText({text, token}) {
  return node("code", {title: `token ${token}`}, text === "" ? `token ${token}` : `‘${text}’`);
}

function attainedWords({length, spread, peak, query, high, low}) {
  return [
    `A sequence of ${count(length)} tokens was found whose scores spread over ${spreadText(spread)}, and one that gives a key ${weightText(peak)} of the weight. The query `,
    tokenText(query),
    " scores highest on ",
    tokenText(high),
    `, ${plural(high.offset, "token")} before it, and lowest on `,
    tokenText(low),
    `, ${plural(low.offset, "token")} before.`,
  ];
}
