// Hard attention right or wrong, times this rule right or wrong, at each size.

const kOutcomes = [
  ["hard_right_rule_right", "both-right", "both right"],
  ["hard_wrong_rule_right", "averaging", "only the rule right: averaging helped"],
  ["hard_right_rule_wrong", "dispersion", "only hard attention right: dispersion"],
  ["hard_wrong_rule_wrong", "ranking", "both wrong: ranking"],
];

function showFailure(data) {
  const state = {arm: paperArm(data) ?? data.armNames[0], normalizer: member(data, "softmax") ?? data.normalizers[0]};
  const holder = node("div");
  const fill = () =>
    holder.replaceChildren(scrolling("Why it fails, by size", failureTable(rowsOf(data, state.arm, state.normalizer))));
  section(
    "failure",
    "Why it fails",
    "Hard attention puts all weight on the largest score. Where it is right and the rule is wrong, weight was ",
    node("em", {}, "dispersed"),
    "; where both are wrong, the scores ",
    node("em", {}, "rank"),
    " a wrong item first, and no sharper rule helps; where only the rule is right, averaging helped.",
  ).append(
    node(
      "div",
      {class: "controls"},
      choice("Training", data.armNames, state.arm, (arm) => {
        state.arm = arm;
        fill();
      }),
      choice("Normalizer", data.normalizers, state.normalizer, (name) => {
        state.normalizer = name;
        fill();
      }),
    ),
    node(
      "ul",
      {class: "legend"},
      ...kOutcomes.map(([, style, text]) => node("li", {}, node("i", {class: style}), text)),
    ),
    holder,
  );
  fill();
}

function failureTable(rows) {
  const heads = [
    ["n", ""],
    ["share of sets", "words"],
    ["right", ""],
    ["dispersion", ""],
    ["ranking", ""],
    ["averaging", ""],
    ["hard right", ""],
    ["top score right", ""],
  ];
  const body = node("tbody");
  for (const row of rows) {
    const share = (field) => (row.sets ? row[field] / row.sets : 0);
    const bar = node("div", {
      class: "stack",
      role: "img",
      "aria-label": kOutcomes.map(([field, , text]) => `${text} ${percent(share(field))}`).join(", "),
    });
    for (const [field, style, text] of kOutcomes) {
      const piece = node("span", {class: style, title: `${text}: ${percent(share(field))}`});
      piece.style.width = 100 * share(field) + "%";
      bar.append(piece);
    }
    const cell = (value) => node("td", {"data-value": value}, percent(value));
    body.append(
      node(
        "tr",
        {},
        node("td", {"data-value": row.n}, count(row.n)),
        node("td", {class: "bar"}, bar),
        cell(row.accuracy),
        cell(share("hard_right_rule_wrong")),
        cell(share("hard_wrong_rule_wrong")),
        cell(share("hard_wrong_rule_right")),
        cell(row.hard_accuracy),
        cell(row.ranked_first),
      ),
    );
  }
  return node(
    "table",
    {class: "bars"},
    node("thead", {}, node("tr", {}, ...heads.map(([text, style]) => node("th", {scope: "col", class: style}, text)))),
    body,
  );
}
