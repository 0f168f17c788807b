// Which results there are, and which of them is shown.

import {offerData} from "./export/download.js";
import {node} from "./frame/dom.js";
import {carried, unpacked} from "./frame/packed.js";
import {goToPlace, showContents, showVerdict, startView} from "./frame/view.js";
import {showPlayground} from "./playground/playground.js";
import {showProvenance, showView} from "./show_view.js";

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
