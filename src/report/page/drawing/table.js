// A table of a view: sorted by its headings, filtered by its columns, with bars and links in its cells.

import {scrolling} from "../export/download.js";
import {choice, node, rule} from "../frame/dom.js";
import {formatted} from "../frame/formats.js";
import {view} from "../frame/view.js";
import {shareBar} from "./kind_parts.js";
import {plainTable, sortable} from "./sortable.js";

export function showTable(place, table, shared) {
  const {id, title, columns, rows, sortable: sorts, chosen, tall, filters = []} = table;
  const shownColumns = columns.filter(({hidden}) => !hidden).map((column) => columnOf(table, column, columns.indexOf(column)));
  const made = sorts ? sortable(id, shownColumns, rows) : plainTable(shownColumns, rows);
  made.id = id;
  const lines = new Map([...made.tBodies[0].rows].map((line, i) => [line, rows[i]]));
  if (chosen !== undefined) [...lines.keys()][chosen]?.classList.add("chosen");
  if (columns.some(({bar}) => bar)) made.classList.add("with-bars");
  const csv = () => [
    columns.filter((column) => column.csv !== false).map(({name}) => name),
    ...[...made.tBodies[0].rows].filter((line) => !line.hidden).map((line) => csvRow(columns, lines.get(line))),
  ];
  if (filters.length) place.append(filterControls(table, lines));
  place.append(scrolling(title, made, tall ? "tall" : "", {csv}));
  if (id) shared.tables.set(id, {table, lines});
}

function columnOf({rows, links = []}, column, at) {
  const show = (value, row) => {
    const text = cellNode(column, row[at]);
    const link = at === 0 ? links[rows.indexOf(row)] : null;
    return link ? node("a", {href: `#${view.prefix}${link}`}, text) : text;
  };
  const left = column.align === "left" || column.format === "text";
  return [column.name, (row) => cellValue(row[at]), show, {words: left, meaning: column.meaning}];
}

function cellValue(cell) {
  const value = cell !== null && typeof cell === "object" && !Array.isArray(cell) ? cell.value : cell;
  return Array.isArray(value) ? value[1] : (value ?? null);
}

// As text, or as a node: code, or a bar.
export function cellNode({format, code, bar}, cell) {
  if (bar && cell !== null) {
    const [from, to, paint] = Array.isArray(cell) ? cell : [0, cellValue(cell)];
    return to === null ? formatted("plain", null) : shareBar(from, to, paint ?? bar.paint ?? "grey", bar.mark ?? null);
  }
  const text = cell?.text ?? formatted(format, cellValue(cell));
  return code ? rule(text) : text;
}

function csvRow(columns, row) {
  return row.map(cellValue).filter((_, i) => columns[i].csv !== false);
}

// A drop-down for each column by whose values rows may be chosen.
function filterControls({columns, rows, filters}, lines) {
  const all = "all";
  const wanted = new Map();
  const told = node("span", {class: "filtered", role: "status"});
  const apply = () => {
    let kept = 0;
    for (const [line, row] of lines) {
      line.hidden = [...wanted].some(([at, value]) => String(cellValue(row[at])) !== value);
      kept += !line.hidden;
    }
    told.textContent = wanted.size ? `${kept} of ${rows.length}` : "";
  };
  const controls = filters.map((name) => {
    const at = columns.findIndex((column) => column.name === name);
    const values = [...new Set(rows.map((row) => String(cellValue(row[at]))))];
    return choice(name, [all, ...values], all, (value) => {
      value === all ? wanted.delete(at) : wanted.set(at, value);
      apply();
    });
  });
  return node("div", {class: "controls"}, ...controls, told);
}
