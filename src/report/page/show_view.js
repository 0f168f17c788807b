// A view of results (src/report/view/view.h): what was found, then a part for each question, then how it was made.

import {newShared, showItems, wordsOf} from "./drawing/items.js";
import {showHeads} from "./explorer/grid.js";
import {definitions, node, section} from "./frame/dom.js";
import {offerRow} from "./frame/rows.js";
import {showTiles, showTitle, showVerdict, tile} from "./frame/view.js";

const kWidgets = {
  row: (_, row, {rows}) => {
    if (row.head) rows.set(row.head, row);
    else offerRow(row);
  },
};

// data: what the page holds of the result for its widgets.
export function showView({kind, title, complete, verdict, tiles, sections}, data) {
  const heads = (place) => {
    showHeads(place, data.attention);
    return true;
  };
  const shared = newShared({...kWidgets, heads});
  showTitle(kind, title);
  if (complete === false) showVerdict("This run was not finished: what was measured so far is shown.");
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
