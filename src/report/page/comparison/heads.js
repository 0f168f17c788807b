// Two audits of models of one shape, head by head: a grid of differences, and the heads that changed most.

import {gridDrawing, headGrid, headName} from "../drawing/grid.js";
import {colourLegend, diverging} from "../drawing/ramp.js";
import {sortable} from "../drawing/sortable.js";
import {threeDigits} from "../explorer/statistics.js";
import {scrolling} from "../export/download.js";
import {choice, node, section, shown} from "../frame/dom.js";
import {count} from "../frame/words.js";
import {kMedians} from "./audit.js";
import {commonTo, lessBaseline, resultLink, signedBy} from "./comparison.js";

const kMostChanged = 50; // lines of the table

// Audits can be told apart head by head if they have the same heads, and a length in common.
function sameHeads(a, b) {
  const names = ({data}) => data.attention.heads.map(headName).sort().join(" ");
  return names(a) === names(b) && commonLengths(a, b).length > 0;
}

function commonLengths(a, b) {
  return commonTo([a.data.attention.lengths, b.data.attention.lengths]);
}

export function showComparedHeads(audits) {
  const pairs = audits.flatMap((a, i) => audits.slice(i + 1).map((b) => [a, b])).filter(([a, b]) => sameHeads(a, b));
  if (!pairs.length) return;
  const state = {pair: pairs[0], statistic: null, n: null, head: null};
  const place = section(
    "compared-heads",
    "Head by head",
    "One cell is one head, a layer to a line: how much larger the chosen statistic is in the second result than in the first. Choose a cell by click, or by arrow keys and Enter, to open that head in either.",
  );
  const controls = node("div", {class: "controls"});
  const holder = node("div", {class: "heads-beside"});
  place.append(controls, holder);
  const start = () => {
    const [a, b] = state.pair;
    const lengths = commonLengths(a, b);
    const statistics = commonStatistics(a, b);
    state.n = lengths.includes(state.n) ? state.n : lengths.at(-1);
    state.statistic = statistics.find(([name]) => name === state.statistic?.[0]) ?? statistics[0];
    state.head = null;
    controls.replaceChildren(...differenceControls(state, {pairs, statistics, lengths}, start));
    showDifferences(holder, state);
  };
  start();
}

function commonStatistics(a, b) {
  const has = ({data}, field) => data.attention.heads[0]?.[field]?.median;
  return kMedians.filter(([, field]) => has(a, field) && has(b, field));
}

function differenceControls(state, {pairs, statistics, lengths}, changed) {
  const pairNames = pairs.map(([a, b]) => `${b.number} less ${a.number}`);
  const names = statistics.map(([name]) => name);
  const tokens = lengths.map(count);
  const chosen = (list, set) => (text) => {
    set(list.indexOf(text));
    changed();
  };
  return [
    ...(pairs.length > 1
      ? [choice("Results", pairNames, pairNames[pairs.indexOf(state.pair)], chosen(pairNames, (i) => (state.pair = pairs[i])))]
      : []),
    choice("Difference of", names, state.statistic[0], chosen(names, (i) => (state.statistic = statistics[i]))),
    choice("Tokens", tokens, count(state.n), chosen(tokens, (i) => (state.n = lengths[i]))),
  ];
}

// [{layer, head, first, second, difference}] of the chosen statistic at a length.
function differencesAt({pair, statistic}, n) {
  const [, field] = statistic;
  const [a, b] = pair.map(({data}) => data.attention);
  const others = new Map(b.heads.map((head) => [headName(head), head]));
  const [i, j] = [a, b].map(({lengths}) => lengths.indexOf(n));
  return a.heads.map((head) => {
    const other = others.get(headName(head));
    const [first, second] = [head[field].median[i], other[field].median[j]];
    return {layer: head.layer, head: head.head, kinds: [head.kind, other.kind], first, second, difference: lessBaseline(second, first)};
  });
}

