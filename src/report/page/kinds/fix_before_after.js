// A fix before and after: losses by position and right answers by length, on the part that no choice was made by.

import {liveChart} from "../drawing/live_chart.js";
import {plainTable} from "../drawing/sortable.js";
import {kTokens} from "../explorer/statistics.js";
import {scrolling} from "../export/download.js";
import {choice, node, section, shown} from "../frame/dom.js";
import {count, decimal, distinct, percent, plural} from "../frame/words.js";
import {flipsText, natsChange, shareOf} from "./fix.js";
import {bucketAxis, bucketMiddle, byPosition, endsAround, kRangeAsCsv, nats, rangeText} from "./losses.js";

// Rules with numbers of the part that no choice was made by; the chosen one first.
function judgedRules({trials}, chosen, list) {
  const there = trials.filter(({held_out: held}) => held?.[list]?.length);
  return [...there.filter((t) => t === chosen), ...there.filter((t) => t !== chosen)];
}

export function showFixByPosition(data, chosen) {
  const rules = judgedRules(data, chosen, "by_position");
  if (!rules.length) return;
  const state = {rule: rules[0]};
  const place = section(
    "by-position",
    "Loss by position, before and after",
    "On the held-out text: as it is and under the rule, and below the change with its 95\u00a0% interval. Where the band holds 0, no change is proved.",
  );
  const table = node("div");
  const redraws = [];
  const names = rules.map(({rule: name}) => shown(name));
  const changed = (name) => {
    state.rule = rules[names.indexOf(name)];
    redraws.forEach((redraw) => redraw());
    table.replaceChildren(scrolling("Loss by position", positionTable(state.rule)));
  };
  if (!chosen)
    place.append(
      node("p", {class: "note"}, "No rule was chosen; these are the ones that were tried on the held-out part too."),
    );
  if (rules.length > 1) place.append(node("div", {class: "controls"}, choice("Rule", names, names[0], changed)));
  redraws.push(
    liveChart(place, () => beforeAfterChart(state.rule)),
    liveChart(place, () => changeChart(state.rule)),
  );
  place.append(table);
  changed(names[0]);
}

function positionCurve(buckets, name, colour, point, more = {}) {
  const points = new Map(buckets.map((bucket) => [bucketMiddle(bucket), point(bucket)]));
  return {name, look: {paint: colour, dash: []}, format: nats, points, ...more};
}

function beforeAfterChart({rule: name, held_out: held}) {
  const buckets = byPosition(held.by_position);
  const after = ({plain, change}) => (plain === null || change === null ? null : plain + change);
  return {
    label: "nats per token",
    about: name,
    legend: true,
    ...endsAround(
      buckets.flatMap((bucket) => [bucket.plain, after(bucket)]),
      0.02,
    ),
    sizes: buckets.map(bucketMiddle),
    across: bucketAxis(buckets),
    curves: [
      positionCurve(buckets, "as it is", "grey", ({plain}) => ({value: plain}), {look: {paint: "grey", dash: [7, 5]}}),
      positionCurve(buckets, name, "vermillion", (bucket) => ({value: after(bucket)})),
    ],
  };
}

function changeChart({rule: name, held_out: held}) {
  const buckets = byPosition(held.by_position);
  return {
    label: "change, nats per token",
    about: `change under ${name}`,
    legend: true,
    ...endsAround([0, ...buckets.flatMap(({change, low, high}) => [change, low, high])], 0.005),
    sizes: buckets.map(bucketMiddle),
    across: bucketAxis(buckets),
    reference: {name: "no change", value: () => 0},
    curves: [
      positionCurve(buckets, name, "vermillion", ({change, low, high}) => ({value: change, low, high}), {
        format: (v) => natsChange(v),
      }),
    ],
  };
}

function positionTable({held_out: {by_position: buckets}}) {
  const table = plainTable(
    [
      ["tokens before", (b) => b.from, (_, b) => rangeText(b), kRangeAsCsv],
      ["tokens", (b) => b.tokens, count],
      ["as it is", (b) => b.plain, (v) => decimal(v, 4)],
      ["change", (b) => b.change, (v) => natsChange(v, 4)],
      ["95 % from", (b) => b.low, (v) => natsChange(v, 4)],
      ["to", (b) => b.high, (v) => natsChange(v, 4)],
    ],
    buckets,
  );
  table.id = "all-positions";
  return table;
}

export function showFixByLength(data, chosen) {
  const rules = judgedRules(data, chosen, "by_length");
  if (!rules.length) return;
  const lengths = rules[0].held_out.by_length;
  const place = section(
    "by-length",
    "Right answers, before and after",
    "On the held-out questions, by their length; in brackets answers that became right and wrong.",
  );
  const cells = (t, i) => t.held_out.by_length[i];
  const heading = ({length}) => (length === null ? "the file’s" : `${count(length)} tokens`);
  const body = [{rule: "as it is", plain: true}, ...rules];
  const column = (at, i) => [
    heading(at),
    (t) =>
      t.plain ? shareOf(at.plain, at.questions) : cells(t, i) ? shareOf(cells(t, i).rule, cells(t, i).questions) : null,
    (share, t) => percent(share) + (t.plain || !cells(t, i) ? "" : " " + flipsText(cells(t, i))),
  ];
  const table = plainTable([["rule", (t) => t.rule, "words"], ...lengths.map(column)], body);
  table.id = "all-lengths";
  if (lengths.length > 1 && lengths.every(({length}) => length !== null)) lengthChart(place, rules[0], lengths);
  place.append(scrolling("Right answers by length", table));
  place.append(node("p", {class: "note"}, `${plural(lengths[0].questions, "question")} of each length.`));
}

function lengthChart(place, trial, lengths) {
  const curve = (name, look, right) => ({
    name,
    look,
    format: percent,
    points: new Map(trial.held_out.by_length.map((at) => [at.length, {value: shareOf(right(at), at.questions)}])),
  });
  liveChart(place, () => ({
    label: "right answers",
    legend: true,
    percent: true,
    top: 1.02,
    sizes: distinct(lengths.map(({length}) => length)).sort((a, b) => a - b),
    across: kTokens,
    curves: [
      curve("as it is", {paint: "grey", dash: [7, 5]}, (at) => at.plain),
      curve(trial.rule, {paint: "vermillion", dash: []}, (at) => at.rule),
    ],
  }));
}
