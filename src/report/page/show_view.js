// A view of results (src/report/view/view.h): what was found, then a part for each question, then how it was made.

import {showItems, wordsOf} from "./drawing/items.js";
import {showHeads} from "./explorer/heads.js";
import {definitions, node, section} from "./frame/dom.js";
import {showTiles, showTitle, showVerdict, tile} from "./frame/view.js";

export function showView({kind, title, verdict, tiles, sections}) {
  const shared = {curves: new Map(), choices: new Map(), explorer: showHeads};
  showTitle(kind, title);
  showVerdict(...verdict.map((words) => node("p", {}, ...wordsOf(words))));
  showTiles(...tiles.map(({number, what, where, paint}) => tile(number, node("span", {}, ...wordsOf(what)), where, paint)));
  for (const {id, heading, words, items} of sections) showItems(section(id, heading, ...(words ? [words] : [])), items, shared);
}

export function showProvenance({provenance: {command, facts}, left_out: leftOut = []}) {
  const place = section("provenance", "How these numbers were made");
  if (command) place.append(node("pre", {}, node("code", {}, command)));
  place.append(definitions(facts));
  if (leftOut.length) place.append(node("p", {class: "note"}, `Left out to keep this file small: ${leftOut.join(", ")}.`));
}
