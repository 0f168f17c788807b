// Which results there are, and which of them is shown.

import {showItems, wordsOf} from "./drawing/items.js";
import {showHeads} from "./explorer/heads.js";
import {offerData} from "./export/download.js";
import {carried, definitions, node, section, unpacked} from "./frame/dom.js";
import {goToPlace, showContents, showTiles, showTitle, showVerdict, startView, tile} from "./frame/view.js";
import {showPlayground} from "./playground/playground.js";

// All that can be shown: [{place, label, show}], the first of them unless the address says another.
async function placesHeld() {
  const {names, results, compared} = JSON.parse(new TextDecoder().decode(await unpacked(carried("results"))));
  const each = results.map((result, i) => {
    const show = () => {
      showView(result);
      showPlayground();
      showProvenance(result);
      offerData([result]);
    };
    return {place: String(i + 1), label: names[i], show};
  });
  if (!compared) return each;
  const show = () => {
    showView(compared);
    showProvenance(compared);
    offerData(results);
  };
  return [{place: "compared", label: "Compared", show}, ...each];
}

// A view of results (src/report/view/view.h): what was found, then a part for each question, then how it was made.
function showView({kind, title, verdict, tiles, sections}) {
  const shared = {curves: new Map(), choices: new Map(), explorer: showHeads};
  showTitle(kind, title);
  showVerdict(...verdict.map((words) => node("p", {}, ...wordsOf(words))));
  showTiles(...tiles.map(({number, what, where, paint}) => tile(number, node("span", {}, ...wordsOf(what)), where, paint)));
  for (const {id, heading, words, items} of sections) showItems(section(id, heading, ...(words ? [words] : [])), items, shared);
}

function showProvenance({provenance: {command, facts}, left_out: leftOut = []}) {
  const place = section("provenance", "How these numbers were made");
  if (command) place.append(node("pre", {}, node("code", {}, command)));
  place.append(definitions(facts));
  if (leftOut.length) place.append(node("p", {class: "note"}, `Left out to keep this file small: ${leftOut.join(", ")}.`));
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
  const views = await placesHeld();
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
