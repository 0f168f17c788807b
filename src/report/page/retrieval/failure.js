// Hard attention right or wrong, times this rule right or wrong, at each size.

import {scrolling} from "../export/download.js";
import {choice, node, section} from "../frame/dom.js";
import {drawTitle, drawing, hue, textWidth} from "../frame/svg.js";
import {count, percent} from "../frame/words.js";
import {member, paperArm, rowsOf} from "./results.js";

const kOutcomes = [
  ["hard_right_rule_right", "both-right", "both right"],
  ["hard_wrong_rule_right", "averaging", "only the rule right: averaging helped"],
  ["hard_right_rule_wrong", "dispersion", "only hard attention right: dispersion"],
  ["hard_wrong_rule_wrong", "ranking", "both wrong: ranking"],
];
const kOutcomeColours = new Map([["both-right", "green"], ["averaging", "sky"], ["dispersion", "vermillion"], ["ranking", "line"]]);

function shareOfSets(row, field) {
  return row.sets ? row[field] / row.sets : 0;
}

export function showFailure(data) {
  const state = {arm: paperArm(data) ?? data.armNames[0], normalizer: member(data, "softmax") ?? data.normalizers[0]};
  const holder = node("div");
  const picture = () => failurePicture(rowsOf(data, state.arm, state.normalizer), state);
  const fill = () => {
    const table = failureTable(rowsOf(data, state.arm, state.normalizer));
    holder.replaceChildren(scrolling("Why it fails, by size", table, "", {picture}));
  };
  section(
    "failure",
    "Why it fails",
    "Hard attention puts all weight on the largest score. Where it is right and the rule is wrong, weight was ",
    node("em", {}, "dispersed"),
    "; where both are wrong, the scores ",
    node("em", {}, "rank"),
    " a wrong item first, and no sharper rule helps; where only the rule is right, averaging helped.",
  ).append(
    node(
      "div",
      {class: "controls"},
      choice("Training", data.armNames, state.arm, (arm) => {
        state.arm = arm;
        fill();
      }),
      choice("Normalizer", data.normalizers, state.normalizer, (name) => {
        state.normalizer = name;
        fill();
      }),
    ),
    node(
      "ul",
      {class: "legend"},
      ...kOutcomes.map(([, style, text]) => node("li", {}, node("i", {class: style}), text)),
    ),
    holder,
  );
  fill();
}

function failureTable(rows) {
  const heads = [
    ["n", ""],
    ["share of sets", "words"],
    ["right", ""],
    ["dispersion", ""],
    ["ranking", ""],
    ["averaging", ""],
    ["hard right", ""],
    ["top score right", ""],
  ];
  const body = node("tbody");
  for (const row of rows) {
    const share = (field) => shareOfSets(row, field);
    const bar = node("div", {
      class: "stack",
      role: "img",
      "aria-label": kOutcomes.map(([field, , text]) => `${text} ${percent(share(field))}`).join(", "),
    });
    for (const [field, style, text] of kOutcomes) {
      const piece = node("span", {class: style, title: `${text}: ${percent(share(field))}`});
      piece.style.width = 100 * share(field) + "%";
      bar.append(piece);
    }
    const cell = (value) => node("td", {"data-value": value}, percent(value));
    body.append(
      node(
        "tr",
        {},
        node("td", {"data-value": row.n}, count(row.n)),
        node("td", {class: "bar"}, bar),
        cell(row.accuracy),
        cell(share("hard_right_rule_wrong")),
        cell(share("hard_wrong_rule_wrong")),
        cell(share("hard_wrong_rule_right")),
        cell(row.hard_accuracy),
        cell(row.ranked_first),
      ),
    );
  }
  return node(
    "table",
    {class: "bars"},
    node("thead", {}, node("tr", {}, ...heads.map(([text, style]) => node("th", {scope: "col", class: style}, text)))),
    body,
  );
}

// The bars to take away, with the same names as on the page.
function failurePicture(rows, {arm, normalizer}) {
  const [left, right, line, top] = [104, 830, 26, 108];
  const {svg, pen} = drawing(860, top + rows.length * line + 16);
  drawTitle(pen, 860, "Why it fails", `${arm} training, ${normalizer}`);
  let x = 16;
  for (const [, style, text] of kOutcomes) {
    pen.box(x, 64, 18, 12, {fill: hue(kOutcomeColours.get(style))});
    pen.text(x + 24, 70, text, {fill: hue("ink")});
    x += 44 + textWidth(text);
  }
  pen.text(left - 10, 94, "n", {fill: hue("quiet"), anchor: "end"});
  for (const [i, row] of rows.entries()) {
    const y = top + i * line;
    pen.text(left - 10, y + 9, count(row.n), {fill: hue("ink"), anchor: "end"});
    let from = left;
    for (const [field, style] of kOutcomes) {
      const wide = shareOfSets(row, field) * (right - left);
      pen.box(from, y, wide, 18, {fill: hue(kOutcomeColours.get(style))});
      from += wide;
    }
  }
  return svg;
}
