// A drawing as wide as its place, drawn again when that changes.

const kBeforeLayout = 860; // the width of a place that the browser has not laid out

// Returns what draws it again.
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
