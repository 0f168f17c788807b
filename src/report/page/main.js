// Draws every section that the results have something for.

function showContents() {
  const list = document.getElementById("contents");
  for (const part of document.querySelectorAll("main section:not([hidden])"))
    list.append(node("li", {}, node("a", {href: "#" + part.id}, part.querySelector("h2").textContent)));
}

function showTitle(kind, title) {
  document.title = `${shown(kind)} · sharpmax`;
  document.getElementById("kind").textContent = shown(kind);
  document.getElementById("title").textContent = shown(title);
}

function main() {
  const data = JSON.parse(document.getElementById("results").textContent);
  if (data.schema === "sharpmax.audit/1") showAudit(data);
  else showRetrieval(data);
  showContents();
}

main();
