// Curves over sizes on a logarithmic axis, by uPlot.
//
// A chart is described by {curves, sizes, label, top, percent, reference}, and where they differ from items n by
// {across: {label, symbol, ticks, tick, format}}; {bottom} makes its values logarithmic, from there to top; {least} is where
// other values begin, 0 unless told; {about} says in a picture of it what the section's title does not; {marks} are
// vertical lines, {at, name}; {legend: true} names the curves below where their ends have no room for it, or do not
// reach the largest size. A curve is {name, look, points, format, hollow, bare, unlisted}, its points
// a Map from size to {value, low, high}; low and high may be missing, a bare curve has no dots ({dotSize}: of pixels),
// an unlisted one no place in the legend.

const kFont = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const kWideEnoughForLabels = 640;
const kLeastTickGap = 32; // pixels between the middles of two labels of sizes

// Draws what describe() returns, and draws it again when asked, when the page's width or its colours change.
function liveChart(holder, describe) {
  const place = node("div", {class: "chart", role: "img", tabindex: "0"});
  const readout = node("p", {class: "readout"});
  const legend = chartLegend();
  const foot = node("div", {class: "chart-foot"}, readout);
  holder.append(place, legend.list, foot);
  let plot = null;
  const draw = () => {
    plot?.destroy();
    const description = describe();
    place.setAttribute("aria-label", spoken(description));
    legend.show(description, place.clientWidth);
    const idle = () =>
      readout.replaceChildren(
        document.createTextNode("Point at the chart, or focus it and use the arrow keys, to read its numbers."),
      );
    plot = new uPlot(
      options(description, place.clientWidth, (index) =>
        index === null ? idle() : readAt(readout, description, index),
      ),
      columns(description),
      place,
    );
    idle();
  };
  redrawWhenColoursChange(place, draw);
  figureTools(foot, {
    name: describe().label,
    picture: () => chartPicture(describe(), sectionTitle(holder)),
    csv: () => curveRows(describe()),
  });
  let width = place.clientWidth;
  new ResizeObserver(() => {
    if (place.clientWidth === width) return;
    width = place.clientWidth;
    draw();
  }).observe(place);
  place.addEventListener("keydown", (event) => {
    const move = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!move) return;
    event.preventDefault();
    const sizes = plot.data[0];
    const index = Math.min(sizes.length - 1, Math.max(0, (plot.cursor.idx ?? (move > 0 ? -1 : sizes.length)) + move));
    plot.setCursor({left: plot.valToPos(sizes[index], "x"), top: plot.over.clientHeight / 2});
  });
  return draw;
}

// Made anew only when the curves are others: samples of lines live as long as the page.
function chartLegend() {
  const list = node("ul", {class: "legend"});
  let written = "";
  const show = ({curves, sizes, legend}, width) => {
    const ends = curves.every((c) => c.points.has(sizes.at(-1)));
    list.hidden = !legend || (ends && width >= kWideEnoughForLabels);
    const names = JSON.stringify(curves.map(({name, look}) => [name, look]));
    if (list.hidden || names === written) return;
    written = names;
    const listed = curves.filter((c) => !c.unlisted);
    list.replaceChildren(...listed.map((c) => node("li", {}, lineSample(c.look), shown(c.name))));
  };
  return {list, show};
}

const kItems = {label: "items n", symbol: "n", format: count};

function spoken({label, curves, sizes, across = kItems}) {
  const last = sizes.at(-1);
  const ends = curves.filter((c) => c.points.has(last)).map((c) => `${c.name} ${c.format(c.points.get(last).value)}`);
  return shown(
    `${label} against ${across.label}, ${plural(curves.length, "curve")}. At ${across.format(last)}: ${ends.join(", ")}.`,
  );
}

// uPlot's columns: sizes, then value, low and high of each curve.
function columns({curves, sizes}) {
  const of = (curve, part) => sizes.map((n) => curve.points.get(n)?.[part] ?? null);
  return [sizes, ...curves.flatMap((c) => [of(c, "value"), of(c, "low"), of(c, "high")])];
}

function options(description, width, pointedAt) {
  const {curves, sizes, label, reference, bottom, marks = [], across = kItems} = description;
  const labelled = width >= kWideEnoughForLabels;
  const [least, top] = rangeOfValues(description);
  return {
    width,
    height: width < 480 ? 270 : 360,
    padding: [14, labelled ? labelRoom(curves) : 14, 0, 0],
    legend: {show: false},
    cursor: {y: false, drag: {x: false, y: false}, points: {size: 9}},
    scales: {
      x: {time: false, distr: 3, log: 2, range: rangeOfSizes(sizes)},
      y: bottom === undefined ? {range: [least, top]} : {distr: 3, log: 10, range: [bottom, top]},
    },
    axes: [
      sizeAxis(across, sizes),
      bottom === undefined ? valueAxis(label, description.percent) : decadeAxis(label, bottom, top),
    ],
    series: [{}, ...curves.flatMap(seriesOf)],
    bands: curves.map((curve, i) => ({
      series: [3 * i + 3, 3 * i + 2],
      fill: withAlpha(paint(curve.look.colour), 0.16),
    })),
    hooks: {
      draw: [
        (u) => marks.forEach((mark) => drawMark(u, mark)),
        ...(reference ? [(u) => drawReference(u, reference)] : []),
        ...(labelled ? [(u) => drawEndLabels(u, curves)] : []),
      ],
      setCursor: [(u) => pointedAt(u.cursor.idx ?? null)],
    },
  };
}

