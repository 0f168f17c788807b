// What is shown at a time: of several results one, or how they compare. A link into the page is #PLACE, or #N/PLACE
// where there are several results: a section, or something in it that asked to be found, such as #head-3.5.

const view = {ended: new AbortController(), prefix: "", finders: [], rows: []};

// Forgets what was shown: listeners of the view before end with it.
function startView(prefix) {
  view.ended.abort();
  view.ended = new AbortController();
  view.prefix = prefix;
  view.finders = [];
  view.rows = [];
  for (const id of ["verdict", "tiles", "contents", "main"]) document.getElementById(id).replaceChildren();
}

// find(place): whether this place was its own, and was gone to.
function findPlaces(find) {
  view.finders.push(find);
}

// The address says where the reader is, so that it can be sent to someone. A page inside another may have none.
function rememberPlace(place) {
  try {
    history.replaceState(null, "", "#" + view.prefix + place);
  } catch {
    // Then there is no address to send.
  }
}

function goToPlace(place) {
  if (!place || view.finders.some((find) => find(place))) return;
  const part = [...document.querySelectorAll("main section")].find(({id}) => id === place);
  part?.scrollIntoView();
}

function showContents() {
  const list = document.getElementById("contents");
  for (const part of document.querySelectorAll("main section"))
    list.append(node("li", {}, node("a", {href: "#" + view.prefix + part.id}, part.querySelector("h2").textContent)));
}

function showTitle(kind, title) {
  document.title = `${shown(kind)} · sharpmax`;
  document.getElementById("kind").textContent = shown(kind);
  document.getElementById("title").textContent = shown(title);
}
