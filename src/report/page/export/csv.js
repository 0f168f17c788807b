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
