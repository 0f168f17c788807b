// Which colour and stroke a normalizer has: the same in every chart. The hues are Okabe and Ito's, which colour-blind
// readers can tell apart; page.css darkens or lightens them for the background.

import {hue, svgNode} from "../frame/svg.js";
import {family} from "../frame/words.js";

const kColours = ["vermillion", "green", "purple", "sky", "amber", "blue", "brown", "grey"];
const kDashes = [[], [9, 4], [4, 3], [12, 3, 2, 3]];
const kOwnColour = new Map([
  ["softmax", "vermillion"],
  ["entropy_target", "green"],
  ["adaptive", "purple"],
  ["peak_target", "sky"],
  ["softpick", "amber"],
  ["hard", "grey"],
]);

export function looksOf(normalizers) {
  const looks = new Map();
  const taken = new Set();
  const take = (normalizer, colour, dash) => {
    const key = colour + dash;
    if (looks.has(normalizer) || taken.has(key)) return;
    taken.add(key);
    looks.set(normalizer, {paint: colour, dash});
  };
  for (const normalizer of normalizers) {
    const own = kOwnColour.get(family(normalizer));
    if (own) take(normalizer, own, kDashes[0]);
  }
  for (const normalizer of normalizers) {
    for (const dash of kDashes) for (const colour of kColours) take(normalizer, colour, dash);
    if (!looks.has(normalizer)) looks.set(normalizer, {paint: "grey", dash: kDashes[3]});
  }
  return looks;
}

// A short piece of the line, for chips.
export function lineSample({paint, dash = []}) {
  const sample = svgNode("svg", {class: "line-sample", viewBox: "0 0 26 10", width: 26, height: 10, "aria-hidden": "true"});
  sample.append(svgNode("path", {d: "M1 5H25", stroke: hue(paint), "stroke-width": 2.5, "stroke-dasharray": dash.join(" ")}));
  return sample;
}
