// Values as colours, for maps of many cells.

// Cividis (Nuñez, Anderton and Renslow 2018), which reads the same to colour-blind eyes; evenly spaced stops.
const kRamp = [
  [0, 34, 78],
  [18, 53, 112],
  [59, 73, 108],
  [87, 93, 109],
  [112, 113, 115],
  [138, 134, 120],
  [165, 156, 116],
  [195, 179, 105],
  [225, 204, 85],
  [254, 232, 56],
];

// share: from 0, dark, to 1, bright.
function ramp(share) {
  const place = Math.min(1, Math.max(0, share)) * (kRamp.length - 1);
  const low = Math.min(kRamp.length - 2, Math.floor(place));
  const mix = kRamp[low].map((from, i) => Math.round(from + (kRamp[low + 1][i] - from) * (place - low)));
  return `rgb(${mix.join(" ")})`;
}

function rampLegend(low, high) {
  const canvas = node("canvas", {width: 200, height: 1, "aria-hidden": "true"});
  const pen = canvas.getContext("2d");
  for (let x = 0; x < 200; ++x) {
    pen.fillStyle = ramp(x / 199);
    pen.fillRect(x, 0, 1, 1);
  }
  return node("div", {class: "scale"}, low, canvas, high);
}

// Differences, from -1 to 1: blue below, orange above, which colour-blind eyes tell apart; the background for none.
function diverging(share) {
  const strength = Math.sqrt(Math.min(1, Math.abs(share)));
  const [none, full] = [paint("tint"), paint(share < 0 ? "below" : "above")].map(channels);
  return `rgb(${none.map((from, i) => Math.round(from + strength * (full[i] - from))).join(" ")})`;
}

function channels(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

function divergingLegend(low, high) {
  const canvas = node("canvas", {width: 201, height: 1, "aria-hidden": "true"});
  const pen = canvas.getContext("2d");
  for (let x = 0; x < 201; ++x) {
    pen.fillStyle = diverging((x - 100) / 100);
    pen.fillRect(x, 0, 1, 1);
  }
  return node("div", {class: "scale"}, low, canvas, `${high}, by the square root`);
}
