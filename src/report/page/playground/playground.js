// One row of scores to play with. A row is {name, n, quantiles}: n scores, whose quantiles from the least to the largest
// are told evenly, all of them or some.

import {node, section} from "../frame/dom.js";
import {findPlaces, view} from "../frame/view.js";
import {hasPlaygroundCode, playgroundModule} from "./module.js";
import {startPlayground} from "./view.js";

// The module is unpacked when the reader comes near.
const kNear = "600px";

// data-state of the playground: what a program that reads the page may wait for.
const kAsleep = "asleep"; // the module is not unpacked
export const kWorking = "working"; // something of what was asked for is not drawn yet
export const kReady = "ready";

export function showPlayground() {
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
