// A short text, token by token: how much of its weight a head gives to each token before the one that asks. Only where the map of the
// head has a cell for every token.

import {headName} from "../drawing/grid.js";
import {node} from "../frame/dom.js";
import {count, decimal} from "../frame/words.js";
import {visibleToken} from "./keys.js";
import {mapOf, weightAt} from "./map.js";

const kDarkest = 45; // percent: text stays readable on it

export function tokensPanel({drawn}) {
  const texts = drawn?.texts;
  if (!texts || drawn.maps?.size !== texts.length) return null;
  const state = {map: null, query: texts.length - 1};
  const asked = node("input", {type: "range", min: 0, max: texts.length - 1, step: 1, value: state.query});
  const told = node("output");
  const parts = texts.map((text) => node("span", {class: "token"}, visibleToken(text)));
  const heaviest = node("p", {class: "note", role: "status"});
  const draw = () => {
    asked.value = state.query;
    told.value = `${count(state.query)}: ${visibleToken(texts[state.query])}`;
    asked.setAttribute("aria-valuetext", told.value);
    const weights = parts.map((_, key) => (state.map && key <= state.query ? weightAt(state.map, state.query, key) : null));
    for (const [key, part] of parts.entries()) {
      part.classList.toggle("asking", key === state.query);
      part.classList.toggle("later", key > state.query);
      part.dataset.value = weights[key];
      part.title = weights[key] === null ? "" : decimal(weights[key], 3);
      part.style.background = weights[key] ? shade(weights[key]) : "";
    }
    const first = [...weights.keys()].filter((key) => weights[key]).sort((a, b) => weights[b] - weights[a]).slice(0, 5);
    heaviest.textContent = "Heaviest: " + first.map((key) => `${visibleToken(texts[key])} ${decimal(weights[key], 3)}`).join(", ");
  };
  const ask = (query) => {
    state.query = query;
    draw();
  };
  asked.addEventListener("input", () => ask(Number(asked.value)));
  for (const [i, part] of parts.entries()) part.addEventListener("click", () => ask(i)); // for the pointer: the slider does the same
  return {
    element: node(
      "figure",
      {class: "tokens wide"},
      node("figcaption", {}, "Token by token"),
      node("label", {class: "choice size-slider"}, "Query", asked, told),
      node("p", {class: "text"}, ...parts),
      heaviest,
    ),
    show: (head) => {
      state.map = mapOf(drawn, head);
      asked.setAttribute("aria-label", `Query token of head ${headName(head)}`);
      draw();
    },
  };
}

// By the square root, as in the map.
function shade(weight) {
  return `color-mix(in srgb, var(--vermillion) ${(kDarkest * Math.sqrt(Math.min(1, weight))).toFixed(1)}%, var(--card))`;
}
