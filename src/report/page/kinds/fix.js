// The page of `sharpmax fix`: what to use, or to leave the model as it is; and what every rule did.

import {leftOutNote} from "../drawing/kind_parts.js";
import {plainTable, sortable} from "../drawing/sortable.js";
import {scrolling} from "../export/download.js";
import {node, section} from "../frame/dom.js";
import {showTiles, showTitle, showVerdict, tile} from "../frame/view.js";
import {count, decimal, fileName, kNone, pValue, percent, plural, setting} from "../frame/words.js";
import {showFixByLength, showFixByPosition} from "./fix_before_after.js";
import {showChangedHeads, showHowToUse} from "./fix_heads.js";

export function fixLabel({settings, answer}) {
  return (
    `fix of ${fileName(settings.model.file)}` + (answer ? (answer.leave_it ? ": leave it" : `: ${answer.use}`) : "")
  );
}

export function showFix(data) {
  const {answer, settings, trials} = data;
  showTitle("fix", `${fileName(settings.model.file)}: ${fixTitle(answer)}`);
  if (!answer) {
    showVerdict(
      `This run was not finished: ${plural(trials.length, "trial")} so far, and nothing is judged before the end.`,
    );
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
  const material = judged
    ? ` Held out: ${plural(judged.text.tokens, "token")} of text and ${plural(judged.task.questions, "question")}.`
    : "";
  return `${plural(trials.length - 1, "rule")} tried on one part, chosen by ${by[settings.for] ?? settings.for}, judged on another.${material}`;
}

export function natsChange(value, digits = 3) {
  if (value === null || value === undefined) return kNone;
  return (value > 0 ? "+" : value < 0 ? "−" : "±") + Math.abs(value).toFixed(digits);
}

function withEnds({change, low, high}) {
  return low === null ? natsChange(change) : `${natsChange(change)} (${natsChange(low)} to ${natsChange(high)})`;
}

export function flipsText({up, down}) {
  return `(+${count(up)} −${count(down)})`;
}

export function shareOf(right, questions) {
  return questions ? right / questions : null;
}

function fixTiles({trials, answer}, chosen) {
  const plain = trials.find(({held_out: held}) => held)?.held_out;
  const found = chosen?.held_out;
  if (!plain) return [];
  const right = (number, task, where, colour) =>
    tile(percent(shareOf(number, task.questions)), "of questions right", where, colour);
  return [
    answer.leave_it ? tile(count(trials.length - 1), "rules tried", "none shown to be better", "green") : null,
    tile(decimal(plain.text.plain, 3), "nats per token", "held out, as it is", "grey"),
    found ? tile(natsChange(found.text.change), "nats per token", `held out, ${chosen.rule}`, "vermillion") : null,
    right(plain.task.plain, plain.task, "held out, as it is", "grey"),
    found ? right(found.task.rule, found.task, `held out, ${chosen.rule}`, "vermillion") : null,
    found
      ? tile(pValue(found.task.p), "p", `${count(found.task.up)} answers up, ${count(found.task.down)} down`, "blue")
      : null,
  ];
}

const kFixColumns = (data) => {
  const mark = ({rule: name, searched}) => {
    if (name === data.answer.chosen) return data.answer.leave_it ? "best to choose by" : "use";
    return searched ? "by search" : "";
  };
  const loss = (title, part) => {
    const of = (name) => (t) => t[part]?.text[name] ?? null;
    const csv = {
      csv: [
        [title, of("change")],
        [`${title}, low`, of("low")],
        [`${title}, high`, of("high")],
      ],
    };
    return [title, of("change"), (_, t) => (t[part] ? withEnds(t[part].text) : kNone), csv];
  };
  const right = (title, part) => {
    const share = (t) => (t[part] ? shareOf(t[part].task.rule, t[part].task.questions) : null);
    const of = (name) => (t) => t[part]?.task[name] ?? null;
    const csv = {
      csv: [
        [title, share],
        [`${title}, up`, of("up")],
        [`${title}, down`, of("down")],
      ],
    };
    return [title, share, (value, t) => (t[part] ? `${percent(value)} ${flipsText(t[part].task)}` : kNone), csv];
  };
  const p = (part) => [(t) => t[part]?.task.p ?? null, pValue];
  return [
    ["rule", (t) => t.rule, "words"],
    ["answer", (t) => mark(t), (v) => v, {words: true}],
    ["heads", (t) => t.heads, count],
    ["score", (t) => t.score ?? null, (v) => natsChange(v, 4)],
    loss("loss, to choose by", "tuning"),
    right("right", "tuning"),
    ["p", ...p("tuning")],
    loss("loss, held out", "held_out"),
    right("right, held out", "held_out"),
    ["p, held out", ...p("held_out")],
  ];
};

function showTrials(data) {
  const rules = data.trials.filter(({tuning}) => tuning);
  const place = section(
    "numbers",
    "Every rule that was tried",
    "Loss as a change from doing nothing, in nats per token, with 95\u00a0% intervals; right: share of questions, and in brackets answers that became right and wrong; p: exact sign test. " +
      "The score, of the part to choose by, decides which rule is judged" +
      (data.settings.for === "both"
        ? `; a rule that adds more than ${setting(data.settings.allow)} nats has none.`
        : "."),
  );
  place.append(scrolling("Every rule that was tried", sortable("all-rows", kFixColumns(data), rules), "tall"));
  leftOutNote(place, data);
}

function showUnjudged(trials) {
  const table = plainTable(
    [
      ["rule", (t) => t.rule, "words"],
      ["heads", (t) => t.heads, count],
    ],
    trials,
  );
  table.id = "all-rows";
  section("numbers", "Tried so far").append(scrolling("Tried so far", table));
}