function seriesOf(curve) {
  const stroke = paint(curve.look.colour);
  const points = {show: !curve.bare, size: curve.dotSize ?? 6, width: 1.5, stroke, fill: curve.hollow ? paint("card") : stroke};
  const unseen = {stroke: "transparent", width: 0, points: {show: false}};
  return [{stroke, width: 2.25, dash: curve.look.dash, points, spanGaps: true}, unseen, unseen];
}

// A vertical line with its name at its top, on the side where there is room.
function drawMark(u, {at, name}) {
  const pen = u.ctx;
  const x = u.valToPos(at, "x", true);
  if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
  const left = x > u.bbox.left + u.bbox.width / 2;
  pen.save();
  pen.strokeStyle = pen.fillStyle = paint("quiet");
  pen.lineWidth = uPlot.pxRatio;
  pen.beginPath();
  pen.moveTo(x, u.bbox.top);
  pen.lineTo(x, u.bbox.top + u.bbox.height);
  pen.stroke();
  pen.font = scaledFont();
  pen.textAlign = left ? "right" : "left";
  const place = [x + (left ? -5 : 5) * uPlot.pxRatio, u.bbox.top + 12 * uPlot.pxRatio];
  pen.lineWidth = 4 * uPlot.pxRatio;
  pen.strokeStyle = paint("card");
  pen.strokeText(name, ...place);
  pen.fillText(name, ...place);
  pen.restore();
}

// A thin dotted curve to judge by: {name, value(n), rising}. Its name stands above it, left of a rising one.
function drawReference(u, {name, value, rising}) {
  const pen = u.ctx;
  pen.save();
  pen.beginPath();
  for (const n of u.data[0]) pen.lineTo(u.valToPos(n, "x", true), u.valToPos(value(n), "y", true));
  pen.strokeStyle = pen.fillStyle = paint("quiet");
  pen.lineWidth = uPlot.pxRatio;
  pen.setLineDash([2 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
  pen.stroke();
  pen.font = scaledFont();
  pen.textAlign = rising ? "right" : "left";
  const n = u.data[0][rising ? Math.floor(0.7 * u.data[0].length) : 0];
  const place = [
    u.valToPos(n, "x", true) + (rising ? -8 : 4) * uPlot.pxRatio,
    u.valToPos(value(n), "y", true) - 6 * uPlot.pxRatio,
  ];
  pen.setLineDash([]);
  pen.lineWidth = 4 * uPlot.pxRatio;
  pen.strokeStyle = paint("card");
  pen.strokeText(name, ...place);
  pen.fillText(name, ...place);
  pen.restore();
}

function scaledFont() {
  return kFont.replace("12px", 12 * uPlot.pxRatio + "px");
}

function labelRoom(curves) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = kFont;
  return 18 + Math.min(190, Math.max(0, ...curves.map((c) => pen.measureText(cut(shown(c.name))).width)));
}

function cut(name) {
  return name.length > 28 ? name.slice(0, 27) + "…" : name;
}

// Heights for names that want to stand at these, from the lowest up: pushed up where they meet, and down again from the
// top where they would leave the picture.
function apart(wanted, step, top, bottom) {
  let limit = bottom + step;
  const placed = wanted.map((at) => (limit = Math.min(limit - step, at)));
  limit = top - step;
  for (let i = placed.length - 1; i >= 0; --i) placed[i] = limit = Math.max(limit + step, placed[i]);
  return placed;
}

// Names at the right ends of the curves that reach the largest size.
function drawEndLabels(u, curves) {
  const pen = u.ctx;
  const step = 15 * uPlot.pxRatio;
  const ends = curves
    .map((curve) => ({curve, value: curve.points.get(u.data[0].at(-1))?.value ?? null}))
    .filter(({value}) => value !== null)
    .map(({curve, value}) => ({curve, at: u.valToPos(value, "y", true)}))
    .sort((a, b) => b.at - a.at);
  const bottom = u.bbox.top + u.bbox.height - step / 2;
  const heights = apart(ends.map(({at}) => at), step, step / 2, bottom);
  pen.save();
  pen.font = scaledFont();
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  for (const [i, {curve}] of ends.entries()) {
    pen.fillStyle = paint(curve.look.colour);
    pen.fillText(cut(shown(curve.name)), u.bbox.left + u.bbox.width + 8 * uPlot.pxRatio, heights[i]);
  }
  pen.restore();
}

function readAt(readout, {curves, sizes, percent: inPercent, across = kItems}, index) {
  const n = sizes[index];
  const parts = curves
    .filter((c) => c.points.has(n))
    .flatMap((c) => {
      const {value, low, high} = c.points.get(n);
      const ends = () =>
        inPercent ? interval({accuracy_low: low, accuracy_high: high}) : `${c.format(low)}–${c.format(high)}`;
      const range = low === undefined || low === null ? "" : ` (${ends()})`;
      return [" · ", rule(c.name), ` ${c.format(value)}${range}`];
    });
  readout.replaceChildren(
    node("b", {}, `${across.symbol} = ${across.format(n)}`),
    ...parts.map((p) => (p instanceof Node ? p : document.createTextNode(p))),
  );
}
