// Paper A's figure 2: weights on the largest items of some sets, one panel for each size.

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
  };
  const panels = node("div", {class: "panels"});
  const readout = node("p", {class: "readout"});
  const fill = () => {
    const maps = data.heat_maps
      .filter((m) => m.arm === state.arm && m.normalizer === state.normalizer)
      .sort((a, b) => a.n - b.n);
    panels.replaceChildren(...maps.map((map) => panel(map, readout)));
    readout.textContent = maps.length
      ? `Seed ${shown(maps[0].seed)}. Point at a cell to read its weight.`
      : "No heat maps of this pair are in the page.";
  };
  const place = section(
    "heat-maps",
    "Where the weight goes",
    "One panel is one size: each line a set, each column one of its largest items, the largest at the right. A head that finds the largest item has a bright right edge. Below each panel: the mean weight on the largest.",
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
    ),
    panels,
    rampLegend("weight 0", "1, by its square root"),
    readout,
  );
  if (data.heat_maps_left_out.length)
    place.append(
      node(
        "p",
        {class: "note"},
        "Left out to keep this file small: " +
          data.heat_maps_left_out.map((m) => `${m.arm} ${m.normalizer}`).join(", ") +
          ".",
      ),
    );
  fill();
}

function panel(map, readout) {
  const {sets, items, n, thousandths, on_largest: mean} = map;
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
  return node(
    "figure",
    {},
    canvas,
    node("figcaption", {}, `n = ${count(n)}`, node("span", {"data-value": mean}, decimal(mean))),
  );
}
