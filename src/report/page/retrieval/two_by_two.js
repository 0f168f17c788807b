// Two trainings times two normalizers: which of them does it?

import {liveChart} from "../drawing/live_chart.js";
import {node, rule, section} from "../frame/dom.js";
import {count, family, interval, percent} from "../frame/words.js";
import {curve} from "./curves.js";
import {chance, member, ourArm, paperArm, rowAt, rowsOf} from "./results.js";

export function showTwoByTwo(data) {
  const trainings = [paperArm(data), ourArm(data)];
  const rules = [member(data, "softmax"), member(data, "entropy_target")];
  if ([...trainings, ...rules].includes(undefined)) return;
  const pairs = trainings.flatMap((arm) => rules.map((normalizer) => ({arm, normalizer})));
  if (!pairs.every(({arm, normalizer}) => rowsOf(data, arm, normalizer).length)) return;

  const area = node("div", {class: "beside"});
  const left = node("div", {class: "chart-side"});
  area.append(left, gridOfFour(data, trainings, rules));
  section(
    "two-by-two",
    "Training or normalizer?",
    "A head can fail because it ranks the items wrongly, which training mends, or because its weights spread out, which the normalizer mends. The two trainings under the two rules, the same test sets for all four.",
  ).append(area);
  liveChart(left, () => ({
    label: "accuracy",
    percent: true,
    top: 1.02,
    sizes: data.sizes,
    reference: {name: "chance", value: () => chance(data)},
    curves: pairs.map(({arm, normalizer}) => {
      const ours = arm !== trainings[0];
      const look = {...data.looks.get(normalizer), dash: ours ? [] : [7, 5]};
      return {
        ...curve(data, arm, normalizer, "accuracy", percent),
        name: `${arm} × ${family(normalizer)}`,
        look,
        hollow: !ours,
      };
    }),
  }));
}

// The largest size at which all four were measured.
function gridOfFour(data, trainings, rules) {
  const everywhere = (n) => trainings.every((arm) => rules.every((name) => rowAt(data, arm, name, n)));
  const n = data.sizes.filter(everywhere).at(-1);
  const table = node("table", {class: "grid-of-four"}, node("caption", {}, `Right at n = ${count(n)}`));
  table.append(
    node(
      "thead",
      {},
      node(
        "tr",
        {},
        node("td", {class: "words"}),
        ...rules.map((name) => node("th", {scope: "col"}, rule(family(name)))),
      ),
    ),
  );
  const body = node("tbody");
  for (const arm of trainings) {
    body.append(
      node(
        "tr",
        {},
        node("th", {scope: "row"}, `${arm} training`),
        ...rules.map((name) => {
          const row = rowAt(data, arm, name, n);
          const verdict = row.accuracy >= 0.9 ? "good" : row.accuracy >= 0.5 ? "middling" : "poor";
          return node(
            "td",
            {class: verdict, "data-value": row.accuracy},
            percent(row.accuracy),
            node("small", {}, `${interval(row)}`),
          );
        }),
      ),
    );
  }
  table.append(body);
  const holder = node("div", {}, table);
  holder.append(
    node("p", {class: "note"}, "Small print: 95 % intervals, in per cent. Lines of the paper's training are dashed."),
  );
  return holder;
}
