// Draws every section that the results have something for.

function showContents() {
  const list = document.getElementById("contents");
  for (const part of document.querySelectorAll("main section:not([hidden])"))
    list.append(node("li", {}, node("a", {href: "#" + part.id}, part.querySelector("h2").textContent)));
}

function main() {
  const data = readResults();
  if (!data.rows.length) {
    document.getElementById("verdict").append(node("p", {}, "These results hold no measurement."));
  } else {
    showOverview(data);
    showTwoByTwo(data);
    showCurves(data);
    showFailure(data);
    showPublished(data);
    showHeatMaps(data);
    showCertificate(data);
    showNumbers(data);
  }
  showProvenance(data);
  showContents();
}

main();
