// Drawings are SVG elements, made here and nowhere else. Colours are names of the style's variables, so that a drawing
// follows the page when it turns dark or to paper; export/picture.js puts those of paper in their place.

import {shown} from "./dom.js";

const kNamespace = "http://www.w3.org/2000/svg";
export const kFontFamily = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

export function hue(name) {
  return `var(--${name})`;
}

export function svgNode(tag, attributes, words) {
  const made = document.createElementNS(kNamespace, tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== "") made.setAttribute(name, typeof value === "number" ? near(value) : value);
  if (words !== undefined) made.textContent = xmlText(words);
  return made;
}

// XML allows no control characters at all, not even escaped; shown() has made words of most of them.
function xmlText(words) {
  return shown(words).toWellFormed().replace(/[\u0000-\u001f\ufffe\uffff]/g, " ");
}

function near(value) {
  return String(Math.round(100 * value) / 100);
}

function pathOf(points) {
  return "M" + points.map(([x, y]) => `${near(x)} ${near(y)}`).join("L");
}

// An empty drawing with its pen:
//   line(points, {stroke, width, dash}), area(points, {fill, opacity}), box(x, y, width, height, {fill}),
//   dot(x, y, radius, {fill, stroke, width}), text(x, y, words, {fill, size, bold, anchor, turned, halo}),
//   cells([[x, y, colour], ...], width, height)
// with points as [x, y], anchor "start", "middle" or "end", and y of the middle of a line of text.
export function drawing(width, height) {
  const svg = svgNode("svg", {viewBox: `0 0 ${near(width)} ${near(height)}`, width, height, "aria-hidden": "true"});
  const add = (tag, attributes, words) => {
    const made = svgNode(tag, attributes, words);
    svg.append(made);
    return made;
  };
  const pen = {
    line: (points, {stroke, width = 1, dash = []}) =>
      add("path", {d: pathOf(points), fill: "none", stroke, "stroke-width": width, "stroke-linejoin": "round", "stroke-dasharray": dash.join(" ")}),
    area: (points, {fill, opacity}) => add("path", {d: pathOf(points) + "Z", fill, "fill-opacity": opacity}),
    box: (x, y, wide, high, {fill}) => add("rect", {x, y, width: wide, height: high, fill}),
    dot: (x, y, r, {fill, stroke, width = 1}) => add("circle", {cx: x, cy: y, r, fill, stroke, "stroke-width": width}),
    text: (x, y, words, {fill, size = 12, bold = false, anchor = "start", turned = false, halo}) =>
      add("text", {
        x,
        y: y + 0.35 * size,
        fill,
        "font-size": size,
        "font-weight": bold ? 600 : undefined,
        "text-anchor": anchor === "start" ? undefined : anchor,
        transform: turned ? `rotate(-90 ${near(x)} ${near(y)})` : undefined,
        stroke: halo,
        "stroke-width": halo ? 4 : undefined,
        "paint-order": halo ? "stroke" : undefined,
        "stroke-linejoin": halo ? "round" : undefined,
      }, words),
    // One path for each colour: a map of a thousand cells is a few dozen elements.
    cells: (places, wide, high) => {
      const paths = new Map();
      for (const [x, y, colour] of places)
        paths.set(colour, (paths.get(colour) ?? "") + `M${near(x)} ${near(y)}h${near(wide)}v${near(high)}h${near(-wide)}Z`);
      for (const [fill, d] of paths) add("path", {d, fill, "shape-rendering": "crispEdges"});
    },
  };
  return {svg, pen};
}

// Title and subtitle of a picture that is taken away: returns how much room they take.
export function drawTitle(pen, width, title, subtitle) {
  if (!title) return 0;
  pen.text(16, 22, cutTo(title, width - 32, 17, true), {fill: hue("ink"), size: 17, bold: true});
  if (subtitle) pen.text(16, 46, cutTo(subtitle, width - 32, 13), {fill: hue("quiet"), size: 13});
  return subtitle ? 66 : 46;
}

const kBeforeLayout = 860; // the width of a place that the browser has not laid out

// A drawing as wide as its place, drawn again when that changes. Returns what draws it again.
export function fitted(place, draw) {
  let width = 0;
  const redraw = () => {
    width = place.clientWidth || kBeforeLayout;
    place.replaceChildren(draw(width));
  };
  new ResizeObserver(() => place.clientWidth && place.clientWidth !== width && redraw()).observe(place);
  redraw();
  return redraw;
}

let measuring = null;

export function textWidth(words, size = 12, bold = false) {
  measuring ??= document.createElement("canvas").getContext("2d");
  measuring.font = `${bold ? "600 " : ""}${size}px ${kFontFamily}`;
  return measuring.measureText(shown(words)).width;
}

export function cutTo(words, room, size = 12, bold = false) {
  let text = shown(words);
  if (textWidth(text, size, bold) <= room) return text;
  while (text.length > 1 && textWidth(text + "…", size, bold) > room) text = text.slice(0, -1);
  return text + "…";
}
