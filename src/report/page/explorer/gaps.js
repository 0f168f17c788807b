// How crowded the top of a head's rows is: keys whose score is within a gap of the largest, against length.

import {headName} from "../drawing/grid.js";
import {liveChart} from "../drawing/live_chart.js";
import {node} from "../frame/dom.js";
import {count} from "../frame/words.js";
import {kTokens, trainedMark} from "./statistics.js";

const kGapsShown = [1, 2, 4, 8, 16];
const kGapColours = ["vermillion", "purple", "blue", "green", "grey"];

export function gapPanel(attention) {
  if (!attention.drawn?.gaps) return null;
  const words = node("p", {class: "note"});
  const holder = node("div");
  const state = {head: attention.heads[0], gaps: []};
  let redraw = () => {};
  return {
    element: node("figure", {class: "gaps"}, node("figcaption", {}, "How crowded the top of its rows is"), words, holder),
    draw: () => {
      redraw = liveChart(holder, () => gapChart(attention, state));
    },
    show: (head, gaps) => {
      Object.assign(state, {head, gaps: gaps.filter(({gap}) => kGapsShown.includes(gap))});
      words.textContent = gapSentence(attention, state.gaps);
      redraw();
    },
  };
}

function gapChart(attention, {head, gaps}) {
  const {lengths} = attention;
  const curves = gaps.map(({gap, counts}) => ({
    name: `within ${gap}`,
    look: {paint: kGapColours[kGapsShown.indexOf(gap)], dash: []},
    points: new Map(lengths.map((n, i) => [n, {value: counts[i]}])),
    format: count,
  }));
  return {
    label: "keys near the largest score",
    about: `Head ${headName(head)}`,
    legend: true,
    sizes: lengths,
    across: kTokens,
    marks: [trainedMark(attention)],
    reference: {name: "n: all keys", value: (n) => n, rising: true},
    bottom: 1,
    top: 10 ** Math.ceil(Math.log10(lengths.at(-1))),
    curves,
  };
}

function gapSentence({lengths}, gaps) {
  const found = gaps.filter(({counts}) => counts.at(-1) !== null);
  if (!found.length) return "";
  const [near, ...further] = found;
  const keys = (n) => (n === 1 ? "1 key lies" : `${count(n)} keys lie`);
  const far = further.find(({gap}) => gap === 4);
  return (
    `In the median row at ${count(lengths.at(-1))} tokens ${keys(near.counts.at(-1))} within ${near.gap} of the largest score, itself counted` +
    (far ? `, and ${count(far.counts.at(-1))} within ${far.gap}` : "") +
    ". Under softmax a key that is 1 below gets 37\u00a0% of the largest weight, one that is 4 below 2\u00a0%: where hundreds are that near, no single one can stand out."
  );
}
