// A chart of a view with what the reader may choose: which curves, published ones beside them, a logarithmic axis.

import {chips, node} from "../frame/dom.js";
import {plural} from "../frame/words.js";
import {liveChart} from "./live_chart.js";
import {lineSample} from "./looks.js";

export function showChart(place, chart, shared) {
  const chosen = curvesOf(chart, shared);
  const state = {log: false};
  const shown = () => chart.curves.filter((curve) => chosen.has(curve));
  const controls = node("div", {class: "controls"});
  if (chosen.fresh) controls.append(...chosen.controls());
  if (chart.up_log) controls.append(logarithmic(state, () => redraw()));
  if (controls.children.length) place.append(controls);
  const redraw = liveChart(place, () => ({...chart, up: state.log ? chart.up_log : chart.up, curves: shown()}));
  chosen.redraws.push(redraw);
}

function logarithmic(state, changed) {
  const turn = (on) => {
    state.log = on;
    changed();
  };
  return chips("checkbox", "", [{text: "logarithmic", checked: false, changed: turn}]);
}

// Which curves are drawn; charts that share the set have it in common.
function curvesOf({curves, share}, shared) {
  const known = share ? shared.curves.get(share) : undefined;
  if (known) return {...known, fresh: false};
  const listed = curves.filter(({of, published}) => !published && !of);
  const wanted = new Set(listed.filter(({first}) => first !== false).map(({name}) => name));
  const state = {published: true};
  const redraws = [];
  const redraw = () => redraws.forEach((draw) => draw());
  const isPublished = ({of, published}) => Boolean(published || of);
  const made = {
    redraws,
    has: (curve) => (isPublished(curve) ? state.published && wanted.has(curve.of ?? curve.name) : wanted.has(curve.name)),
    controls: () => {
      const rows = listed.some(({first}) => first !== undefined) ? curveChips(listed, wanted, redraw) : [];
      if (!curves.some(isPublished)) return rows;
      const turn = (on) => {
        state.published = on;
        redraw();
      };
      return [...rows, chips("checkbox", "", [{text: "published curves, dashed", checked: true, changed: turn}])];
    },
  };
  if (share) shared.curves.set(share, made);
  return {...made, fresh: true};
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
