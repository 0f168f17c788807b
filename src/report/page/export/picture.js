// A drawing of the page (drawing/svg.js) as a file: SVG as text, and painted for a PNG. Both are in light colours on white, whatever
// the page looks like.

import {node} from "../frame/dom.js";
import {kFontFamily} from "../frame/svg.js";

const kPixelRatio = 2.5; // of PNGs

// The drawing with the colours of paper in the place of the variables that name them.
function onPaper(svg) {
  const copy = svg.cloneNode(true);
  const sheet = node("div", {class: "on-paper", hidden: ""});
  document.body.append(sheet);
  const paper = getComputedStyle(sheet);
  for (const part of copy.querySelectorAll("[fill], [stroke]"))
    for (const name of ["fill", "stroke"]) {
      const variable = /^var\((--\w+)\)$/.exec(part.getAttribute(name));
      if (variable) part.setAttribute(name, paper.getPropertyValue(variable[1]).trim());
    }
  sheet.remove();
  copy.querySelector(".pointed")?.remove();
  return copy;
}

export function svgText(svg) {
  const copy = onPaper(svg);
  copy.removeAttribute("aria-hidden");
  copy.setAttribute("font-family", kFontFamily);
  const back = copy.ownerDocument.createElementNS(copy.namespaceURI, "rect");
  for (const [name, value] of [["width", "100%"], ["height", "100%"], ["fill", "#ffffff"]]) back.setAttribute(name, value);
  copy.prepend(back);
  return new XMLSerializer().serializeToString(copy) + "\n";
}

// Painted element by element: the page's policy allows no image, not even its own.
export function paintedOn(svg) {
  const copy = onPaper(svg);
  const [, , width, height] = copy.getAttribute("viewBox").split(" ").map(Number);
  const canvas = node("canvas", {width: Math.ceil(width * kPixelRatio), height: Math.ceil(height * kPixelRatio)});
  const pen = canvas.getContext("2d");
  pen.scale(kPixelRatio, kPixelRatio);
  pen.fillStyle = "#ffffff";
  pen.fillRect(0, 0, width, height);
  for (const part of copy.children) paintPart(pen, part);
  return canvas;
}

function paintPart(pen, part) {
  const get = (name, otherwise) => part.getAttribute(name) ?? otherwise;
  const [fill, stroke] = [get("fill", "#000000"), get("stroke", "none")];
  pen.save();
  Object.assign(pen, {fillStyle: fill, strokeStyle: stroke, lineWidth: Number(get("stroke-width", 1)), lineJoin: "round"});
  pen.setLineDash(get("stroke-dasharray", "").split(" ").filter(Boolean).map(Number));
  if (part.tagName === "text") {
    paintText(pen, part, stroke !== "none");
  } else {
    const shape = outlineOf(part, get);
    pen.globalAlpha = Number(get("fill-opacity", 1));
    if (fill !== "none") pen.fill(shape);
    pen.globalAlpha = 1;
    if (stroke !== "none") pen.stroke(shape);
  }
  pen.restore();
}

function outlineOf({tagName}, get) {
  const number = (name) => Number(get(name, 0));
  const shape = new Path2D(tagName === "path" ? get("d") : undefined);
  if (tagName === "rect") shape.rect(number("x"), number("y"), number("width"), number("height"));
  if (tagName === "circle") shape.arc(number("cx"), number("cy"), number("r"), 0, 2 * Math.PI);
  return shape;
}

function paintText(pen, text, outlined) {
  const get = (name, otherwise) => text.getAttribute(name) ?? otherwise;
  const turned = /^rotate\((\S+) (\S+) (\S+)\)$/.exec(get("transform", ""))?.slice(1).map(Number);
  if (turned) {
    pen.translate(turned[1], turned[2]);
    pen.rotate((turned[0] * Math.PI) / 180);
    pen.translate(-turned[1], -turned[2]);
  }
  pen.font = `${get("font-weight", "400")} ${get("font-size", 12)}px ${kFontFamily}`;
  pen.textAlign = {middle: "center", end: "right"}[get("text-anchor")] ?? "left";
  const place = [text.textContent, Number(get("x")), Number(get("y"))];
  if (outlined) pen.strokeText(...place);
  pen.fillText(...place);
}
