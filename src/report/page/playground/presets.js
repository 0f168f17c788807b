// Settings that teach one thing each.

import {node} from "../frame/dom.js";
import {chosenRow} from "./controls.js";

const kPresets = [
  {
    name: "softmax loses a needle",
    why: "One key scores far above all others. Add keys, and their many small weights drown it.",
    state: {source: "needle", gap: 6, n: 65536, temperature: 1, rule: "softmax", values: {}},
  },
  {
    name: "a temperature only delays it",
    why: "Twice as sharp at every length: the same fall, later; and at short lengths it is needlessly sharp.",
    state: {source: "needle", gap: 6, n: 65536, temperature: 1, rule: "softmax", values: {beta: "2"}},
  },
  {
    name: "entropy_target holds",
    why: "Each row is sharpened until its entropy is at most the target, and no more: the needle keeps its weight at every length.",
    state: {source: "needle", gap: 6, n: 65536, temperature: 1, rule: "entropy_target", values: {}},
  },
  {
    name: "ties stay ties",
    why: "Two keys with the very same score: no sharpening can choose between them, so each gets half.",
    state: {source: "typed", typed: "3 3 1 0 0 -1", alone: false, temperature: 1, rule: "entropy_target", values: {nats: "0.1"}},
  },
];

export function presetButtons(good) {
  const why = node("p", {class: "note"});
  const group = node("fieldset", {}, node("legend", {}, "Try"));
  for (const {name, why: words, state} of kPresets) {
    const button = node("button", {type: "button", class: "chip"}, name);
    button.addEventListener("click", () => {
      why.replaceChildren(words);
      good(state.source === "typed" ? {...state, ...chosenRow(state, "typed")} : {...state});
    });
    group.append(button);
  }
  return node("div", {class: "presets controls"}, group, why);
}
