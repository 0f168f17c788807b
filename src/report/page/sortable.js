// A table that its headings sort, up at first and then down.
//
// A column is [title, value(row), format]: "words" for names, else what turns value and row into text, or into a node.
// A fourth entry {csv: [[title, value(row)], ...]} says what it is as CSV, where that is not its title and value;
// {words: true} puts it to the left as names are.

function sortable(id, columns, rows) {
  const body = node("tbody");
  const order = {column: null, direction: 1};
  const heads = columns.map((column) => {
    const [title, value] = column;
    const button = node("button", {type: "button"}, title);
    const head = headOf(column, button);
    button.addEventListener("click", () => {
      order.direction = order.column === title ? -order.direction : 1;
      order.column = title;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order.direction > 0 ? "ascending" : "descending");
      fillRows(
        body,
        columns,
        [...rows].sort((a, b) => order.direction * compare(value(a), value(b))),
      );
    });
    return head;
  });
  fillRows(body, columns, rows);
  return node("table", {id}, node("thead", {}, node("tr", {}, ...heads)), body);
}

function fillRows(body, columns, rows) {
  body.replaceChildren(
    ...rows.map((row) =>
      node(
        "tr",
        {},
        ...columns.map(([, value, format, {csv, words} = {}]) =>
          format === "words"
            ? node("td", {class: "words"}, rule(value(row)))
            : node("td", {class: words ? "words" : "", "data-value": value(row), ...csvAs(csv?.map(([, part]) => part(row)))}, format(value(row), row)),
        ),
      ),
    ),
  );
}

function headOf([, , format, {csv, words} = {}], inside) {
  return node("th", {scope: "col", class: words || format === "words" ? "words" : "", ...csvAs(csv?.map(([title]) => title))}, inside);
}

function csvAs(cells) {
  return cells ? {"data-csv": JSON.stringify(cells)} : {};
}

// Numbers that were not measured come last.
function compare(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  return a < b ? -1 : a > b ? 1 : 0;
}

// One that keeps its order; columns as above.
function plainTable(columns, rows) {
  const body = node("tbody");
  fillRows(body, columns, rows);
  const heads = columns.map((column) => headOf(column, column[0]));
  return node("table", {}, node("thead", {}, node("tr", {}, ...heads)), body);
}
