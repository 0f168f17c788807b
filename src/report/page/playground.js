// One row of scores to play with. A row is {name, n, quantiles}: n scores, whose quantiles from the least to the largest
// are told evenly, all of them or some.

// A row of the results that is shown may be played with.
function offerRow(row) {
  if (isRow(row)) view.rows.push(row);
}

// The row that the playground shows now.
function useRow(wanted) {
  if (!isRow(wanted)) return;
  const row = rowAmong(wanted);
  view.rows.current = row;
  view.rows.used?.(row);
}

// That row as it is offered; offered only while this view lasts if it was not.
function rowAmong(wanted) {
  const known = view.rows.find((row) => row.name === wanted.name);
  if (known) return known;
  const row = {...wanted, passing: true};
  view.rows.push(row);
  return row;
}

function isRow(row) {
  const {n, quantiles} = row ?? {};
  return n >= 1 && quantiles?.length >= 1 && quantiles.every((score) => typeof score === "number" && Number.isFinite(score));
}

// The module is unpacked when the reader comes near.
const kNear = "600px";

// data-state of the playground: what a program that reads the page may wait for.
const kAsleep = "asleep"; // the module is not unpacked
const kWorking = "working"; // something of what was asked for is not drawn yet
const kReady = "ready";

function showPlayground() {
  const part = section(
    "playground",
    "Playground",
    "One row of scores, of any length: see how its weights change with the number of keys, the temperature and the normalizer. ",
    "They are computed in this page, by the same code as everywhere in sharpmax.",
  );
  const body = node("div", {class: "playground asleep", "data-state": kAsleep}, node("p", {class: "note"}, "Starting…"));
  part.append(body);
  let woken = null;
  const wake = () => (woken ??= wakePlayground(body));
  const near = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && wake(), {rootMargin: kNear});
  near.observe(part);
  view.ended.signal.addEventListener("abort", () => near.disconnect());
  if (!hasPlaygroundCode()) wake();
  findPlaces((place) => {
    if (place !== "playground" && !place.startsWith("playground?")) return false;
    part.scrollIntoView();
    wake().then((playground) => {
      playground?.goTo(place);
      part.scrollIntoView(); // it has grown meanwhile
    });
    return true;
  });
}

// The playground, or nothing where a note stands in its place.
async function wakePlayground(body) {
  const {signal} = view.ended;
  body.dataset.state = kWorking;
  try {
    const module = await playgroundModule();
    if (signal.aborted) return null;
    body.replaceChildren();
    return startPlayground(body, module);
  } catch (problem) {
    body.replaceChildren(node("p", {class: "note"}, problem.message));
    body.dataset.state = kReady;
    return null;
  } finally {
    body.classList.remove("asleep");
  }
}
