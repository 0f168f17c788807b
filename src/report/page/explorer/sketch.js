// What is drawn of a head beside its statistics, out of the page's lists over heads: a map, heaviest keys, a row of
// scores, gap counts. Each is null where the results or the page do not have it.

import {headName} from "../drawing/grid.js";
import {node} from "../frame/dom.js";
import {offerRow, useRow} from "../frame/rows.js";
import {view} from "../frame/view.js";
import {count, distinct} from "../frame/words.js";
import {worstFirst} from "./statistics.js";

export function sketchOf({heads, drawn}, head) {
  const i = heads.indexOf(head);
  const {maps, keys, scores, gaps} = drawn ?? {};
  const map = maps?.cells[i] ? {size: maps.size, tokens: drawn.tokens, weights: weightsIn(maps.cells[i], maps.scales[i])} : null;
  return {
    map,
    rows: keys ? keys.rows.map((query, j) => ({query, keys: keys.keys[i][j], weights: keys.weights[i][j]})) : null,
    scores: scores ? {n: scores.n[i], quantiles: scores.quantiles[i]} : null,
    gaps: gaps ? gaps.gaps.map((gap, j) => ({gap, counts: gaps.counts[i].map((line) => line[j])})) : null,
  };
}

// Cells of the lower triangle, row by row; a byte is the root of a weight in 255ths of the scale's.
function weightsIn(letters, scale) {
  return Float64Array.from(atob(letters), (letter) => scale * (letter.charCodeAt(0) / 255) ** 2);
}

// The row of scores of a head's last query, as the playground takes it.
function rowOf(attention, head) {
  const {scores} = sketchOf(attention, head);
  if (!scores) return null;
  return {name: `head ${headName(head)}, the last of ${count(attention.drawn.tokens)} tokens`, ...scores};
}

// Heads that differ as much as they can: the bluntest, the sharpest, a sink.
export function offerHeadRows(attention) {
  if (!attention.drawn?.scores) return;
  const worst = worstFirst(attention.heads).filter(({kind}) => kind !== "sink");
  const chosen = [worst[0], worst.at(-1), attention.heads.find(({kind}) => kind === "sink")];
  for (const head of distinct(chosen.filter(Boolean))) offerRow(rowOf(attention, head));
}

// A link to a head that can be sent, and its row of scores to play with.
export function headActions(attention) {
  const link = node("a", {class: "place"}, "link to this head");
  const copy = node("button", {type: "button"}, "Copy link");
  const play = node("button", {type: "button"}, "Play with its last row");
  const said = node("span", {role: "status"});
  let row = null;
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(link.href);
      said.textContent = "Copied.";
    } catch {
      said.textContent = "The link beside it can be copied by hand.";
    }
  });
  play.addEventListener("click", () => {
    useRow(row);
    document.getElementById("playground")?.scrollIntoView();
  });
  return {
    element: node("div", {class: "head-actions"}, play, copy, link, said),
    show: (head) => {
      link.setAttribute("href", `#${view.prefix}head-${headName(head)}`);
      said.textContent = "";
      row = rowOf(attention, head);
      play.hidden = !row;
    },
  };
}

// The page holds one list over heads for each name; here is one object for each head.
export function headsOf({over_heads: plain, statistics_over_heads: statistics}) {
  return plain.layer.map((_, i) => {
    const head = {};
    for (const [name, values] of Object.entries(plain)) head[name] = values[i];
    head.blunting = {how: head.blunting_how, length: head.blunting_length};
    for (const [name, parts] of Object.entries(statistics))
      head[name] = Object.fromEntries(Object.entries(parts).map(([part, values]) => [part, values[i]]));
    return head;
  });
}
