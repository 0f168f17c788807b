// Questions with known answers: how often a model is right, beside how much its best head looks at the right item.

import {headName} from "../drawing/grid.js";
import {liveChart} from "../drawing/live_chart.js";
import {plainTable} from "../drawing/sortable.js";
import {scrolling} from "../export/download.js";
import {node, section} from "../frame/dom.js";
import {count, interval, kNone, percent} from "../frame/words.js";
import {kTokens, threeDigits} from "./statistics.js";

export function probeSentence({kind, lengths}) {
  const [first, last] = [lengths[0], lengths.at(-1)];
  const right = ({share, length}) => `${percent(share)} of answers at ${count(length)} tokens`;
  return `Probe “${kind}”: right in ${right(first)}${last === first ? "" : ` and in ${right(last)}`}.`;
}

export function showProbe({kind, chat, seed, lengths, followed}) {
  const place = section(
    "probe",
    "Questions with known answers",
    "How often the greedy answer matches, with 95\u00a0% intervals, and how much weight goes from the tokens of the right answer to the item that holds it, in the head that looks best.",
  );
  liveChart(place, () => ({
    label: "share",
    legend: true,
    percent: true,
    top: 1.02,
    sizes: lengths.map(({length}) => length),
    across: kTokens,
    curves: [
      ...(followed
        ? [
            {
              name: `weight, head ${headName(followed)}`,
              look: {paint: "green", dash: [9, 4]},
              hollow: true,
              format: percent,
              points: new Map(lengths.map(({length}, i) => [length, {value: followed.answering_weight[i]}])),
            },
          ]
        : []),
      {
        name: "right answers",
        look: {paint: "vermillion", dash: []},
        format: percent,
        points: new Map(lengths.map(({length, share, low, high}) => [length, {value: share, low, high}])),
      },
    ],
  }));
  const best = ({best_heads: heads}) => heads[0] ?? null;
  const table = plainTable(
    [
      ["tokens", ({length}) => length, count],
      ["questions", ({questions}) => questions, count],
      ["right", ({share}) => share, percent],
      ["95 % interval", ({low}) => low, (_, at) => interval({accuracy_low: at.low, accuracy_high: at.high})],
      ["best head", (at) => best(at) && headName(best(at)), (name) => name ?? kNone],
      ["its weight, answering", (at) => best(at)?.answering_weight ?? null, threeDigits],
      ["asking", (at) => best(at)?.asking_weight ?? null, threeDigits],
      ["peak on it", (at) => best(at)?.asking_first ?? null, percent],
    ],
    lengths,
  );
  table.id = "all-probes";
  place.append(scrolling("Questions by length", table));
  place.append(
    node(
      "p",
      {class: "note"},
      `Probe “${kind}”${chat ? ", in the chat template" : ""}, seed ${seed}. Answering: mean weight on the item’s tokens ` +
        "from the tokens of the right answer; asking: from the last token of the prompt; peak on it: how often that token’s heaviest key is the item’s.",
    ),
  );
  const wrong = lengths.filter((at) => at.wrong.length);
  if (wrong.length)
    place.append(
      node(
        "details",
        {},
        node("summary", {}, "Wrong answers"),
        node(
          "ul",
          {class: "lines"},
          ...wrong.map((at) =>
            node("li", {}, `${count(at.length)} tokens: `, ...at.wrong.flatMap((text, i) => [i ? ", " : "", node("code", {}, text)])),
          ),
        ),
      ),
    );
}
