// The page of `sharpmax audit`: what was found in words, then a part for every section that the results have.

import {node, section} from "../frame/dom.js";
import {showTitle, tile} from "../frame/view.js";
import {count, decimal, fileName, kNone, plural, setting} from "../frame/words.js";
import {findingsSentence, showAnalysis} from "./analysis.js";
import {showHeads} from "./grid.js";
import {probeSentence, showProbe} from "./probe.js";
import {headsOf} from "./sketch.js";
import {showByLength, showForecasts, showHeadTable} from "./tables.js";

export function auditLabel({settings}) {
  return `audit of ${fileName(settings.model.file)}`;
}

export function showAudit(data) {
  const {attention, analysis, probe} = data;
  if (attention) attention.heads = headsOf(attention);
  showTitle("audit", `${fileName(data.settings.model.file)}: ${auditSubject(data)}`);
  const verdict = document.getElementById("verdict");
  if (data.verdict) verdict.append(node("p", {}, data.verdict));
  if (analysis) verdict.append(node("p", {}, findingsSentence(analysis)));
  if (probe?.lengths.length) verdict.append(node("p", {}, probeSentence(probe)));
  if (!data.complete) verdict.append(node("p", {}, "This audit was not finished: what was measured so far is shown."));
  if (data.settings.text) verdict.append(node("p", {class: "note"}, textSentence(data)));

  if (attention?.heads.length) {
    document.getElementById("tiles").append(...attentionTiles(attention));
    const place = section(
      "heads",
      "Every head",
      "One cell is one head, a layer to a line. Choose one by click, or by arrow keys and Enter, to see it at every length. “Outside” leaves the first token out, on which many heads park their weight.",
    );
    const open = showHeads(place, attention);
    showHeadTable(attention, open);
    showByLength(attention);
    showForecasts(attention);
  }
  if (analysis) showAnalysis(analysis);
  if (probe?.lengths.length) showProbe(probe);
}

function auditSubject({attention, analysis, probe}) {
  if (attention) return `attention up to ${count(attention.lengths.at(-1))} tokens`;
  if (analysis) return `what ${plural(analysis.heads, "head")} select and leave out`;
  return probe ? `probe “${probe.kind}”` : "nothing was measured";
}

function textSentence({settings, attention}) {
  const read = attention
    ? `, ${plural(attention.excerpts, "excerpt")} of ${count(attention.lengths.at(-1))} tokens each`
    : "";
  return `Text: ${fileName(settings.text)}${read}. Trained on ${count(settings.model.trained_context)} tokens.`;
}

function attentionTiles(attention) {
  const {lengths, blunt_heads: blunt, median_over_heads: median, heads, kinds} = attention;
  const at = (i) => `at ${count(lengths.at(i))} tokens`;
  const made = [tile(count(blunt.at(-1)), `of ${plural(heads.length, "head")} blunt`, at(-1), "vermillion")];
  if (lengths.length > 1) made.push(tile(count(blunt[0]), `of ${plural(heads.length, "head")} blunt`, at(0), "green"));
  made.push(
    tile(decimal(median.peak_outside.at(-1), 2), "peak outside, median head", at(-1), "vermillion"),
    tile(decimal(median.first.at(-1), 2), "on the first token, median head", at(-1), "purple"),
    tile(count(kinds.sink), "sinks", "heads that park their weight on the first token", "grey"),
  );
  return made;
}

export function showAuditProvenance(data) {
  const {model, text} = data.settings;
  const place = section("provenance", "How these numbers were made");
  place.append(node("pre", {}, node("code", {}, data.command)));
  const plain = (value) => (value === null || value === undefined ? kNone : setting(value));
  const pairs = [
    ["sharpmax", data.sharpmax],
    ...(data.created ? [["date", data.created]] : []),
    ...(data.seconds ? [["time taken", `${decimal(data.seconds, 1)} s`]] : []),
    ...(text ? [["text", `${text}, ${count(data.settings.text_tokens)} tokens`]] : []),
    ...Object.entries(model).map(([name, value]) => [name === "file" ? "model" : name.replaceAll("_", " "), plain(value)]),
  ];
  place.append(node("dl", {}, ...pairs.flatMap(([name, value]) => [node("dt", {}, name), node("dd", {}, value)])));
}
