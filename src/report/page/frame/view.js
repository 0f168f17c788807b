// What is shown at a time: of several results one, or how they compare. A link into the page is #PLACE, or #N/PLACE
// where there are several results: a section, or something in it that asked to be found, such as #head-3.5.

import {node, shown} from "./dom.js";

export const view = {ended: new AbortController(), prefix: "", finders: [], rows: []};

// Forgets what was shown: listeners of the view before end with it.
export function startView(prefix) {
  view.ended.abort();
  view.ended = new AbortController();
  view.prefix = prefix;
  view.finders = [];
  view.rows = [];
  for (const id of ["verdict", "tiles", "contents", "main"]) document.getElementById(id).replaceChildren();
}

// Rows of scores that the results offer to the playground. A row is {name, n, quantiles}: n scores, whose quantiles from the least to the
// largest are told evenly, all of them or some.
// A row of the results that is shown may be played with.
export function offerRow(row) {
  if (isRow(row)) view.rows.push(row);
}

// The row that the playground shows now.
export function useRow(wanted) {
  if (!isRow(wanted)) return;
  const row = rowAmong(wanted);
  view.rows.current = row;
  view.rows.used?.(row);
}

// That row as it is offered; offered only while this view lasts if it was not.
export function rowAmong(wanted) {
  const known = view.rows.find((row) => row.name === wanted.name);
  if (known) return known;
  const row = {...wanted, passing: true};
  view.rows.push(row);
  return row;
}

export function isRow(row) {
  const {n, quantiles} = row ?? {};
  return n >= 1 && quantiles?.length >= 1 && quantiles.every((score) => typeof score === "number" && Number.isFinite(score));
}

// find(place): whether this place was its own, and was gone to.
export function findPlaces(find) {
  view.finders.push(find);
}

// The address says where the reader is, so that it can be sent to someone. A page inside another may have none.
export function rememberPlace(place) {
  try {
    history.replaceState(null, "", "#" + view.prefix + place);
  } catch {
    // Then there is no address to send.
  }
}

// A link of a view to one of its places; a comparison links to places of its results.
export function addressOf(place) {
  return "#" + (view.prefix === "compared/" ? "" : view.prefix) + place;
}

export function goToPlace(place) {
  if (!place || view.finders.some((find) => find(place))) return;
  const part = [...document.querySelectorAll("main section")].find(({id}) => id === place);
  part?.scrollIntoView();
}

export function showContents() {
  const list = document.getElementById("contents");
  for (const part of document.querySelectorAll("main section"))
    list.append(node("li", {}, node("a", {href: "#" + view.prefix + part.id}, part.querySelector("h2").textContent)));
}

export function showTitle(kind, title) {
  document.title = `${shown(kind)} · sharpmax`;
  document.getElementById("kind").textContent = shown(kind);
  document.getElementById("title").textContent = shown(title);
}

export function tile(number, what, where, colour) {
  const made = node(
    "div",
    {class: "tile"},
    node(
      "div",
      {class: "key"},
      node("strong", {}, number),
      node("span", {class: "what"}, what),
      node("span", {class: "where"}, where),
    ),
  );
  made.firstChild.style.setProperty("--key", `var(--${colour})`);
  return made;
}

export function showVerdict(...lines) {
  document
    .getElementById("verdict")
    .append(...lines.map((line) => (line instanceof Node ? line : node("p", {}, line))));
}

export function showTiles(...tiles) {
  document.getElementById("tiles").append(...tiles.filter((one) => one !== null));
}
