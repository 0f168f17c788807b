// Two pens for one picture: SVG as text, and a canvas. Both know
//   line(points, {stroke, width, dash}), area(points, {fill, opacity}), box(x, y, width, height, {fill}),
//   dot(x, y, radius, {fill, stroke, width}), text(x, y, words, {fill, size, bold, anchor, turned, halo})
// with points as [x, y], anchor "start", "middle" or "end", and y of the middle of a line of text.

const kPictureFont = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

// A stand-alone SVG. Everything in it that comes from results goes through svgEscaped.
function svgOf({width, height, draw}) {
  const pen = svgPen();
  onPaper(() => draw(pen));
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"` +
    ` font-family="${kPictureFont}">\n<rect width="100%" height="100%" fill="#ffffff"/>\n${pen.lines.join("\n")}\n</svg>\n`
  );
}

function paintedOn({width, height, draw}) {
  const canvas = node("canvas", {width: Math.ceil(width * kPixelRatio), height: Math.ceil(height * kPixelRatio)});
  const pen = canvas.getContext("2d");
  pen.scale(kPixelRatio, kPixelRatio);
  pen.fillStyle = "#ffffff";
  pen.fillRect(0, 0, width, height);
  onPaper(() => draw(canvasPen(pen)));
  return canvas;
}

// XML allows no control characters at all, not even escaped; shown() has made words of most of them.
function svgEscaped(text) {
  const escapes = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"};
  return shown(text)
    .toWellFormed()
    .replace(/[\u0000-\u001f\ufffe\uffff]/g, " ")
    .replace(/[&<>"']/g, (c) => escapes[c]);
}

function svgPen() {
  const lines = [];
  const near = (value) => String(Math.round(100 * value) / 100);
  const path = (points) => "M" + points.map(([x, y]) => `${near(x)} ${near(y)}`).join("L");
  const add = (tag, attributes, inside) => {
    const written = Object.entries(attributes).filter(([, value]) => value !== undefined && value !== "");
    const text = written.map(([name, value]) => ` ${name}="${typeof value === "number" ? near(value) : svgEscaped(value)}"`);
    lines.push(inside === undefined ? `<${tag}${text.join("")}/>` : `<${tag}${text.join("")}>${svgEscaped(inside)}</${tag}>`);
  };
  return {
    lines,
    line: (points, {stroke, width = 1, dash = []}) =>
      add("path", {d: path(points), fill: "none", stroke, "stroke-width": width, "stroke-linejoin": "round", "stroke-dasharray": dash.join(" ")}),
    area: (points, {fill, opacity = 1}) => add("path", {d: path(points) + "Z", fill, "fill-opacity": opacity}),
    box: (x, y, width, height, {fill}) => add("rect", {x, y, width, height, fill}),
    dot: (x, y, r, {fill, stroke, width = 1}) => add("circle", {cx: x, cy: y, r, fill, stroke, "stroke-width": width}),
    text: (x, y, words, {fill, size = 12, bold = false, anchor = "start", turned = false, halo}) =>
      add(
        "text",
        {
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
        },
        words,
      ),
  };
}

function canvasPen(pen) {
  const trace = (points) => {
    pen.beginPath();
    for (const [x, y] of points) pen.lineTo(x, y);
  };
  const kept = (draw) => {
    pen.save();
    draw();
    pen.restore();
  };
  return {
    line: (points, {stroke, width = 1, dash = []}) =>
      kept(() => {
        Object.assign(pen, {strokeStyle: stroke, lineWidth: width, lineJoin: "round"});
        pen.setLineDash(dash);
        trace(points);
        pen.stroke();
      }),
    area: (points, {fill, opacity = 1}) =>
      kept(() => {
        Object.assign(pen, {fillStyle: fill, globalAlpha: opacity});
        trace(points);
        pen.fill();
      }),
    box: (x, y, width, height, {fill}) =>
      kept(() => {
        pen.fillStyle = fill;
        pen.fillRect(x, y, width, height);
      }),
    dot: (x, y, radius, {fill, stroke, width = 1}) =>
      kept(() => {
        Object.assign(pen, {fillStyle: fill, strokeStyle: stroke ?? fill, lineWidth: width});
        pen.beginPath();
        pen.arc(x, y, radius, 0, 2 * Math.PI);
        pen.fill();
        pen.stroke();
      }),
    text: (x, y, words, {fill, size = 12, bold = false, anchor = "start", turned = false, halo}) =>
      kept(() => {
        const textAlign = {start: "left", middle: "center", end: "right"}[anchor];
        Object.assign(pen, {fillStyle: fill, font: pictureFont(size, bold), textAlign, textBaseline: "middle", lineJoin: "round"});
        pen.translate(x, y);
        if (turned) pen.rotate(-Math.PI / 2);
        if (halo) {
          Object.assign(pen, {strokeStyle: halo, lineWidth: 4});
          pen.strokeText(shown(words), 0, 0);
        }
        pen.fillText(shown(words), 0, 0);
      }),
  };
}

function pictureFont(size, bold) {
  return `${bold ? "600 " : ""}${size}px ${kPictureFont}`;
}

function textWidth(words, size = 12, bold = false) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = pictureFont(size, bold);
  return pen.measureText(shown(words)).width;
}
