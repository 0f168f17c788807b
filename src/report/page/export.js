// What a reader can take away: tables as CSV, pictures as SVG and PNG, the data of the page as JSON.
//
// A picture is {width, height, draw(pen)}; a pen (export_pens.js) writes SVG or paints on a canvas, so both are the same picture, in light
// colours on white whatever the page looks like.

const kPixelRatio = 2.5; // of PNGs

// A quiet row of buttons in `holder`, for a figure or table there. What it offers is made when it is asked for:
// {name, picture: () => picture, svg: () => string or null, canvas: () => canvas, csv: () => rows of cells}; a picture
// gives both an SVG and a PNG; `name` tells files of one section apart where it has several.
function figureTools(holder, offers) {
  const row = node("div", {class: "tools", role: "group", "aria-label": "Download"});
  const offer = (text, make) => {
    const button = node("button", {type: "button", title: `Download as ${text}`}, text);
    button.addEventListener("click", () => make((ending) => exportName(row, offers.name, ending)));
    row.append(button);
  };
  const {picture, canvas, csv} = offers;
  const svg = offers.svg ?? (picture && (() => svgOf(picture())));
  const painted = canvas ?? (picture && (() => paintedOn(picture())));
  if (painted) offer("PNG", (name) => painted().toBlob((blob) => saveBlob(name("png"), blob), "image/png"));
  if (svg)
    offer("SVG", (name) => {
      const text = svg();
      if (text) saveText(name("svg"), "image/svg+xml", text);
    });
  if (csv) offer("CSV", (name) => saveText(name("csv"), "text/csv", csvText(csv())));
  holder.append(row);
  return row;
}

// What the page holds of the results that are shown.
function offerData(results) {
  const place = document.getElementById("provenance");
  const row = node("div", {class: "tools", role: "group", "aria-label": "Download the data of this page"});
  const button = node("button", {type: "button"}, "JSON");
  button.addEventListener("click", () =>
    saveText(`sharpmax-${viewNumber()}data.json`, "application/json", JSON.stringify({schema: "sharpmax.page/1", results})),
  );
  row.append(node("span", {}, "All that this page holds of the results:"), button);
  place?.append(row);
}

// sharpmax-SECTION.ENDING; in a page of several results the number of the result is in front of the section.
function exportName(place, name, ending) {
  const part = place.closest("section");
  const alone = (part?.querySelectorAll(".tools").length ?? 1) === 1;
  const words = [part?.id ?? "page", ...(name && !alone ? [name] : [])];
  const number = part?.id.startsWith("compared-") ? "" : viewNumber();
  return `sharpmax-${number}${words.map(slug).join("-")}.${ending}`;
}

function viewNumber() {
  const {prefix} = view;
  return prefix ? slug(prefix) + "-" : "";
}

function slug(text) {
  const plain = String(text).toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
  return plain.slice(0, 60) || "figure";
}

function sectionTitle(place) {
  return place.closest("section")?.querySelector("h2")?.textContent ?? document.title;
}

function saveText(name, type, text) {
  saveBlob(name, new Blob([text], {type: type + ";charset=utf-8"}));
}

function saveBlob(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = node("a", {href: address, download: name, hidden: ""});
  document.body.append(link);
  link.click();
  link.remove();
  // The browser reads it after this returns.
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
