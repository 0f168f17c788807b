// Paper A's figure 2: weights on the largest items of some sets. One size is shown large, all sizes small beside it.

// The square root spends the colours where dispersed weights are: 1/16 of the weight is a quarter of the way.
function heat(thousandths) {
  if (thousandths === null) return "transparent";
  return ramp(Math.sqrt(Math.min(1000, Math.max(0, thousandths)) / 1000));
}

function showHeatMaps(data) {
  if (!data.heat_maps.length) return;
  const arms = distinct(data.heat_maps.map((map) => map.arm));
  const normalizers = distinct(data.heat_maps.map((map) => map.normalizer));
  const state = {
    arm: arms.find((arm) => arm === paperArm(data)) ?? arms[0],
    normalizer: normalizers.find((name) => family(name) === "softmax") ?? normalizers[0],
    n: data.sizes[0],
  };
  const mapsOf = () =>
    data.heat_maps.filter((m) => m.arm === state.arm && m.normalizer === state.normalizer).sort((a, b) => a.n - b.n);
  const readout = node("p", {class: "readout"});
  const viewer = heatViewer(state, readout);
  const fill = () => {
    const maps = mapsOf();
    viewer.fill(maps);
    readout.textContent = maps.length
      ? `Seed ${shown(maps[0].seed)}. Point at a cell to read its weight.`
      : "No heat maps of this pair are in the page.";
  };
  const place = section(
    "heat-maps",
    "Where the weight goes",
    "One panel is one size: each line a set, each column one of its largest items, the largest at the right. A head that finds the largest item has a bright right edge. The slider chooses the size; the number below a panel is the mean weight on the largest item.",
  );
  place.append(
    node(
      "div",
      {class: "controls"},
      choice("Training", arms, state.arm, (arm) => {
        state.arm = arm;
        fill();
      }),
      choice("Normalizer", normalizers, state.normalizer, (name) => {
        state.normalizer = name;
        fill();
      }),
      viewer.slider,
    ),
    viewer.panels,
    rampLegend("weight 0", "1, by its square root"),
  );
  const foot = node("div", {class: "chart-foot"}, readout);
  figureTools(foot, {picture: () => heatPicture(mapsOf(), state, sectionTitle(place)), csv: () => heatRows(mapsOf())});
  place.append(foot);
  if (data.heat_maps_left_out.length) place.append(leftOutPairs(data.heat_maps_left_out));
  fill();
}

function leftOutPairs(pairs) {
  const names = pairs.map((m) => `${m.arm} ${m.normalizer}`).join(", ");
  return node("p", {class: "note"}, `Left out to keep this file small: ${names}.`);
}

// The slider, the large panel and the small ones; state.n is the size that is shown large.
function heatViewer(state, readout) {
  const input = node("input", {type: "range", min: 0, step: 1, value: 0});
  const told = node("output");
  const slider = node("label", {class: "choice size-slider"}, "Items n", input, told);
  const large = node("div", {class: "large-panel"});
  const small = node("div", {class: "panels"});
  let maps = [];
  const show = (index) => {
    const map = maps[index];
    state.n = map.n;
    input.value = index;
    told.value = count(map.n);
    input.setAttribute("aria-valuetext", `${count(map.n)} items, mean weight ${decimal(map.on_largest)} on the largest`);
    large.replaceChildren(heatCanvas(map, readout), panelNumber(map, count));
    for (const [i, figure] of [...small.children].entries()) figure.classList.toggle("chosen", i === index);
  };
  input.addEventListener("input", () => show(Number(input.value)));
  const fill = (chosen) => {
    maps = chosen;
    input.max = Math.max(0, maps.length - 1);
    input.disabled = maps.length < 2;
    large.replaceChildren();
    small.replaceChildren(...maps.map((map, i) => panel(map, readout, () => show(i))));
    if (maps.length) show(Math.max(0, maps.findIndex(({n}) => n === state.n)));
  };
  return {slider, panels: node("div", {class: "heat-beside"}, large, small), fill};
}

function panel(map, readout, choose) {
  const figure = node("figure", {}, heatCanvas(map, readout), panelNumber(map, shortCount));
  // For the pointer alone: the slider does the same by keyboard.
  figure.addEventListener("click", choose);
  return figure;
}

function panelNumber({n, on_largest: mean}, write) {
  return node("figcaption", {}, `n = ${write(n)}`, node("span", {"data-value": mean}, decimal(mean)));
}

function heatCanvas({sets, items, n, thousandths, on_largest: mean}, readout) {
  const cell = 8;
  const canvas = node("canvas", {width: items * cell, height: sets * cell, role: "img"});
  const pen = canvas.getContext("2d");
  for (const [index, weight] of thousandths.entries()) {
    pen.fillStyle = heat(weight);
    pen.fillRect((index % items) * cell, Math.floor(index / items) * cell, cell, cell);
  }
  canvas.setAttribute(
    "aria-label",
    `n = ${count(n)}: mean weight ${decimal(mean)} on the largest item over ${plural(sets, "set")}`,
  );
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const column = Math.min(items - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * items)));
    const line = Math.min(sets - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * sets)));
    const weight = thousandths[line * items + column];
    const rank = items - column;
    readout.textContent =
      `n = ${count(n)}, set ${line + 1}, ${rank === 1 ? "largest item" : `item ${rank} from the largest`}: weight ` +
      (weight === null ? kNone : decimal(weight / 1000));
  });
  return canvas;
}

// All sizes in lines of seven, as the page shows them small.
function heatPicture(maps, {arm, normalizer}, title) {
  const [cell, gap, across] = [8, 16, 7];
  const [wide, high] = [Math.max(...maps.map((m) => m.items)) * cell, Math.max(...maps.map((m) => m.sets)) * cell];
  const rows = Math.ceil(maps.length / across);
  return {
    width: Math.max(480, 32 + Math.min(across, maps.length) * (wide + gap)),
    height: 74 + rows * (high + 44) + 8,
    draw: (pen) => {
      pen.text(16, 22, title, {fill: paint("ink"), size: 17, bold: true});
      pen.text(16, 46, `${arm} training, ${normalizer}; below: mean weight on the largest item`, {fill: paint("quiet"), size: 13});
      for (const [i, map] of maps.entries())
        drawHeatPanel(pen, map, 16 + (i % across) * (wide + gap), 66 + Math.floor(i / across) * (high + 44), cell);
    },
  };
}

function drawHeatPanel(pen, {sets, items, n, thousandths, on_largest: mean}, left, top, cell) {
  // Most weights of a dispersed panel round to none: they are its background.
  pen.box(left, top, items * cell, sets * cell, {fill: heat(0)});
  for (const [i, weight] of thousandths.entries())
    if (weight) pen.box(left + (i % items) * cell, top + Math.floor(i / items) * cell, cell, cell, {fill: heat(weight)});
  pen.text(left, top + sets * cell + 12, `n = ${count(n)}`, {fill: paint("ink")});
  pen.text(left, top + sets * cell + 28, decimal(mean), {fill: paint("quiet")});
}

function heatRows(maps) {
  const rows = [["training", "normalizer", "seed", "n", "set", "rank from the largest", "weight"]];
  for (const {arm, normalizer, seed, n, items, thousandths} of maps)
    for (const [i, weight] of thousandths.entries())
      rows.push([arm, normalizer, seed, n, Math.floor(i / items) + 1, items - (i % items), weight === null ? null : weight / 1000]);
  return rows;
}
