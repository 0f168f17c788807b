// Tables as CSV (RFC 4180). Text that a spreadsheet would take for a formula gets an apostrophe in front.

import {shown} from "../frame/dom.js";
import {kNone} from "../frame/words.js";

const kFormula = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/;
const kPlainNumber = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i;
const kGroupedNumber = /^-?\d{1,3}(,\d{3})+$/;

export function csvText(rows) {
  return rows.map((cells) => cells.map(csvCell).join(",") + "\r\n").join("");
}

function csvCell(cell) {
  if (cell === null || cell === undefined || cell === kNone) return "";
  if (typeof cell === "number" || typeof cell === "boolean") return String(cell);
  const text = shown(cell);
  const safe = kFormula.test(text) && !kPlainNumber.test(text) ? "'" + text : text;
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// A table of the page as it stands there, sorted and filtered, with every digit of its numbers. A heading and its
// cells may say other columns than they show, as lists in data-csv.
export function tableRows(table) {
  const rows = [...table.rows].filter((line) => !line.hidden && !line.closest("tfoot"));
  const lines = rows.map((line) => [...line.cells].flatMap((cell) => repeated(csvCells(cell), cell.colSpan)));
  return lines.filter((cells) => cells.length);
}

function csvCells(cell) {
  if (cell.dataset.csv !== undefined) return JSON.parse(cell.dataset.csv);
  const {value} = cell.dataset;
  if (value !== undefined) return [value === "null" ? null : Number.isFinite(Number(value)) && value !== "" ? Number(value) : value];
  if (cell.querySelector("[role=img]")) return [cell.querySelector("[role=img]").getAttribute("aria-label")];
  return [plainText(cell)];
}

function plainText(cell) {
  const text = cell.textContent.trim();
  return kGroupedNumber.test(text) ? Number(text.replaceAll(",", "")) : text;
}

// A heading over several columns stands over each of them.
function repeated(cells, times) {
  return times > 1 ? Array(times).fill(cells).flat() : cells;
}
