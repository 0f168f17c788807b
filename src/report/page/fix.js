// The page of `sharpmax fix`: what to use, or to leave the model as it is; and what every rule did.

function fixLabel({settings, answer}) {
  return `fix of ${fileName(settings.model.file)}` + (answer ? (answer.leave_it ? ": leave it" : `: ${answer.use}`) : "");
}

function showFix(data) {
  const {answer, settings, trials} = data;
  showTitle("fix", `${fileName(settings.model.file)}: ${fixTitle(answer)}`);
  if (!answer) {
    showVerdict(`This run was not finished: ${plural(trials.length, "trial")} so far, and nothing is judged before the end.`);
    showUnjudged(trials);
    return;
  }
  const chosen = trials.find(({rule: name}) => name === answer.chosen) ?? null;
  showVerdict(answer.verdict, node("p", {class: "note"}, judgedSentence(data)));
  showTiles(...fixTiles(data, chosen));
  showTrials(data);
  showFixByPosition(data, chosen);
  showFixByLength(data, chosen);
  showChangedHeads(data, chosen);
  showHowToUse(data);
}

function fixTitle(answer) {
  if (!answer) return "an unfinished trial of rules";
  return answer.leave_it ? "leave it as it is" : `use ${answer.use}`;
}

// What the answer rests on.
function judgedSentence({trials, settings}) {
  const judged = trials.find(({held_out: held}) => held)?.held_out;
  const by = {text: "the least loss", task: "the most right answers", both: "right answers gained less loss added"};
  const material = judged ? ` Held out: ${plural(judged.text.tokens, "token")} of text and ${plural(judged.task.questions, "question")}.` : "";
  return `${plural(trials.length - 1, "rule")} tried on one part, chosen by ${by[settings.for] ?? settings.for}, judged on another.${material}`;
}

function natsChange(value, digits = 3) {
  if (value === null || value === undefined) return kNone;
  return (value > 0 ? "+" : value < 0 ? "−" : "±") + Math.abs(value).toFixed(digits);
}

function withEnds({change, low, high}) {
  return low === null ? natsChange(change) : `${natsChange(change)} (${natsChange(low)} to ${natsChange(high)})`;
}

function flipsText({up, down}) {
  return `(+${count(up)} −${count(down)})`;
}

function shareOf(right, questions) {
  return questions ? right / questions : null;
}

function fixTiles({trials, answer}, chosen) {
  const plain = trials.find(({held_out: held}) => held)?.held_out;
  const found = chosen?.held_out;
  if (!plain) return [];
  const right = (number, task, where, colour) => tile(percent(shareOf(number, task.questions)), "of questions right", where, colour);
  return [
    answer.leave_it ? tile(count(trials.length - 1), "rules tried", "none shown to be better", "green") : null,
    tile(decimal(plain.text.plain, 3), "nats a token", "held out, as it is", "grey"),
    found ? tile(natsChange(found.text.change), "nats a token", `held out, ${chosen.rule}`, "vermillion") : null,
    right(plain.task.plain, plain.task, "held out, as it is", "grey"),
    found ? right(found.task.rule, found.task, `held out, ${chosen.rule}`, "vermillion") : null,
    found ? tile(pValue(found.task.p), "p", `${count(found.task.up)} answers up, ${count(found.task.down)} down`, "blue") : null,
  ];
}

const kFixColumns = (data) => {
  const mark = ({rule: name, searched}) => {
    if (name === data.answer.chosen) return data.answer.leave_it ? "best to choose by" : "use";
    return searched ? "by search" : "";
  };
  const loss = (title, part) => {
    const of = (name) => (t) => t[part]?.text[name] ?? null;
    const csv = {csv: [[title, of("change")], [`${title}, low`, of("low")], [`${title}, high`, of("high")]]};
    return [title, of("change"), (_, t) => (t[part] ? withEnds(t[part].text) : kNone), csv];
  };
  const right = (title, part) => {
    const share = (t) => (t[part] ? shareOf(t[part].task.rule, t[part].task.questions) : null);
    const of = (name) => (t) => t[part]?.task[name] ?? null;
    const csv = {csv: [[title, share], [`${title}, up`, of("up")], [`${title}, down`, of("down")]]};
    return [title, share, (value, t) => (t[part] ? `${percent(value)} ${flipsText(t[part].task)}` : kNone), csv];
  };
  const p = (part) => [(t) => t[part]?.task.p ?? null, pValue];
  return [
    ["rule", (t) => t.rule, "words"],
    ["heads", (t) => t.heads, count],
    ["score", (t) => t.score ?? null, (v) => natsChange(v, 4)],
    loss("loss, to choose by", "tuning"),
    right("right", "tuning"),
    ["p", ...p("tuning")],
    loss("loss, held out", "held_out"),
    right("right, held out", "held_out"),
    ["p, held out", ...p("held_out")],
    ["which", (t) => mark(t), (v) => v],
  ];
};

function showTrials(data) {
  const rules = data.trials.filter(({tuning}) => tuning);
  const place = section(
    "numbers",
    "Every rule that was tried",
    "Loss as a change from doing nothing, in nats a token, with 95\u00a0% intervals; right: share of questions, and in brackets answers that became right and wrong; p: exact sign test. " +
      "The score, of the part to choose by, decides which rule is judged" +
      (data.settings.for === "both" ? `; a rule that adds more than ${setting(data.settings.allow)} nats has none.` : "."),
  );
  place.append(scrolling("Every rule that was tried", sortable("all-rows", kFixColumns(data), rules), "tall"));
  leftOutNote(place, data);
}

function showUnjudged(trials) {
  const table = plainTable([["rule", (t) => t.rule, "words"], ["heads", (t) => t.heads, count]], trials);
  table.id = "all-rows";
  section("numbers", "Tried so far").append(scrolling("Tried so far", table));
}

