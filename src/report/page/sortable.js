// A table that its headings sort, up at first and then down.
//
// A column is [title, value(row), format]: "words" for names, else what turns value and row into text, or into a node.

function sortable(id, columns, rows) {
  const body = node("tbody");
  const order = {column: null, direction: 1};
  const heads = columns.map(([title, value, format]) => {
    const button = node("button", {type: "button"}, title);
    const head = node("th", {scope: "col", class: format === "words" ? "words" : ""}, button);
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
        ...columns.map(([, value, format]) =>
          format === "words"
            ? node("td", {class: "words"}, rule(value(row)))
            : node("td", {"data-value": value(row)}, format(value(row), row)),
        ),
      ),
    ),
  );
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
  const heads = columns.map(([title, , format]) =>
    node("th", {scope: "col", class: format === "words" ? "words" : ""}, title),
  );
  return node("table", {}, node("thead", {}, node("tr", {}, ...heads)), body);
}
