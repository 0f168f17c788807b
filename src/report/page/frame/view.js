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
