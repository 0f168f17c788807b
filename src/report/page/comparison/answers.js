// Several answers of one kind, a line for each: fixes and bounds.

import {rowObjects} from "../drawing/kind_parts.js";
import {scrolling} from "../export/download.js";
import {section} from "../frame/dom.js";
import {count, decimal, kNone, shortCount, sizeFromLog10} from "../frame/words.js";
import {commonTo, resultTable, signedBy} from "./comparison.js";

export function compareFixes(compared) {
  const words = (get) => ({data}) => get(data) ?? kNone;
  const columns = [
    ["use", words(({answer}) => answer?.use), "words"],
    ["came out best", words(({answer}) => answer?.chosen), "words"],
    ["loss added, nats", (one) => heldOut(one)?.text?.change ?? null, (v, one) => changeText(heldOut(one)?.text, v)],
    ["questions right", (one) => heldOut(one)?.task?.rule ?? null, (v, one) => (v === null ? kNone : `${count(v)} of ${count(heldOut(one).task.questions)}`)],
    ["right without it", (one) => heldOut(one)?.task?.plain ?? null, count],
    ["verdict", words(({answer}) => answer?.verdict ?? "It was not finished."), String, {words: true}],
  ].filter(([, value]) => compared.some((one) => ![null, kNone].includes(value(one))));
  section("compared-fixes", "What mends it", "The answer of each search, judged on the part that was held out.").append(
    scrolling("Answers", resultTable(columns, compared)),
  );
}

// What the rule that came out best did there, where the page holds it.
function heldOut({data: {answer, trials}}) {
  return trials?.find(({rule: name}) => name === answer?.chosen)?.held_out;
}

function changeText(loss, value) {
  const ends = typeof loss?.low === "number" ? ` (${signedBy(loss.low, threeDecimals)} to ${signedBy(loss.high, threeDecimals)})` : "";
  return signedBy(value, threeDecimals) + ends;
}

const threeDecimals = (value) => value.toFixed(3);

export function compareSpreads(compared) {
  const sizes = commonTo(compared.map(({data}) => (data.softmax ?? []).map(({n}) => n)));
  const peak = ({data}, n) => data.softmax?.find((one) => one.n === n)?.tight?.high ?? null;
  const columns = [
    ["spread", ({data}) => data.spread ?? null, (v) => decimal(v, 2)],
    ["β", ({data}) => data.beta ?? null, (v) => decimal(v, 2)],
    ...sizes.slice(-4).map((n) => [`most weight at ${shortCount(n)}`, (one) => peak(one, n), (v) => decimal(v, 4)]),
    ["weight", ({data}) => data.softmax_lost?.peak ?? null, (v) => decimal(v, 2)],
    ["lost from n", ({data}) => data.softmax_lost?.log10_n ?? null, sizeFromLog10],
  ];
  section(
    "compared-spreads",
    "How sharp softmax can be",
    "The most that any weight can be when scores lie within the spread, and the size from which no key has the named weight.",
  ).append(scrolling("Bounds", resultTable(columns, compared)));
}

export function compareCertificates(compared) {
  const heads = ({data}) => (data.table ? rowObjects(data.table) : []);
  const shortest = (one) => heads(one).map((head) => head.log10_length).filter((v) => typeof v === "number").sort((a, b) => a - b);
  const columns = [
    ["heads", (one) => heads(one).length || null, count],
    ["with a useful bound", (one) => (heads(one).length ? heads(one).filter(({useful}) => useful).length : null), count],
    ["first loses the weight from n", (one) => shortest(one)[0] ?? null, sizeFromLog10],
    ["weight", ({data}) => data.peak ?? null, (v) => decimal(v, 2)],
    ["verdict", ({data}) => data.verdict ?? kNone, String, {words: true}],
  ].filter(([, value]) => compared.some((one) => ![null, kNone].includes(value(one))));
  section("compared-certificates", "What no input can do", "From the weights of each model alone.").append(
    scrolling("Certificates", resultTable(columns, compared)),
  );
}
