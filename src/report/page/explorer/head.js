// One head: its charts over lengths, all its numbers, and what was drawn of it over one excerpt: a map, its heaviest keys, the text token
// by token. Each is missing where the results or the page do not have it.

import {showChart} from "../drawing/chart_item.js";
import {headName} from "../drawing/grid.js";
import {showTable} from "../drawing/table.js";
import {node, shown} from "../frame/dom.js";
import {formatted} from "../frame/formats.js";
import {useRow, view} from "../frame/view.js";
import {count} from "../frame/words.js";
import {keysPanel} from "./keys.js";
import {filledChart, filledWords, textAt, valueAt} from "./layers.js";
import {mapPanel} from "./map.js";
import {tokensPanel} from "./tokens.js";

const kKeys = 256; // of a row of two levels

export function headPanel(explorer, shared) {
  const {id, figures, drawn, layers, lengths} = explorer;
  const title = node("h3");
  const words = node("p");
  const charts = node("div");
  const table = node("div", {id: `${id}-lengths`});
  const actions = explorer.links.length ? headLinks(explorer) : headActions(explorer);
  const state = {head: null};
  const redraws = [];
  const panels = [mapPanel(explorer), keysPanel(explorer)].filter(Boolean);
  const tokens = tokensPanel(explorer);
  const wide = figures.filter(({caption, chart}) => caption && chart.curves.some(({layer}) => layers.has(layer))).map((figure) => ({
    ...figure, words: node("p", {class: "note"}), text: figure.words, holder: node("div"),
  }));
  const draw = (holder, chart) => redraws.push(showChart(holder, chart, shared, () => filledChart(chart, explorer, state.head)));
  const last = lengths.length - 1;
  const speak = (head, i) => (words.textContent = shown(filledWords(explorer.words, explorer, head, explorer.links.length ? i : last)));
  return {
    element: node("div", {id}, title, words, actions.element, charts),
    below: [
      ...(panels.length ? [node("div", {class: "wide", id: `${id}-drawn`}, sketchNote(drawn), node("div", {class: "drawn"}, ...panels.map(({element}) => element)))] : []),
      ...(tokens ? [tokens.element] : []),
      ...wide.map((one) =>
        node("div", {class: "wide", id: `${id}-${one.chart.id}`}, node("figure", {class: "gaps"}, node("figcaption", {}, one.caption), one.words, one.holder))),
      ...(explorer.columns.length ? [node("div", {class: "wide"}, table, node("p", {class: "note"}, explorer.note + endsNote(explorer)))] : []),
    ],
    // The charts measure the width of their place, so this waits until the panel is in the page.
    draw: () => {
      state.head = explorer.heads[explorer.first];
      for (const {caption, chart} of figures) if (!caption) draw(charts, chart);
      for (const {holder, chart} of wide) draw(holder, chart);
    },
    // i: the length that words speak of. Nothing else of a head depends on it.
    speak,
    show: (head, i) => {
      state.head = head;
      title.textContent = `Head ${headName(head)}`;
      speak(head, i);
      for (const one of wide) one.words.textContent = shown(filledWords(one.text, explorer, head, last));
      for (const redraw of redraws) redraw();
      actions.show(head);
      for (const panel of [...panels, ...(tokens ? [tokens] : [])]) panel.show(head, drawn);
      table.replaceChildren();
      if (explorer.columns.length) showTable(table, lengthTable(explorer, head));
    },
  };
}

function sketchNote({tokens}) {
  return node(
    "p",
    {class: "note"},
    `Over the first ${count(tokens)} tokens of the first excerpt, counted from 0. A cell of the map is the weight that a block of keys gets, on average over a block of queries: a bright left edge is a sink, a bright diagonal a head that looks at what is near.`,
  );
}

function endsNote({layers, columns}) {
  return columns.some(([, id]) => layers.get(id)?.low) ? " In brackets: 95\u00a0% intervals." : "";
}

function lengthTable({layers, lengths, length_names: names, columns}, head) {
  const there = columns.filter(([, id]) => layers.has(id));
  return {
    id: "",
    title: `Head ${headName(head)} at every length`,
    columns: [{name: "tokens", format: "count"}, ...there.map(([name, id]) => ({name, format: layers.get(id).format}))],
    rows: lengths.map((n, i) => [
      {value: n, text: names[i]},
      ...there.map(([, id]) => ({value: valueAt(layers.get(id), head, i), text: textAt(layers.get(id), head, i)})),
    ]),
  };
}

// The row of scores of a head's last query, as the playground takes it.
export function rowOf({drawn}, head) {
  const {scores, tokens, levels} = drawn ?? {};
  const high = levels?.[head.index] ?? null;
  if (high !== null) return {name: `head ${headName(head)}: one score ${formatted("spread", high)} above all others`, n: kKeys, quantiles: [...Array(kKeys - 1).fill(0), high]};
  if (!scores) return null;
  const [n, quantiles] = [scores.n[head.index], scores.quantiles[head.index]];
  return {name: `head ${headName(head)}, the last of ${count(tokens)} tokens`, n, quantiles};
}

// A link to a head that can be sent, and its row of scores to play with.
function headActions(explorer) {
  const link = node("a", {class: "place"}, "link to this head");
  const copy = node("button", {type: "button"}, "Copy link");
  const play = node("button", {type: "button"}, "Play with its last row");
  const said = node("span", {role: "status"});
  let row = null;
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(link.href);
      said.textContent = "Copied.";
    } catch {
      said.textContent = "The link beside it can be copied by hand.";
    }
  });
  play.addEventListener("click", () => {
    useRow(row);
    document.getElementById("playground")?.scrollIntoView();
  });
  return {
    element: node("div", {class: "head-actions"}, play, copy, link, said),
    show: (head) => {
      link.setAttribute("href", `#${view.prefix}${explorer.id}-${headName(head)}`);
      said.textContent = "";
      row = rowOf(explorer, head);
      play.hidden = !row || Boolean(explorer.drawn.levels);
    },
  };
}

// Where else the head is shown.
function headLinks({links}) {
  const element = node("p", {class: "head-actions"});
  const show = (head) => element.replaceChildren(...links.map(([text, place]) => node("a", {href: "#" + place.replace("{head}", headName(head))}, text)));
  return {element, show};
}
