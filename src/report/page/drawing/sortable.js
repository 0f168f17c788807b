// A table that its headings sort, up at first and then down.
//
// A column is [title, value(row), format]: "words" for names, else what turns value and row into text, or into a node.
// A fourth entry {csv: [[title, value(row)], ...]} says what it is as CSV, where that is not its title and value;
// {words: true} puts it to the left as names are.

import {node, rule} from "../frame/dom.js";

const kLinesAtOnce = 150; // as many as page.css shows

export function sortable(id, columns, rows) {
  const body = node("tbody");
  const order = {column: null, direction: 1};
  const heads = columns.map((column) => {
    const [title, value] = column;
    if (!title) return headOf(column);
    const button = node("button", {type: "button"}, title);
    const head = headOf(column, button);
    button.addEventListener("click", () => {
      order.direction = order.column === title ? -order.direction : 1;
      order.column = title;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order.direction > 0 ? "ascending" : "descending");
      const sorted = [...rows].sort((a, b) => compare(value(a), value(b), order.direction));
      body.replaceChildren(...sorted.map((row) => lines.get(row)));
    });
    return head;
  });
  // Lines are made once: a thousand of them sort within a frame or two.
  const lines = new Map(rows.map((row) => [row, lineOf(columns, row)]));
  body.append(...lines.values());
  const table = node("table", {id}, node("thead", {}, node("tr", {}, ...heads)), body);
  if (rows.length > kLinesAtOnce) shorten(table, columns.length);
  return table;
}

// A long table shows its first lines (page.css) until it is asked for all: a browser takes a tenth of a second to lay out
// a thousand, and more, each time they are sorted.
function shorten(table, columns) {
  const all = node("button", {type: "button", class: "link"}, "Show every line");
  const foot = node("tfoot", {}, node("tr", {}, node("td", {colspan: columns, class: "words"}, all)));
  table.classList.add("short");
  table.append(foot);
  all.addEventListener("click", () => {
    table.classList.remove("short");
    foot.remove();
    table.closest(".scroll")?.focus();
  });
}

function lineOf(columns, row) {
  const cell = ([, value, format, {csv, words} = {}]) => {
    if (format === "words") return node("td", {class: "words"}, rule(value(row)));
    const taken = csvAs(csv?.map(([, part]) => part(row)));
    return node("td", {class: words ? "words" : "", "data-value": value(row), ...taken}, format(value(row), row));
  };
  return node("tr", {}, ...columns.map(cell));
}

// A column without a title, of bars say, has no heading to be read out.
function headOf([title, , format, {csv, words} = {}], inside = title) {
  const attributes = {class: words || format === "words" ? "words" : "", ...csvAs(csv?.map(([name]) => name))};
  return title ? node("th", {scope: "col", ...attributes}, inside) : node("td", attributes);
}

function csvAs(cells) {
  return cells ? {"data-csv": JSON.stringify(cells)} : {};
}

// Numbers that were not measured come last, up and down.
function compare(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  return direction * (a < b ? -1 : a > b ? 1 : 0);
}

// One that keeps its order; columns as above.
export function plainTable(columns, rows) {
  const body = node("tbody");
  body.append(...rows.map((row) => lineOf(columns, row)));
  const heads = columns.map((column) => headOf(column));
  return node("table", {}, node("thead", {}, node("tr", {}, ...heads)), body);
}
