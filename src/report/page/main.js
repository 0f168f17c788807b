// Which results there are, and which of them is shown.

// label: what a result is called beside others. show: all but how it was made, which comes last.
const kKinds = new Map([
  ["sharpmax.retrieval/1", {label: retrievalLabel, show: showRetrieval, provenance: showProvenance}],
  ["sharpmax.audit/1", {label: auditLabel, show: showAudit, provenance: showAuditProvenance}],
  ["sharpmax.attend.demo/1", {label: demoLabel, show: showDemo, provenance: showPlainProvenance}],
  ["sharpmax.bound.spread/1", {label: boundLabel, show: showBound, provenance: showPlainProvenance}],
  ["sharpmax.bound.model/1", {label: boundModelLabel, show: showBoundModel, provenance: showPlainProvenance}],
  ["sharpmax.fix/1", {label: fixLabel, show: showFix, provenance: showPlainProvenance}],
  ["sharpmax.perplexity/1", {label: lossesLabel, show: showLosses, provenance: showPlainProvenance}],
]);

// All that can be shown: [{place, label, show}], the first of them unless the address says another.
function viewsOf(results) {
  const names = namesOf(results);
  const each = results.map((data, i) => {
    const {show, provenance} = kKinds.get(data.schema);
    const all = () => {
      show(data);
      showPlayground();
      provenance(data);
      offerData([originals()[i]]);
    };
    return {place: String(i + 1), label: names[i].name, show: all};
  });
  if (results.length < 2) return each;
  const compare = () => {
    showComparison(results);
    offerData(originals());
  };
  return [{place: "compared", label: "Compared", show: compare}, ...each];
}

// The results as the page holds them, whatever showing them added.
function originals() {
  return JSON.parse(document.getElementById("results").textContent).results.map(withNumbers);
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

function main() {
  const views = viewsOf(originals());
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

main();
