// Accuracy and entropy against size: one curve for each normalizer of one arm.

import {normalizerChips} from "../drawing/kind_parts.js";
import {liveChart} from "../drawing/live_chart.js";
import {chips, node, section, shown} from "../frame/dom.js";
import {decimal, distinct, family, percent} from "../frame/words.js";
import {chance, member, rowsOf} from "./results.js";

const kPublishedDash = [5, 5]; // and hollow dots: no curve of ours has both
const kAtFirst = ["softmax", "adaptive", "entropy_target", "hard"];

export function curve(data, arm, normalizer, field, format) {
  const points = new Map();
  for (const row of rowsOf(data, arm, normalizer)) {
    const point = {value: row[field]};
    if (field === "accuracy") Object.assign(point, {low: row.accuracy_low, high: row.accuracy_high});
    points.set(row.n, point);
  }
  return {name: normalizer, look: data.looks.get(normalizer), points, format};
}

function publishedCurves(data, wanted) {
  return distinct(data.published.map((p) => p.normalizer))
    .map((name) => {
      const normalizer = member(data, name);
      const points = new Map(
        data.published
          .filter((p) => p.normalizer === name && data.sizes.includes(p.n))
          .map((p) => [p.n, {value: p.accuracy}]),
      );
      return {
        name: `${name}, published`,
        normalizer,
        look: {...data.looks.get(normalizer), dash: kPublishedDash},
        points,
        format: percent,
        hollow: true,
      };
    })
    .filter((c) => c.normalizer && c.points.size && wanted.has(c.normalizer));
}

export function showCurves(data) {
  const few = data.normalizers.length <= 5;
  const atFirst = kAtFirst.map((name) => member(data, name));
  const state = {
    arm: data.armNames[0],
    wanted: new Set(data.normalizers.filter((name) => few || atFirst.includes(name))),
    published: true,
  };
  if (!state.wanted.size) state.wanted.add(data.normalizers[0]);
  // Hard attention is the yardstick: its curve lies below those that come close to it.
  const chosen = () =>
    data.normalizers
      .filter((name) => state.wanted.has(name))
      .sort((a, b) => (family(b) === "hard") - (family(a) === "hard"));
  const redraws = [];
  const changed = () => redraws.forEach((redraw) => redraw());

  const accuracy = section(
    "accuracy",
    "Accuracy against size",
    "How often the head names the class of the largest of n items. Bands are 95\u00a0% intervals. The same weights serve every normalizer.",
  );
  accuracy.append(curveControls(data, state, changed));
  redraws.push(
    liveChart(accuracy, () => ({
      label: "accuracy",
      about: `${state.arm} training`,
      percent: true,
      top: 1.02,
      sizes: data.sizes,
      reference: {name: "chance", value: () => chance(data)},
      curves: [
        ...(state.published ? publishedCurves(data, state.wanted) : []),
        ...chosen().map((name) => curve(data, state.arm, name, "accuracy", percent)),
      ],
    })),
  );

  const entropy = section(
    "entropy",
    "Entropy against size",
    "The mean entropy of the weights, in nats: 0 is all weight on one item, ln n an equal share for each.",
  );
  const heading = node("p", {class: "note"});
  entropy.append(heading);
  redraws.push(
    liveChart(entropy, () => {
      heading.replaceChildren(document.createTextNode(`Arm and normalizers as chosen above: ${shown(state.arm)}.`));
      return {
        label: "entropy, nats",
        about: `${state.arm} training`,
        top: 1.05 * Math.log(data.sizes.at(-1)),
        sizes: data.sizes,
        reference: {name: "ln n: equal weights", value: (n) => Math.log(n), rising: true},
        curves: chosen().map((name) => curve(data, state.arm, name, "entropy", (v) => decimal(v))),
      };
    }),
  );
}

function curveControls(data, state, changed) {
  const controls = normalizerChips(data.normalizers, data.looks, state.wanted, changed);
  controls.prepend(
    chips(
      "radio",
      "Training",
      data.armNames.map((arm) => ({
        text: arm,
        checked: arm === state.arm,
        changed: () => {
          state.arm = arm;
          changed();
        },
      })),
    ),
  );
  if (publishedCurves(data, new Set(data.normalizers)).length)
    controls.querySelector(":scope > fieldset:last-of-type").after(
      chips("checkbox", "Paper A", [
        {
          text: "published curves, dashed",
          checked: true,
          changed: (on) => {
            state.published = on;
            changed();
          },
        },
      ]),
    );
  return controls;
}
