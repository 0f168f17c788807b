// A table of a view: sorted by its headings, up at first and then down, filtered by its columns, with bars and links in its cells.

import {scrolling} from "../export/download.js";
import {choice, node, rule} from "../frame/dom.js";
import {formatted} from "../frame/formats.js";
import {addressOf} from "../frame/view.js";
import {count, plural} from "../frame/words.js";

const kLinesAtOnce = 150; // as many as page.css shows

export function showTable(place, table) {
  const {id, title, columns, rows, sortable, chosen, tall, filters = []} = table;
  const shownColumns = columns.filter(({hidden}) => !hidden).map((column) => columnOf(table, column, columns.indexOf(column)));
  const made = tableOf(id, shownColumns, rows, sortable);
  const lines = new Map([...made.tBodies[0].rows].map((line, i) => [line, rows[i]]));
  if (chosen !== undefined) made.tBodies[0].rows[chosen]?.classList.add("chosen");
  if (columns.some(({bar}) => bar)) made.classList.add("with-bars");
  // As it stands, sorted and filtered, with every digit.
  const csv = () => [
    columns.filter((column) => column.csv !== false).map(({name}) => name),
    ...[...made.tBodies[0].rows].filter((line) => !line.hidden).map((line) => csvRow(columns, lines.get(line))),
  ];
  if (filters.length) place.append(filterControls(table, lines));
  place.append(scrolling(title, made, tall ? "tall" : "", {csv}));
}

// columns: {title, value(row), show(value, row): text or node, words: whether it goes to the left, meaning}.
export function tableOf(id, columns, rows, sorts = false) {
  const body = node("tbody");
  // Lines are made once: a thousand of them sort within a frame or two.
  const lines = new Map(rows.map((row) => [row, lineOf(columns, row)]));
  const order = {column: null, direction: 1};
  const sortBy = (column, head) => {
    order.direction = order.column === column ? -order.direction : 1;
    order.column = column;
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order.direction > 0 ? "ascending" : "descending");
    const sorted = [...rows].sort((a, b) => compare(column.value(a), column.value(b), order.direction));
    body.replaceChildren(...sorted.map((row) => lines.get(row)));
  };
  const heads = columns.map((column) => {
    const {title, words, meaning} = column;
    const attributes = {class: words ? "words" : "", ...(meaning ? {title: meaning} : {})};
    if (!title) return node("td", attributes); // nothing to be read out
    const button = node("button", {type: "button"}, title);
    const head = node("th", {scope: "col", ...attributes}, sorts ? button : title);
    button.addEventListener("click", () => sortBy(column, head));
    return head;
  });
  body.append(...lines.values());
  const table = node("table", id ? {id} : {}, node("thead", {}, node("tr", {}, ...heads)), body);
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
  return node("tr", {}, ...columns.map(({value, show, words}) => node("td", {class: words ? "words" : "", "data-value": value(row)}, show(value(row), row))));
}

// Numbers that were not measured come last, up and down.
function compare(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  return direction * (a < b ? -1 : a > b ? 1 : 0);
}

function columnOf({rows, links = []}, column, at) {
  const places = new Map(rows.map((row, i) => [row, links[i]]));
  const show = (_, row) => {
    const text = cellNode(column, row[at]);
    const link = at === 0 ? places.get(row) : null;
    return link ? node("a", {href: addressOf(link)}, text) : text;
  };
  const words = column.align === "left" || column.format === "text";
  return {title: column.name, value: (row) => cellValue(row[at]), show, words, meaning: column.meaning};
}

function cellValue(cell) {
  const value = cell !== null && typeof cell === "object" && !Array.isArray(cell) ? cell.value : cell;
  return Array.isArray(value) ? value[1] : (value ?? null);
}

// As text, or as a node: code, or a bar.
function cellNode({format, code, bar}, cell) {
  if (bar && cell !== null) {
    const [from, to, paint] = Array.isArray(cell) ? cell : [0, cellValue(cell)];
    return to === null ? formatted("plain", null) : shareBar(from, to, paint ?? "grey", bar.mark ?? null);
  }
  const text = cell?.text ?? formatted(format, cellValue(cell));
  if (code) return rule(text);
  // An interval may stand below its number, where there is little room, but does not break.
  const begin = format === "text" ? -1 : String(text).indexOf(" (");
  return begin < 0 ? text : node("span", {}, text.slice(0, begin + 1), node("span", {class: "ends"}, text.slice(begin + 1)));
}

// A bar from one share of its place to another; line: where a rule stands, a share too.
function shareBar(from, to, colour, line) {
  const least = 0.6; // of a hundred: a point can be seen too
  const clip = (share) => 100 * Math.min(1, Math.max(0, share));
  const fill = node("span", {class: "fill"});
  fill.style.left = Math.min(100 - least, clip(from)) + "%";
  fill.style.width = Math.max(least, clip(to) - clip(from)) + "%";
  fill.style.background = `var(--${colour})`;
  const bar = node("div", {class: "share-bar", "aria-hidden": "true"}, fill);
  if (line === null) return bar;
  const mark = node("span", {class: "line"});
  mark.style.left = clip(line) + "%";
  bar.append(mark);
  return bar;
}

function csvRow(columns, row) {
  return row.map(cellValue).filter((_, i) => columns[i].csv !== false);
}
// A drop-down for each column by whose values rows may be chosen, and words to find. Lines are hidden, not made anew, so a thousand of
// them filter within a frame.
function filterControls({columns, rows, filters, row_name: rowName = "line"}, lines) {
  const all = "all";
  const wanted = new Map();
  const told = node("span", {class: "filtered", role: "status"});
  const words = node("input", {type: "search", size: "10"});
  const texts = new Map(rows.map((row) => [row, [textOf(columns[0], row[0]), columns.map((column, at) => (isWords(column) ? textOf(column, row[at]) : "")).join(" ").toLowerCase()]]));
  const isFound = (row) => {
    const [name, text] = texts.get(row);
    const asked = words.value.trim().toLowerCase();
    return (name.startsWith(asked) || text.includes(asked)) && [...wanted].every(([at, value]) => textOf(columns[at], row[at]) === value);
  };
  const apply = () => {
    let kept = 0;
    for (const [line, row] of lines) {
      line.hidden = !isFound(row);
      kept += !line.hidden;
    }
    told.textContent = kept === rows.length ? plural(kept, rowName) : `${count(kept)} of ${plural(rows.length, rowName)}`;
  };
  words.addEventListener("input", apply);
  const controls = filters.map((name) => {
    const at = columns.findIndex((column) => column.name === name);
    const values = [...new Set(rows.map((row) => textOf(columns[at], row[at])))].sort((a, b) => a.localeCompare(b, "en", {numeric: true}));
    return choice(name, [all, ...values], all, (value) => {
      value === all ? wanted.delete(at) : wanted.set(at, value);
      apply();
    });
  });
  apply();
  return node("div", {class: "controls"}, ...controls, node("label", {class: "choice"}, "Find", words), told);
}

function isWords({format, hidden}) {
  return format === "text" && !hidden;
}

function textOf({format}, cell) {
  return String(cell?.text ?? formatted(format, cellValue(cell)));
}
