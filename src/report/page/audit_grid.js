// The layer × head grid. It is a table of cells with one tab stop, moved by the arrow keys.

// Returns what opens a head, and puts it into the address.
function showHeads(attention) {
  const state = {statistic: kHeadStatistics[0], length: attention.lengths.length - 1, head: null, said: null};
  const panel = headPanel(attention);
  const readout = node("p", {class: "readout"});
  const legend = node("div");
  const grid = headGrid(attention, {
    say: (head) => say((state.said = head)),
    choose: (head) => choose(head),
  });
  const choose = (head) => {
    open(head, {scroll: true});
    rememberPlace(`head-${headName(head)}`);
  };
  findPlaces((place) => {
    const head = attention.heads.find((one) => place === `head-${headName(one)}`);
    if (head) open(head, {scroll: true});
    return head !== undefined;
  });
  const wordsOf = (head) => {
    const {name, write, byLength: varies} = state.statistic;
    return `${name} ${write(head, state.length)}` + (varies ? ` at ${count(attention.lengths[state.length])} tokens` : "");
  };
  const say = (head) => (readout.textContent = shown(`Head ${headName(head)}, ${head.kind}: ${wordsOf(head)}`));
  const colour = () => {
    const {value, scale, name} = state.statistic;
    const {low, high, share} = scale(attention);
    legend.replaceChildren(rampLegend(`${name} ${low}`, high), node("p", {class: "note"}, state.statistic.bright));
    for (const [head, cell] of grid.cells) {
      const found = value(head, state.length);
      cell.className = found === null ? "unknown" : "";
      cell.style.backgroundColor = found === null ? "" : ramp(share(found));
      cell.dataset.value = found;
      cell.setAttribute("aria-label", shown(`Head ${headName(head)}: ${wordsOf(head)}`));
    }
    if (state.said) say(state.said);
  };
  const open = (head, {scroll = false} = {}) => {
    if (state.head) grid.cells.get(state.head).setAttribute("aria-selected", "false");
    state.head = head;
    grid.cells.get(head).setAttribute("aria-selected", "true");
    grid.stopAt(head);
    panel.show(head);
    if (scroll) panel.element.scrollIntoView({block: "nearest"});
  };
  const picture = () => {
    const {value, scale, name, byLength: varies} = state.statistic;
    const {low, high, share} = scale(attention);
    return gridPicture(attention.heads, {
      title: `Every head: ${name}`,
      about: varies ? `at ${count(attention.lengths[state.length])} tokens` : `up to ${count(attention.lengths.at(-1))} tokens`,
      colour: (head) => (value(head, state.length) === null ? null : ramp(share(value(head, state.length)))),
      scale: {low, high, colour: ramp},
    });
  };
  const left = node("div", {}, scrolling("Layers and heads", grid.table, "", {picture}), legend, readout);
  section(
    "heads",
    "Every head",
    "One cell is one head, a layer to a line. Choose one by click, or by arrow keys and Enter, to see it at every length. “Outside” leaves the first token out, on which many heads park their weight.",
  ).append(
    gridControls(attention, state, colour),
    node("div", {class: "heads-beside"}, left, panel.element, ...panel.below),
  );
  if (attention.left_out.length)
    left.append(
      node("p", {class: "note"}, `Left out to keep this file small: ${attention.left_out.join(", ").replaceAll("_", " ")}.`),
    );
  panel.draw();
  colour();
  open(worstFirst(attention.heads)[0]);
  offerHeadRows(attention);
  readout.textContent = "Point at a cell to read it.";
  return choose;
}

function gridControls(attention, state, changed) {
  const statistics = kHeadStatistics.filter(({isIn}) => !isIn || isIn(attention));
  const names = statistics.map(({name}) => name);
  const lengths = attention.lengths.map(count);
  const length = choice("Tokens", lengths, lengths[state.length], (text) => {
    state.length = lengths.indexOf(text);
    changed();
  });
  const statistic = choice("Colour by", names, state.statistic.name, (name) => {
    state.statistic = statistics[names.indexOf(name)];
    length.querySelector("select").disabled = !state.statistic.byLength;
    changed();
  });
  return node("div", {class: "controls"}, statistic, length);
}

function headGrid({heads}, {say, choose}) {
  const rows = groupedByLayer(heads);
  const columns = distinct(heads.map(({head}) => head)).sort((a, b) => a - b);
  const every = columns.length > 16 ? 4 : 1;
  const table = node("table", {class: "head-grid", role: "grid", "aria-label": "Layers and heads"});
  const titles = columns.map((head, i) => node("th", {scope: "col", class: i % every ? "unwritten" : ""}, head));
  table.append(node("thead", {}, node("tr", {}, node("td"), ...titles)));
  const cells = new Map();
  const places = []; // [line][column]
  const body = node("tbody");
  for (const [layer, ofLayer] of [...rows].sort((a, b) => a[0] - b[0])) {
    const line = node("tr", {}, node("th", {scope: "row"}, layer));
    for (const head of ofLayer.sort((a, b) => a.head - b.head)) {
      const cell = node("td", {role: "gridcell", tabindex: "-1", "aria-selected": "false"});
      cell.dataset.head = headName(head);
      cell.addEventListener("pointerenter", () => say(head));
      cell.addEventListener("focus", () => say(head));
      cell.addEventListener("click", () => choose(head));
      cells.set(head, cell);
      line.append(cell);
    }
    places.push(ofLayer);
    body.append(line);
  }
  table.append(body);
  let stop = heads[0];
  const stopAt = (head) => {
    cells.get(stop).tabIndex = -1;
    cells.get((stop = head)).tabIndex = 0;
  };
  table.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") choose(stop);
    else if (!moveTo(neighbour(places, stop, event.key))) return;
    event.preventDefault();
  });
  const moveTo = (head) => {
    if (!head) return false;
    stopAt(head);
    cells.get(head).focus();
    return true;
  };
  stopAt(stop);
  return {table, cells, stopAt};
}

function groupedByLayer(heads) {
  const rows = new Map();
  for (const head of heads) rows.set(head.layer, [...(rows.get(head.layer) ?? []), head]);
  return rows;
}

// The head that a key leads to; undefined for other keys and at the edges.
function neighbour(places, head, key) {
  const line = places.findIndex((heads) => heads.includes(head));
  const column = places[line].indexOf(head);
  const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[key];
  if (step) return places[line + step[0]]?.[column + step[1]];
  return {Home: places[line][0], End: places[line].at(-1)}[key];
}
