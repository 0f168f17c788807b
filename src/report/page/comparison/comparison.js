// Several results in one page: what each is, and those of one kind side by side.

import {kDashes} from "../drawing/looks.js";
import {plainTable} from "../drawing/sortable.js";
import {scrolling} from "../export/download.js";
import {node, section} from "../frame/dom.js";
import {showTitle} from "../frame/view.js";
import {distinct, kNone, plural} from "../frame/words.js";
import {compareCertificates, compareFixes, compareSpreads} from "./answers.js";
import {compareAudits} from "./audit.js";
import {compareLosses} from "./losses.js";
import {namesOf} from "./names.js";
import {compareRetrievals} from "./retrieval.js";

// The look of a result is the same in every chart of the comparison.
const kResultColours = ["vermillion", "blue", "green", "purple", "sky", "amber", "brown", "grey"];

// Of each kind: what shows several of it, and tells in a sentence how they compare, or undefined.
const kComparisons = new Map([
  ["sharpmax.retrieval/1", compareRetrievals],
  ["sharpmax.audit/1", compareAudits],
  ["sharpmax.perplexity/1", compareLosses],
  ["sharpmax.fix/1", compareFixes],
  ["sharpmax.bound.spread/1", compareSpreads],
  ["sharpmax.bound.model/1", compareCertificates],
]);

export function showComparison(results) {
  const names = namesOf(results);
  const compared = results.map((data, i) => ({
    ...names[i],
    data,
    look: {paint: kResultColours[i % kResultColours.length], dash: kDashes[Math.floor(i / kResultColours.length) % kDashes.length]},
  }));
  const kinds = distinct(results.map(({schema}) => schema));
  showTitle("compared", comparedTitle(compared, kinds));
  showResultList(compared);
  for (const kind of kinds) {
    const several = compared.filter(({data}) => data.schema === kind);
    const sentence = several.length > 1 ? kComparisons.get(kind)?.(several) : undefined;
    if (sentence) document.getElementById("verdict").append(node("p", {}, sentence));
  }
  showComparedProvenance(compared);
}

function comparedTitle(compared, kinds) {
  if (kinds.length > 1) return `${plural(compared.length, "result")} in one page`;
  const labels = distinct(compared.map(({label}) => label));
  return labels.length === 1 ? `${labels[0]}: ${plural(compared.length, "result")} compared` : `${plural(compared.length, "result")} compared`;
}

// Opens the view of a result, or something in it.
export function resultLink({number, name}, place = "", words = name) {
  return node("a", {href: `#${number}${place ? "/" + place : ""}`}, words);
}

function showResultList(compared) {
  const table = plainTable(
    [
      ["result", ({number}) => number, (_, one) => resultLink(one), {words: true, csv: [["result", ({number}) => number], ["name", ({name}) => name]]}],
      ["date", ({data}) => data.created ?? null, (date) => date ?? kNone],
      ["sharpmax", ({data}) => data.sharpmax ?? null, (version) => version ?? kNone],
      ["command", ({data}) => data.command ?? kNone, "words"],
    ],
    compared,
  );
  table.classList.add("result-list");
  section("compared-results", "What is compared", "Each result has its own view: its name leads there.").append(scrolling("Results", table));
}

function showComparedProvenance(compared) {
  const place = section("provenance", "How these numbers were made");
  for (const one of compared) {
    place.append(node("h3", {}, resultLink(one)));
    if (one.data.command) place.append(node("pre", {}, node("code", {}, one.data.command)));
  }
}

// A table of one line for each result.
export function resultTable(columns, compared) {
  return plainTable(
    [["result", ({number}) => number, (_, one) => resultLink(one, "", one.short), {words: true, csv: [["result", ({name}) => name]]}], ...columns],
    compared,
  );
}

// A change as one reads it: with its sign.
export function signedBy(value, format) {
  if (value === null || value === undefined) return kNone;
  return (value > 0 ? "+" : value < 0 ? "\u2212" : "") + format(Math.abs(value));
}

export function lessBaseline(value, baseline) {
  return typeof value === "number" && typeof baseline === "number" ? value - baseline : null;
}

// Numbers that every one of the lists has, in order.
export function commonTo(lists) {
  return lists[0].filter((value) => lists.every((list) => list.includes(value))).sort((a, b) => a - b);
}
