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
