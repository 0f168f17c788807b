// A layer × head grid as a picture to take away. heads are {layer, head}; colour(head) is null where nothing is known;
// scale is {low, high, colour(share)}: what the colours mean, from one end to the other.

function gridPicture(heads, {title, about, colour, scale}) {
  const layers = distinct(heads.map(({layer}) => layer)).sort((a, b) => a - b);
  const columns = distinct(heads.map(({head}) => head)).sort((a, b) => a - b);
  const [wide, high] = [Math.min(64, Math.max(18, 420 / columns.length)), 18];
  const [left, top] = [52, 96];
  const bottom = top + layers.length * high;
  const width = Math.max(560, left + columns.length * wide + 24);
  return {
    width,
    height: bottom + 56,
    draw: (pen) => {
      pen.text(16, 22, cutTo(title, width - 32, 17, true), {fill: paint("ink"), size: 17, bold: true});
      pen.text(16, 46, about, {fill: paint("quiet"), size: 13});
      const faint = {fill: paint("quiet"), size: 11};
      pen.text(left - 8, top - 12, "layer", {...faint, anchor: "end"});
      const every = Math.ceil(24 / wide);
      for (const [i, head] of columns.entries())
        if (i % every === 0) pen.text(left + (i + 0.5) * wide, top - 12, String(head), {...faint, anchor: "middle"});
      for (const [i, layer] of layers.entries()) pen.text(left - 8, top + (i + 0.5) * high, String(layer), {...faint, anchor: "end"});
      for (const one of heads) {
        const [x, y] = [left + columns.indexOf(one.head) * wide, top + layers.indexOf(one.layer) * high];
        pen.box(x + 1, y + 1, wide - 2, high - 2, {fill: colour(one) ?? paint("tint")});
      }
      drawPictureScale(pen, scale, bottom + 30);
    },
  };
}

function drawPictureScale(pen, {low, high, colour}, y) {
  const [left, long, steps] = [16 + textWidth(low) + 8, 160, 80];
  pen.text(16, y, low, {fill: paint("quiet")});
  for (let i = 0; i < steps; ++i) pen.box(left + (i * long) / steps, y - 6, long / steps + 0.3, 12, {fill: colour(i / (steps - 1))});
  pen.text(left + long + 8, y, high, {fill: paint("quiet")});
}