// Rules with numbers of the part that no choice was made by; the chosen one first.
function judgedRules({trials}, chosen, list) {
  const there = trials.filter(({held_out: held}) => held?.[list]?.length);
  return [...there.filter((t) => t === chosen), ...there.filter((t) => t !== chosen)];
}

function showFixByPosition(data, chosen) {
  const rules = judgedRules(data, chosen, "by_position");
  if (!rules.length) return;
  const state = {rule: rules[0]};
  const place = section(
    "by-position",
    "Loss by position, before and after",
    "On the held-out text: as it is and under the rule, and below the change with its 95\u00a0% interval. Where the band holds 0, no change is proved.",
  );
  const table = node("div");
  const redraws = [];
  const names = rules.map(({rule: name}) => shown(name));
  const changed = (name) => {
    state.rule = rules[names.indexOf(name)];
    redraws.forEach((redraw) => redraw());
    table.replaceChildren(scrolling("Loss by position", positionTable(state.rule)));
  };
  if (!chosen) place.append(node("p", {class: "note"}, "No rule was chosen; these are the ones that were tried on the held-out part too."));
  if (rules.length > 1) place.append(node("div", {class: "controls"}, choice("Rule", names, names[0], changed)));
  redraws.push(liveChart(place, () => beforeAfterChart(state.rule)), liveChart(place, () => changeChart(state.rule)));
  place.append(table);
  changed(names[0]);
}

function positionCurve(buckets, name, colour, point, more = {}) {
  const points = new Map(buckets.map((bucket) => [bucketMiddle(bucket), point(bucket)]));
  return {name, look: {colour, dash: []}, format: nats, points, ...more};
}

function beforeAfterChart({rule: name, held_out: held}) {
  const buckets = byPosition(held.by_position);
  const after = ({plain, change}) => (plain === null || change === null ? null : plain + change);
  return {
    label: "nats a token",
    about: name,
    legend: true,
    ...endsAround(buckets.flatMap((bucket) => [bucket.plain, after(bucket)]), 0.02),
    sizes: buckets.map(bucketMiddle),
    across: bucketAxis(buckets),
    curves: [
      positionCurve(buckets, "as it is", "grey", ({plain}) => ({value: plain}), {look: {colour: "grey", dash: [7, 5]}}),
      positionCurve(buckets, name, "vermillion", (bucket) => ({value: after(bucket)})),
    ],
  };
}

function changeChart({rule: name, held_out: held}) {
  const buckets = byPosition(held.by_position);
  return {
    label: "change, nats a token",
    about: `change under ${name}`,
    legend: true,
    ...endsAround([0, ...buckets.flatMap(({change, low, high}) => [change, low, high])], 0.005),
    sizes: buckets.map(bucketMiddle),
    across: bucketAxis(buckets),
    reference: {name: "no change", value: () => 0},
    curves: [
      positionCurve(buckets, name, "vermillion", ({change, low, high}) => ({value: change, low, high}), {format: (v) => natsChange(v)}),
    ],
  };
}

function positionTable({held_out: {by_position: buckets}}) {
  const table = plainTable(
    [
      ["tokens before", (b) => b.from, (_, b) => rangeText(b), kRangeAsCsv],
      ["tokens", (b) => b.tokens, count],
      ["as it is", (b) => b.plain, (v) => decimal(v, 4)],
      ["change", (b) => b.change, (v) => natsChange(v, 4)],
      ["95 % from", (b) => b.low, (v) => natsChange(v, 4)],
      ["to", (b) => b.high, (v) => natsChange(v, 4)],
    ],
    buckets,
  );
  table.id = "all-positions";
  return table;
}

function showFixByLength(data, chosen) {
  const rules = judgedRules(data, chosen, "by_length");
  if (!rules.length) return;
  const lengths = rules[0].held_out.by_length;
  const place = section(
    "by-length",
    "Right answers, before and after",
    "On the held-out questions, by their length. Flips: wrong to right and right to wrong.",
  );
  const cells = (t, i) => t.held_out.by_length[i];
  const heading = ({length}) => (length === null ? "the file’s" : `${count(length)} tokens`);
  const body = [{rule: "as it is", plain: true}, ...rules];
  const column = (at, i) => [
    heading(at),
    (t) => (t.plain ? shareOf(at.plain, at.questions) : cells(t, i) ? shareOf(cells(t, i).rule, cells(t, i).questions) : null),
    (share, t) => percent(share) + (t.plain || !cells(t, i) ? "" : " " + flipsText(cells(t, i))),
  ];
  const table = plainTable([["rule", (t) => t.rule, "words"], ...lengths.map(column)], body);
  table.id = "all-lengths";
  if (lengths.length > 1 && lengths.every(({length}) => length !== null)) lengthChart(place, rules[0], lengths);
  place.append(scrolling("Right answers by length", table));
  place.append(node("p", {class: "note"}, `${plural(lengths[0].questions, "question")} of each length.`));
}

function lengthChart(place, trial, lengths) {
  const curve = (name, look, right) => ({
    name,
    look,
    format: percent,
    points: new Map(trial.held_out.by_length.map((at) => [at.length, {value: shareOf(right(at), at.questions)}])),
  });
  liveChart(place, () => ({
    label: "right answers",
    legend: true,
    percent: true,
    top: 1.02,
    sizes: distinct(lengths.map(({length}) => length)).sort((a, b) => a - b),
    across: kTokens,
    curves: [
      curve("as it is", {colour: "grey", dash: [7, 5]}, (at) => at.plain),
      curve(trial.rule, {colour: "vermillion", dash: []}, (at) => at.rule),
    ],
  }));
}
