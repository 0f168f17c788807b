// Which colour and stroke a normalizer has: the same in every chart. The hues are Okabe and Ito's, which colour-blind
// readers can tell apart; page.css darkens or lightens them for the background.

const kColours = ["vermillion", "green", "purple", "sky", "amber", "blue", "brown", "grey"];
const kDashes = [[], [9, 4], [4, 3], [12, 3, 2, 3]];
const kOwnColour = new Map([
  ["softmax", "vermillion"],
  ["entropy_target", "green"],
  ["adaptive", "purple"],
  ["peak_target", "sky"],
  ["softpick", "amber"],
  ["hard", "grey"],
]);

function looksOf(normalizers) {
  const looks = new Map();
  const taken = new Set();
  const take = (normalizer, colour, dash) => {
    const key = colour + dash;
    if (looks.has(normalizer) || taken.has(key)) return;
    taken.add(key);
    looks.set(normalizer, {colour, dash});
  };
  for (const normalizer of normalizers) {
    const own = kOwnColour.get(family(normalizer));
    if (own) take(normalizer, own, kDashes[0]);
  }
  for (const normalizer of normalizers) {
    for (const dash of kDashes) for (const colour of kColours) take(normalizer, colour, dash);
    if (!looks.has(normalizer)) looks.set(normalizer, {colour: "grey", dash: kDashes[3]});
  }
  return looks;
}

let sheet = null; // what is drawn is drawn for: paper, or the page where there is none

function paint(name) {
  return getComputedStyle(sheet ?? document.documentElement)
    .getPropertyValue("--" + name)
    .trim();
}

// Draws in the colours of paper, whatever the page looks like.
function onPaper(draw) {
  sheet = node("div", {class: "on-paper", hidden: ""});
  document.body.append(sheet);
  try {
    draw();
  } finally {
    sheet.remove();
    sheet = null;
  }
}

function withAlpha(hex, alpha) {
  return (
    hex +
    Math.round(255 * alpha)
      .toString(16)
      .padStart(2, "0")
  );
}

// A short piece of the line, for legends.
function lineSample({colour, dash}) {
  const canvas = node("canvas", {width: 52, height: 20, "aria-hidden": "true"});
  redrawWhenColoursChange(canvas, () => {
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, 52, 20);
    pen.strokeStyle = paint(colour);
    pen.lineWidth = 5;
    pen.setLineDash(dash.map((length) => 1.6 * length));
    pen.beginPath();
    pen.moveTo(1, 10);
    pen.lineTo(51, 10);
    pen.stroke();
  });
  return canvas;
}

// Canvases keep the colours they were drawn with: draw again when the page turns dark, light or to paper.
function redrawWhenColoursChange(owner, draw) {
  draw();
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", draw, {signal: view.ended.signal});
}
