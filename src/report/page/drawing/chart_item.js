// A chart of a view with what the reader may choose: which curves, published ones beside them, a logarithmic axis.

import {chips, node} from "../frame/dom.js";
import {hue, svgNode} from "../frame/svg.js";
import {plural} from "../frame/words.js";
import {liveChart} from "./live_chart.js";

// filled: the chart with the points of what is shown now; those of a view have their own. Returns what draws it again.
export function showChart(place, chart, shared, filled = () => chart) {
  const chosen = chosenOf(chart, shared);
  let log = false;
  const turn = (on) => {
    log = on;
    redraw();
  };
  // Charts that have their curves in common have one set of controls: above the first of them that is there.
  if (!chosen.controls.isConnected) place.append(chosen.controls);
  if (chart.up_log) place.append(node("div", {class: "controls"}, chips("checkbox", "", [{text: "logarithmic", checked: false, changed: turn}])));
  const redraw = liveChart(place, () => {
    const {up, up_log: upLog, curves, ...rest} = filled();
    return {...rest, up: log ? upLog : up, curves: curves.filter(chosen.has)};
  });
  chosen.redraws.add(redraw);
  return redraw;
}

function isPublished({of, published}) {
  return Boolean(published || of);
}

// Which curves are drawn: {has(curve), controls, redraws}. Charts that share a name have it in common.
function chosenOf({curves, share}, shared) {
  const known = share && shared.curves.get(share);
  if (known) return known;
  const listed = curves.filter((curve) => !isPublished(curve));
  const wanted = new Set(listed.filter(({first}) => first !== false).map(({name}) => name));
  const redraws = new Set();
  let published = true;
  const controls = node("div", {class: "controls"});
  const changed = () => redraws.forEach((draw) => draw());
  if (share) controls.append(...curveChips(listed, wanted, changed));
  if (curves.some(isPublished)) {
    const turn = (on) => {
      published = on;
      changed();
    };
    controls.append(chips("checkbox", "", [{text: "published curves, dotted", checked: true, changed: turn}]));
  }
  const has = (curve) => (isPublished(curve) ? published && wanted.has(curve.of ?? curve.name) : wanted.has(curve.name));
  const made = {has, controls, redraws};
  if (share) shared.curves.set(share, made);
  return made;
}

// A chip for each curve; those that are not drawn at first behind a summary.
function curveChips(curves, wanted, changed) {
  const entry = ({name, look}) => ({
    text: name,
    checked: wanted.has(name),
    mark: lineSample(look),
    changed: (on) => {
      on ? wanted.add(name) : wanted.delete(name);
      changed();
    },
  });
  const others = curves.filter(({name}) => !wanted.has(name));
  const made = [chips("checkbox", "Normalizers", curves.filter(({name}) => wanted.has(name)).map(entry))];
  if (others.length)
    made.push(
      node("details", {}, node("summary", {}, plural(others.length, "more normalizer")), chips("checkbox", "Others", others.map(entry))),
    );
  return made;
}

// A short piece of the line, for chips.
function lineSample({paint, dash = []}) {
  const sample = svgNode("svg", {class: "line-sample", viewBox: "0 0 26 10", width: 26, height: 10, "aria-hidden": "true"});
  sample.append(svgNode("path", {d: "M1 5H25", stroke: hue(paint), "stroke-width": 2.5, "stroke-dasharray": dash.join(" ")}));
  return sample;
}
