// The first screen: what was found, in words and in a few numbers. Every sentence is made from the rows.

import {node, rule} from "../frame/dom.js";
import {showTitle, tile} from "../frame/view.js";
import {count, family, percent, plural, sizeFromLog10} from "../frame/words.js";
import {chance, member, paperArm, rowAt} from "./results.js";

function facts(data) {
  const smallest = data.sizes[0];
  const largest = data.sizes.at(-1);
  const arm = paperArm(data) ?? data.armNames[0];
  const plain = member(data, "softmax") ?? data.normalizers[0];
  const atLargest = data.rows.filter((row) => row.n === largest);
  // Hard attention is the yardstick, not a rule that one could train with.
  const best = atLargest
    .filter((row) => family(row.normalizer) !== "hard")
    .reduce((a, b) => (b.accuracy > a.accuracy ? b : a), atLargest[0]);
  return {
    smallest,
    largest,
    arm,
    plain,
    best,
    before: rowAt(data, arm, plain, smallest),
    after: rowAt(data, arm, plain, largest),
    bestPlain: rowAt(data, best.arm, plain, largest),
    head: data.heads.find((head) => head.arm === arm),
  };
}

export function showOverview(data) {
  const found = facts(data);
  const most = Math.max(...data.arms.map(({training}) => training.largest_size));
  showTitle("max retrieval", `Trained on at most ${count(most)} items, tested on up to ${count(found.largest)}`);
  document.getElementById("verdict").append(...verdict(data, found));
  document.getElementById("tiles").append(...tiles(data, found));
}

function verdict(data, {smallest, largest, arm, plain, best, before, after, bestPlain}) {
  const lines = [];
  if (before && after)
    lines.push(
      node(
        "p",
        {},
        `Under ${arm} training, `,
        rule(plain),
        ` names the right class in ${percent(before.accuracy)} of sets of ${count(smallest)} items` +
          ` and in ${percent(after.accuracy)} of sets of ${count(largest)}; guessing gives ${percent(chance(data))}.`,
      ),
    );
  if (best === after) return [...lines, node("p", {}, "No other rule did better at that size.")];
  const line = node(
    "p",
    {},
    `Best at ${count(largest)}: ${best.arm} training with `,
    rule(best.normalizer),
    `, right in ${percent(best.accuracy)}`,
  );
  if (bestPlain && bestPlain !== best)
    line.append("; ", rule(plain), ` on the same weights: ${percent(bestPlain.accuracy)}`);
  line.append(".");
  return [...lines, line, ...asGood(data, best)];
}

// A winner by less than its own interval is named with those it did not beat.
function asGood(data, best) {
  const others = data.rows.filter(
    (row) => row !== best && row.n === best.n && row.arm === best.arm && row.accuracy_high >= best.accuracy_low,
  );
  if (!others.length) return [];
  const named = others.sort((a, b) => b.accuracy - a.accuracy).slice(0, 3);
  const rest = others.length - named.length;
  const line = node("p", {}, "Not told apart from it by the intervals: ");
  for (const [i, row] of named.entries()) line.append(i ? ", " : "", rule(row.normalizer), ` ${percent(row.accuracy)}`);
  line.append(rest ? ` and ${plural(rest, "other")}.` : ".");
  return [line];
}

function tiles(data, {largest, arm, plain, best, after, bestPlain, head}) {
  const colour = (normalizer) => data.looks.get(normalizer).paint;
  const at = `at ${count(largest)} items`;
  const right = (row, note = "") =>
    tile(
      percent(row.accuracy),
      rule(row.normalizer),
      `${row.arm} training, right ${at}${note}`,
      colour(row.normalizer),
    );
  const made = [];
  if (after) made.push(right(after));
  if (bestPlain && bestPlain !== best && bestPlain !== after) made.push(right(bestPlain));
  if (best !== after) made.push(right(best, bestPlain && bestPlain !== best ? ", the same weights" : ""));
  if (after)
    made.push(tile(percent(after.ranked_first), "top score on the right item", `${arm} training, ${at}`, "grey"));
  if (head)
    made.push(
      tile(
        sizeFromLog10(head.half_lost_from_log10),
        "items: from here on no input gets half of softmax's weight",
        `${arm} training, seed ${head.seed}, proved`,
        "grey",
      ),
    );
  return made;
}
