// A chart's description (chart.js) as a picture to take away: the curves, bands, marks and reference that the page shows.

const kPictureWidth = 860;
const kPlotHeight = 380;

// title: what stands above it. A curve that reaches the largest size has its name there, others have it below.
function chartPicture(description, title) {
  const {curves, about} = description;
  const named = namedAtEnd(description);
  const legend = legendPlaces(curves.filter((c) => !c.unlisted && !named.includes(c)));
  const top = about ? 66 : 46;
  const right = kPictureWidth - labelRoom(named);
  const box = {left: 70, right, top, bottom: top + kPlotHeight};
  return {
    width: kPictureWidth,
    height: box.bottom + 54 + legend.height,
    draw: (pen) => {
      const ink = paint("ink");
      pen.text(16, 22, cutTo(title, kPictureWidth - 32, 17, true), {fill: ink, size: 17, bold: true});
      if (about) pen.text(16, 46, cutTo(about, kPictureWidth - 32, 13), {fill: paint("quiet"), size: 13});
      drawChart(pen, description, box);
      for (const {curve, x, y} of legend.places) drawLegendEntry(pen, curve, x, box.bottom + 60 + y);
    },
  };
}

// All or none where the page has a legend.
function namedAtEnd({curves, sizes, legend}) {
  const ending = curves.filter((c) => typeof c.points.get(sizes.at(-1))?.value === "number");
  return legend && ending.length < curves.length ? [] : ending;
}

function cutTo(words, room, size, bold = false) {
  let text = shown(words);
  if (textWidth(text, size, bold) <= room) return text;
  while (text.length > 1 && textWidth(text + "…", size, bold) > room) text = text.slice(0, -1);
  return text + "…";
}

function legendPlaces(curves) {
  const places = [];
  let [x, y] = [16, 0];
  for (const curve of curves) {
    const wide = 40 + textWidth(cut(curve.name)) + 22;
    if (x > 16 && x + wide > kPictureWidth) [x, y] = [16, y + 22];
    places.push({curve, x, y});
    x += wide;
  }
  return {places, height: curves.length ? y + 26 : 0};
}

function drawLegendEntry(pen, curve, x, y) {
  const stroke = paint(curve.look.colour);
  pen.line([[x, y], [x + 32, y]], {stroke, width: 2.25, dash: curve.look.dash});
  if (!curve.bare) drawDot(pen, curve, x + 16, y);
  pen.text(x + 40, y, cut(shown(curve.name)), {fill: paint("ink")});
}

// Where a size and a value are; a logarithmic axis has no place for values that are not above 0.
function placing(description, {left, right, top, bottom}) {
  const {sizes} = description;
  const [low, high] = rangeOfSizes(sizes).map(Math.log);
  const [least, most] = rangeOfValues(description);
  const logarithmic = description.bottom !== undefined;
  const share = logarithmic
    ? (v) => Math.log(v / least) / Math.log(most / least)
    : (v) => (v - least) / (most - least);
  return {
    x: (n) => left + ((Math.log(n) - low) / (high - low)) * (right - left),
    y: (v) => bottom - Math.min(1, Math.max(0, share(v))) * (bottom - top),
    has: (v) => typeof v === "number" && (!logarithmic || v > 0),
  };
}

function drawChart(pen, description, box) {
  const {curves, reference, marks = []} = description;
  const at = placing(description, box);
  drawAxes(pen, description, box, at);
  for (const curve of curves) drawBand(pen, curve, description, at);
  for (const mark of marks) drawPictureMark(pen, mark, description, box, at);
  if (reference) drawPictureReference(pen, reference, description, at);
  for (const curve of curves) drawCurve(pen, curve, description, at);
  drawNames(pen, description, box, at);
}

function drawAxes(pen, {sizes, label, percent: inPercent, bottom, across = kItems, ...rest}, box, at) {
  const [line, quiet] = [paint("line"), paint("quiet")];
  const values = ticksOfValues({sizes, percent: inPercent, bottom, ...rest});
  for (const {value, text} of values) {
    pen.line([[box.left, at.y(value)], [box.right, at.y(value)]], {stroke: line});
    pen.text(box.left - 8, at.y(value), text, {fill: quiet, anchor: "end"});
  }
  let next = Infinity;
  for (const n of [...(across.ticks ?? sizes)].reverse()) {
    const x = at.x(n);
    if (x < box.left - 1 || x > box.right + 1) continue;
    pen.line([[x, box.top], [x, box.bottom]], {stroke: line});
    if (next - x < kLeastTickGap) continue;
    next = x;
    pen.text(x, box.bottom + 16, (across.tick ?? shortCount)(n), {fill: quiet, anchor: "middle"});
  }
  pen.text((box.left + box.right) / 2, box.bottom + 38, across.label, {fill: quiet, anchor: "middle"});
  pen.text(20, (box.top + box.bottom) / 2, label, {fill: quiet, anchor: "middle", turned: true});
}

