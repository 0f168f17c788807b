// What a reader can take away: tables as CSV, pictures as SVG and PNG, the data of the page as JSON.

import {node, shown} from "../frame/dom.js";
import {view} from "../frame/view.js";
import {kNone} from "../frame/words.js";
import {paintedOn, svgText} from "./picture.js";

// A quiet row of buttons in `holder`, for a figure or table there. What it offers is made when it is asked for:
// {name, picture: () => drawing, csv: () => rows of cells}; `name` tells files of one section apart where it has several.
export function figureTools(holder, {name, picture, csv}) {
  const row = node("div", {class: "tools", role: "group", "aria-label": "Download"});
  const offer = (text, make) => {
    const button = node("button", {type: "button", title: `Download as ${text}`}, text);
    button.addEventListener("click", () => make((ending) => exportName(row, name, ending)));
    row.append(button);
  };
  if (picture) {
    offer("PNG", (file) => paintedOn(picture()).toBlob((blob) => saveBlob(file("png"), blob), "image/png"));
    offer("SVG", (file) => saveText(file("svg"), "image/svg+xml", svgText(picture())));
  }
  if (csv) offer("CSV", (file) => saveText(file("csv"), "text/csv", csvText(csv())));
  holder.append(row);
  return row;
}

// Tables as CSV (RFC 4180). Text that a spreadsheet would take for a formula gets an apostrophe in front.
const kFormula = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/;
const kPlainNumber = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i;

function csvText(rows) {
  return rows.map((cells) => cells.map(csvCell).join(",") + "\r\n").join("");
}

function csvCell(cell) {
  if (cell === null || cell === undefined || cell === kNone) return "";
  if (typeof cell === "number" || typeof cell === "boolean") return String(cell);
  const text = shown(cell);
  const safe = kFormula.test(text) && !kPlainNumber.test(text) ? "'" + text : text;
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// What the page holds of the results that are shown.
export function offerData(results) {
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

export function sectionTitle(place) {
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

// A wide table scrolls within itself, by keyboard too, and the page never does. Its edge fades while there is more beyond it, so that no
// number that is cut there looks whole. What is offered can be taken away.
export function scrolling(label, table, style, offers) {
  const inner = node("div", {class: "scroll " + style, tabindex: "0", role: "region", "aria-label": label}, table);
  const fade = () => inner.classList.toggle("more", inner.scrollLeft + inner.clientWidth < inner.scrollWidth - 1);
  inner.addEventListener("scroll", fade, {passive: true});
  new ResizeObserver(fade).observe(inner);
  const frame = node("div", {class: "frame"}, inner);
  figureTools(frame, {name: label, ...offers});
  return frame;
}
