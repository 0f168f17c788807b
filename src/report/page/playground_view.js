// The playground at work. A change of its state is drawn once a frame; what takes longer waits until the reader pauses.

const kSlice = 10; // milliseconds of work between which the page gets its turn
const kPause = 200; // milliseconds

function startPlayground(body, module) {
  const state = firstState();
  const {signal} = view.ended;
  let rows = weighedRows(module, state);
  let statistic = kPlaygroundStatistics[0];
  let frame = null;
  let pause = null;

  const set = (changes, {touched = true} = {}) => {
    Object.assign(state, changes);
    frame ??= requestAnimationFrame(() => {
      frame = null;
      render(touched);
    });
  };
  const controls = playgroundControls(module, state, set);
  const summary = node("p", {class: "summary", role: "status"});
  const numbers = node("div", {});
  const weights = node("div", {class: "figure"}, node("h3", {}, "Weights, heaviest first"));
  const lengths = node("div", {class: "figure"}, node("h3", {}, "The same row at other lengths"));
  lengths.append(
    choice("Shown", kPlaygroundStatistics.map(({label}) => label), statistic.label, (label) => {
      statistic = kPlaygroundStatistics.find((one) => one.label === label);
      drawLengths();
    }),
  );
  body.append(controls.element, summary, scrolling("Numbers of the row", numbers), node("div", {class: "two"}, weights, lengths));
  const curves = lengthCurves(module, signal);
  const drawWeights = liveChart(weights, () => weightsChart(rows));
  const drawLengths = liveChart(lengths, () => lengthsChart(rows, curves.known, statistic, state.n));

  const later = (touched) => {
    if (signal.aborted) return;
    summary.textContent = shown(playgroundSummary(rows, state));
    if (touched) rememberPlace(placeOf(state));
    curves.compute(state, drawLengths);
  };
  const render = (touched) => {
    controls.follow();
    try {
      rows = weighedRows(module, state);
    } catch (problem) {
      controls.say(problem.message);
      return;
    }
    numbers.replaceChildren(numbersTable(rows));
    body.dataset.frames = Number(body.dataset.frames ?? 0) + 1;
    curves.forget(state);
    drawWeights();
    drawLengths();
    clearTimeout(pause);
    pause = setTimeout(() => later(touched), kPause);
  };
  render(false);
  view.rows.used = (row) => set({source: "result", row, n: clamped(row.n, [kLeastRow, kLongest])}, {touched: false});
  return {
    goTo: (place) => {
      const {problem, ...changes} = stateOfPlace(place, module);
      set(changes, {touched: false});
      if (problem) controls.say(problem);
    },
  };
}

// Statistics of the row at kCurveSizes, worked out in slices; known: rule to size to statistics.
function lengthCurves(module, signal) {
  const known = new Map();
  let of = "";
  let turn = 0;
  const rowText = (state) => JSON.stringify([state.source, state.source === "needle" ? state.gap : state.row, state.alone, state.temperature]);
  const forget = (state) => {
    ++turn;
    const now = rowText(state);
    if (now !== of) known.clear();
    of = now;
  };
  const compute = (state, done) => {
    const own = ++turn;
    const jobs = rulesShown(state).flatMap((rule) => kCurveSizes.map((size) => ({rule, size}))).filter(({rule, size}) => !known.get(rule)?.has(size));
    const {temperature} = state;
    const work = () => {
      if (own !== turn || signal.aborted) return;
      const end = performance.now() + kSlice;
      while (jobs.length && performance.now() < end) {
        const {rule, size} = jobs.shift();
        const {weights, ...statistics} = weighedRow(module, rule, scoresOf(state, size), temperature);
        if (!known.has(rule)) known.set(rule, new Map());
        known.get(rule).set(size, statistics);
      }
      if (jobs.length) setTimeout(work);
      else done();
    };
    work();
  };
  return {known, forget, compute};
}