function ticksOfValues(description) {
  const [least, most] = rangeOfValues(description);
  if (description.bottom !== undefined) return decadesBetween(least, most).map((value) => ({value, text: powerOfTen(value)}));
  if (description.percent)
    return [0, 0.2, 0.4, 0.6, 0.8, 1].map((value) => ({value, text: `${Math.round(100 * value)}${kNarrowSpace}%`}));
  const rough = (most - least) / 6;
  const decade = 10 ** Math.floor(Math.log10(rough));
  const step = decade * [1, 2, 2.5, 5, 10].find((times) => times * decade >= rough);
  const digits = Math.max(0, 2 - Math.floor(Math.log10(step)) - 1);
  const ticks = [];
  for (let i = Math.ceil(least / step); i * step <= most * (1 + 1e-9); ++i)
    ticks.push({value: i * step, text: String(Number((i * step).toFixed(digits)))});
  return ticks;
}

function measuredPoints({points}, {sizes}, at) {
  return sizes.map((n) => [n, points.get(n)]).filter(([, point]) => point && at.has(point.value));
}

function drawBand(pen, curve, description, at) {
  const known = measuredPoints(curve, description, at).filter(([, {low, high}]) => at.has(low) && at.has(high));
  if (known.length < 2) return;
  const upper = known.map(([n, {high}]) => [at.x(n), at.y(high)]);
  const lower = known.map(([n, {low}]) => [at.x(n), at.y(low)]);
  pen.area([...upper, ...lower.reverse()], {fill: paint(curve.look.colour), opacity: 0.16});
}

function drawCurve(pen, curve, description, at) {
  const stroke = paint(curve.look.colour);
  const places = measuredPoints(curve, description, at).map(([n, {value}]) => [at.x(n), at.y(value)]);
  if (places.length > 1) pen.line(places, {stroke, width: 2.25, dash: curve.look.dash});
  if (curve.bare) return;
  for (const [x, y] of places) drawDot(pen, curve, x, y);
}

function drawDot(pen, {look, hollow, dotSize = 6}, x, y) {
  const stroke = paint(look.colour);
  pen.dot(x, y, dotSize / 2, {fill: hollow ? paint("card") : stroke, stroke, width: 1.5});
}

function drawPictureMark(pen, {at: n, name}, description, box, at) {
  const x = at.x(n);
  if (x < box.left || x > box.right) return;
  const quiet = paint("quiet");
  const before = x > (box.left + box.right) / 2;
  pen.line([[x, box.top], [x, box.bottom]], {stroke: quiet, dash: [3, 3]});
  pen.text(x + (before ? -5 : 5), box.top + 10, name, {fill: quiet, anchor: before ? "end" : "start", halo: paint("card")});
}

function drawPictureReference(pen, {name, value, rising}, {sizes}, at) {
  const quiet = paint("quiet");
  pen.line(sizes.map((n) => [at.x(n), at.y(value(n))]), {stroke: quiet, dash: [2, 3]});
  const n = sizes[rising ? Math.floor(0.7 * sizes.length) : 0];
  const place = [at.x(n) + (rising ? -8 : 4), at.y(value(n)) - 10];
  pen.text(...place, name, {fill: quiet, anchor: rising ? "end" : "start", halo: paint("card")});
}

function drawNames(pen, description, box, at) {
  const {sizes} = description;
  const ends = namedAtEnd(description)
    .map((curve) => ({curve, value: curve.points.get(sizes.at(-1))?.value}))
    .filter(({value}) => at.has(value))
    .map(({curve, value}) => ({curve, y: at.y(value)}))
    .sort((a, b) => b.y - a.y);
  const heights = apart(ends.map(({y}) => y), 15, box.top - 7.5, box.bottom - 7.5);
  for (const [i, {curve}] of ends.entries()) {
    pen.text(box.right + 8, heights[i], cut(shown(curve.name)), {fill: paint(curve.look.colour)});
  }
}
