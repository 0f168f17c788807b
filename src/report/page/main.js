// Which results there are, and which of them is shown.

import {showComparison} from "./comparison/comparison.js";
import {namesOf} from "./comparison/names.js";
import {offerData} from "./export/download.js";
import {node} from "./frame/dom.js";
import {carried, unpacked} from "./frame/packed.js";
import {goToPlace, showContents, showVerdict, startView} from "./frame/view.js";
import {kKinds} from "./kinds/kinds.js";
import {showPlayground} from "./playground/playground.js";
import {showProvenance, showView} from "./show_view.js";

// All that can be shown: [{place, label, show}], the first of them unless the address says another.
function placesOf(text) {
  const {views, compared, results} = parsed(text);
  const original = (i) => parsed(text).results[i] ?? parsed(text).views[i];
  const names = results.every(Boolean) ? namesOf(results).map(({name}) => name) : views.map(({label}, i) => `${i + 1}: ${label}`);
  const each = results.map((data, i) => {
    const all = () => {
      showOne(views[i], data);
      offerData(() => [original(i)]);
    };
    return {place: String(i + 1), label: names[i], show: all};
  });
  if (results.length < 2) return each;
  const compare = () => {
    if (compared) showView(compared);
    else showComparison(results);
    if (compared) showProvenance(compared);
    offerData(() => results.map((_, i) => original(i)));
  };
  return [{place: "compared", label: "Compared", show: compare}, ...each];
}

function showOne(view, data) {
  if (!data) {
    showView(view, data);
    showPlayground();
    showProvenance(view);
    return;
  }
  const {show, provenance} = kKinds.get(data.schema);
  show(data);
  showPlayground();
  provenance(data);
}

// What the page holds: showing it may add to what is parsed of this.
async function heldText() {
  return new TextDecoder().decode(await unpacked(carried("results")));
}

function parsed(text) {
  const {results, views = results.map(() => null), compared = null} = JSON.parse(text);
  return {views, compared, results};
}

// An address may come from anywhere, so it may hold escapes that mean nothing.
function hashText() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

// #PLACE of a single result; #VIEW/PLACE of several. An address that means nothing changes nothing.
function addressed(views, now) {
  const hash = hashText();
  if (views.length === 1) return [views[0], hash];
  const [place, ...rest] = hash.split("/");
  const wanted = views.find((one) => one.place === place);
  return wanted ? [wanted, rest.join("/")] : [now ?? views[0], ""];
}

function showTabs(views, now) {
  const tabs = document.getElementById("tabs");
  tabs.hidden = views.length < 2;
  const link = (one) =>
    node("a", {href: "#" + one.place, ...(one === now ? {"aria-current": "page"} : {})}, one.label);
  tabs.replaceChildren(...views.map(link));
}

async function main() {
  const views = placesOf(await heldText());
  let now = null;
  const route = () => {
    const [wanted, place] = addressed(views, now);
    if (wanted !== now) {
      now = wanted;
      startView(views.length > 1 ? now.place + "/" : "");
      showTabs(views, now);
      now.show();
      showContents();
    }
    goToPlace(place);
  };
  addEventListener("hashchange", route);
  route();
}

main().catch((problem) => {
  showVerdict(`This page cannot be shown: ${problem.message}`);
  throw problem;
});
