// Which tokens a head looks at: of a few queries the heaviest keys, in the words around them.

import {headName} from "../drawing/grid.js";
import {tableOf} from "../drawing/table.js";
import {scrolling} from "../export/download.js";
import {chips, node} from "../frame/dom.js";
import {count, decimal} from "../frame/words.js";

const kAround = 3; // tokens on either side of a key
const kBefore = 6; // tokens before a query
const kLongestToken = 40; // characters

export function keysPanel({drawn}) {
  if (!drawn?.keys) return null;
  const {rows, texts} = drawn.keys;
  const state = {head: null, at: rows.length - 1};
  const query = node("p", {class: "query"});
  const holder = node("div");
  const draw = () => {
    const {index} = state.head;
    const row = {query: rows[state.at], keys: drawn.keys.keys[index][state.at], weights: drawn.keys.weights[index][state.at]};
    query.replaceChildren(`Token ${count(row.query)}: `, inContext(texts, row.query, kBefore, 0));
    const csv = () => [["weight", "key", "token", "back"], ...row.keys.map((key, i) => [row.weights[i], key, texts[key], row.query - key])];
    holder.replaceChildren(scrolling(`Head ${headName(state.head)}, heaviest keys of token ${count(row.query)}`, keysTable(texts, row), "", {csv}));
  };
  const choose = chips(
    "radio",
    "Query",
    rows.map((position, i) => ({
      text: count(position),
      checked: i === state.at,
      changed: () => {
        state.at = i;
        draw();
      },
    })),
  );
  return {
    element: node("figure", {class: "keys"}, node("figcaption", {}, "What it looks at"), choose, query, holder),
    show: (head) => {
      state.head = head;
      draw();
    },
  };
}

function keysTable(texts, {query, keys, weights}) {
  const bar = (weight) => {
    const filled = node("span");
    filled.style.width = `${100 * Math.min(1, weight)}%`;
    return node("span", {class: "weight"}, node("span", {class: "weight-bar", "aria-hidden": "true"}, filled), decimal(weight, 3));
  };
  const columns = [
    {title: "weight", value: (i) => weights[i], show: bar},
    {title: "key", value: (i) => keys[i], show: (key) => inContext(texts, key, kAround, kAround, query), words: true},
    {title: "back", value: (i) => query - keys[i], show: count},
  ];
  return tableOf("top-keys", columns, [...keys.keys()]);
}

// A token among its neighbours, up to `end`.
function inContext(texts, token, before, after, end = Infinity) {
  const parts = [];
  for (let i = token - before; i <= Math.min(token + after, end); ++i) {
    if (texts[i] === undefined) continue;
    parts.push(i === token ? node("mark", {}, `“${visibleToken(texts[i])}”`) : plainToken(texts[i]));
  }
  if (typeof parts[0] === "string") parts[0] = parts[0].trimStart();
  return node("span", {class: "context"}, ...parts);
}

// Blanks can be seen, marks that join what is before them have something to join, and no token is endless.
export function visibleToken(text) {
  const seen = cutToken(text).replaceAll(" ", "␣").replaceAll("\n", "⏎").replaceAll("\t", "⇥");
  return /^\p{M}/u.test(seen) ? "◌" + seen : seen;
}

function plainToken(text) {
  return cutToken(text).replaceAll("\n", "⏎").replaceAll("\t", "⇥");
}

function cutToken(text) {
  const letters = [...String(text)];
  return letters.length > kLongestToken ? letters.slice(0, kLongestToken).join("") + "…" : letters.join("");
}