function showDifferences(holder, state) {
  const [a, b] = state.pair;
  const lengths = commonLengths(a, b);
  const heads = differencesAt(state, state.n);
  // The same colours at every length, so that they compare.
  const all = lengths.flatMap((n) => differencesAt(state, n).map(({difference}) => Math.abs(difference ?? 0)));
  const most = Math.max(...all, 1e-9);
  const readout = node("p", {class: "readout"}, "Point at a cell to read it.");
  const panel = node("div", {id: "compared-head"});
  const say = (head) => (readout.textContent = shown(differenceWords(state, head)));
  const choose = (head) => {
    for (const cell of grid.cells.values()) cell.setAttribute("aria-selected", "false");
    grid.cells.get(head).setAttribute("aria-selected", "true");
    grid.stopAt(head);
    showComparedHead(panel, state, head);
  };
  const grid = headGrid(heads, {say, choose});
  grid.table.setAttribute("aria-label", `${state.statistic[0]}: ${b.short} less ${a.short}`);
  const [low, high] = [signedBy(-most, threeDigits), `${signedBy(most, threeDigits)}, by the square root`];
  const colourOfShare = (share) => diverging(2 * share - 1);
  for (const [head, cell] of grid.cells) {
    const known = head.difference !== null;
    cell.className = known ? "" : "unknown";
    cell.style.backgroundColor = known ? diverging(head.difference / most) : "";
    cell.dataset.value = head.difference;
    cell.setAttribute("aria-label", shown(differenceWords(state, head)));
  }
  const picture = () =>
    gridDrawing(grid.table, {
      title: `${state.statistic[0]}: ${b.short} less ${a.short}`,
      subtitle: `at ${count(state.n)} tokens`,
      low,
      high,
      colour: colourOfShare,
    });
  const changed = [...heads].sort((x, y) => Math.abs(y.difference ?? 0) - Math.abs(x.difference ?? 0)).slice(0, kMostChanged);
  holder.replaceChildren(
    node("div", {}, scrolling("Differences by layer and head", grid.table, "", {picture}), colourLegend(low, high, colourOfShare), readout),
    node("div", {}, panel, scrolling("Heads that changed most", changedTable(state, changed), "tall")),
  );
  choose(changed[0]);
}

function differenceWords({statistic: [name], pair: [a, b], n}, {layer, head, first, second, difference}) {
  return `Head ${layer}.${head}: ${name} ${threeDigits(first)} in ${a.number}, ${threeDigits(second)} in ${b.number}, ${signedBy(difference, threeDigits)} at ${count(n)} tokens`;
}

function showComparedHead(panel, state, head) {
  const name = headName(head);
  const links = state.pair.flatMap((one, i) => [...(i ? [" · "] : []), resultLink(one, `head-${name}`, `open in ${one.short}`)]);
  panel.replaceChildren(
    node("h3", {}, `Head ${name}`),
    node("p", {}, `${head.kinds.join(" → ")}. ${differenceWords(state, head).split(": ").slice(1).join(": ")}.`),
    node("p", {}, ...links),
  );
}

function changedTable(state, heads) {
  const [a, b] = state.pair;
  const [title] = state.statistic;
  const opener = (_, head) => {
    const link = (one) => resultLink(one, `head-${headName(head)}`, String(one.number));
    return node("span", {}, `${headName(head)} in `, link(a), ", ", link(b));
  };
  const csv = [["layer", ({layer}) => layer], ["head", ({head}) => head]];
  return sortable(
    "changed-heads",
    [
      ["head", ({layer, head}) => layer + head / 1e4, opener, {csv, words: true}],
      [`kind in ${a.number}`, ({kinds}) => kinds[0], "words"],
      [`in ${b.number}`, ({kinds}) => kinds[1], "words"],
      [`${title}, ${a.number}`, ({first}) => first, threeDigits],
      [`${title}, ${b.number}`, ({second}) => second, threeDigits],
      ["difference", ({difference}) => difference, (v) => signedBy(v, threeDigits)],
      ["|difference|", ({difference}) => (difference === null ? null : Math.abs(difference)), threeDigits],
    ],
    heads,
  );
}
