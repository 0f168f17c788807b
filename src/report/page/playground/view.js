// The playground at work. A change of its state is drawn once a frame; what takes longer waits until the reader pauses.

import {liveChart} from "../drawing/live_chart.js";
import {figureTools} from "../export/download.js";
import {choice, node, shown} from "../frame/dom.js";
import {rememberPlace, view} from "../frame/view.js";
import {
  kCurveSizes, kPlaygroundStatistics, lengthsChart, numbersTable, playgroundSummary, rowCells, weighedRow,
  weighedRows, weightsChart,
} from "./charts.js";
import {playgroundControls} from "./controls.js";
import {kReady, kWorking} from "./playground.js";
import {kLeastRow} from "./rows.js";
import {clamped, firstState, kLongest, placeOf, rulesShown, scoresOf, stateOfPlace} from "./state.js";

const kSlice = 10; // milliseconds of work between which the page gets its turn
const kPause = 200; // milliseconds

export function startPlayground(body, module) {
  const state = firstState();
  const {signal} = view.ended;
  let rows = weighedRows(module, state);
  let statistic = kPlaygroundStatistics[0];
  let frame = null;
  let pause = null;
  let touched = false; // by the reader: then the address follows
  let waiting = false; // for the reader to pause, or for the curves that are worked out then

  const settle = () => {
    if (frame === null && !waiting) body.dataset.state = kReady;
  };
  const change = (changes) => {
    Object.assign(state, changes);
    body.dataset.state = kWorking;
    frame ??= requestAnimationFrame(() => {
      frame = null;
      render();
    });
  };
  const set = (changes) => {
    touched = true;
    change(changes);
  };
  const controls = playgroundControls(module, state, set);
  const summary = node("p", {class: "summary", role: "status"});
  const numbers = node("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Numbers of the row"});
  const weights = node("div", {}, node("h3", {}, "Weights, heaviest first"));
  const lengths = node("div", {}, node("h3", {}, "The same row at other lengths"));
  lengths.append(
    choice("Shown", kPlaygroundStatistics.map(({label}) => label), statistic.label, (label) => {
      statistic = kPlaygroundStatistics.find((one) => one.label === label);
      drawLengths();
    }),
  );
  const outcome = node("div", {class: "outcome"}, summary, node("div", {}, numbers), weights, lengths);
  body.append(controls.presets, node("div", {class: "control-and-outcome"}, controls.element, outcome));
  const curves = lengthCurves(module, signal);
  const drawWeights = liveChart(weights, () => weightsChart(rows));
  const drawLengths = liveChart(lengths, () => lengthsChart(rows, curves.known, statistic, state.n));

  const later = () => {
    if (signal.aborted) return;
    summary.textContent = shown(playgroundSummary(rows, state));
    if (touched) rememberPlace(placeOf(state));
    touched = false;
    curves.compute(state, () => {
      drawLengths();
      waiting = false;
      settle();
    });
  };
  const render = () => {
    controls.follow();
    try {
      rows = weighedRows(module, state);
    } catch (problem) {
      controls.say(problem.message);
      settle();
      return;
    }
    numbers.replaceChildren(numbersTable(rows));
    curves.forget(state);
    drawWeights();
    drawLengths();
    waiting = true;
    clearTimeout(pause);
    pause = setTimeout(later, kPause);
  };
  render();
  const tools = figureTools(numbers.parentNode, {name: "row", csv: () => rowCells(scoresOf(state, state.n), rows)});
  tools.prepend(node("span", {}, "Every score and weight:"));
  view.rows.used = (row) => change({source: "result", row, n: clamped(row.n, [kLeastRow, kLongest])});
  return {
    goTo: (place) => {
      const {problem, ...changes} = stateOfPlace(place, module);
      change(changes);
      if (problem) controls.say(problem);
    },
  };
}

// Statistics of the row at kCurveSizes, worked out in slices; known: rule to size to statistics.
function lengthCurves(module, signal) {
  const known = new Map();
  let of = "";
  let turn = 0;
  const rowText = (state) => JSON.stringify([state.source, state.source === "needle" ? state.gap : state.row, state.alone, state.temperature]);
  const forget = (state) => {
    ++turn;
    const now = rowText(state);
    if (now !== of) known.clear();
    of = now;
  };
  const compute = (state, done) => {
    const own = ++turn;
    const jobs = rulesShown(state).flatMap((rule) => kCurveSizes.map((size) => ({rule, size}))).filter(({rule, size}) => !known.get(rule)?.has(size));
    const {temperature} = state;
    const work = () => {
      if (own !== turn || signal.aborted) return;
      const end = performance.now() + kSlice;
      while (jobs.length && performance.now() < end) {
        const {rule, size} = jobs.shift();
        const {weights, ...statistics} = weighedRow(module, rule, scoresOf(state, size), temperature);
        if (!known.has(rule)) known.set(rule, new Map());
        known.get(rule).set(size, statistics);
      }
      if (jobs.length) setTimeout(work);
      else done();
    };
    work();
  };
  return {known, forget, compute};
}
