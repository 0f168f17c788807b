// The page of `sharpmax bound --attack`: how near a search came to breaking every bound.

function attackLabel({seed}) {
  return `attacks on every bound, seed ${seed}`;
}

// How an attack ended, the worst first. A claim that broke is a finding; what was never claimed and breaks is none.
const kEndings = [
  {is: (a) => isBroken(a) && a.claimed, name: "broken", colour: "vermillion"},
  {is: (a) => isBroken(a), name: "no bound", colour: "amber"},
  {is: (a) => a.claimed, name: "holds", colour: "green"},
  {is: () => true, name: "not broken", colour: "sky"},
];
const kAttackRounding = 1e-9;

function isBroken({reached}) {
  return reached === null || !(reached <= 1 + kAttackRounding); // what is no number proves nothing
}

function endingOf(attack) {
  return kEndings.find(({is}) => is(attack));
}

function showAttack(data) {
  const attacks = rowObjects(data.table);
  const [broken, noBound, holding] = kEndings.map((ending) => attacks.filter((a) => endingOf(a) === ending));
  showTitle("attacks on bounds", `How near a search came to breaking ${plural(attacks.length, "bound")}`);
  showVerdict(attackVerdict(broken, holding), ...noBoundLine(noBound));
  const tight = holding.filter(({reached}) => reached > 0.999);
  showTiles(
    tile(count(broken.length), "broken", "of those that are claimed", broken.length ? "vermillion" : "green"),
    tile(count(holding.length), "hold", "no input was found that passes them", "green"),
    tile(count(tight.length), "of them tight", "some input attains them, within a thousandth", "green"),
    tile(count(noBound.length), "are no bounds", "not claimed here, and broken", "amber"),
  );
  showAttackBars(attacks, data);
  const {bound, claimed, reached, verdict} = {
    bound: "words",
    claimed: (v) => (v ? "yes" : "no"),
    reached: (v) => decimal(v, 6),
    verdict: (v) => v,
  };
  showAllNumbers(
    data,
    columnsThere(data.table, [
      ["bound", (a) => a.bound, bound],
      ["from", (a) => a.source, "words", "source"],
      ["claimed", (a) => a.claimed, claimed],
      ["reached", (a) => a.reached, reached],
      ["found", (a) => a.verdict, verdict],
    ]),
    attacks,
  );
  offerRow(twoLevelRow(-data.spread / 2, data.spread / 2));
}

function attackVerdict(broken, holding) {
  if (!broken.length)
    return `No input was found that breaks any of the ${plural(holding.length, "bound")} that are claimed.`;
  const line = node(
    "p",
    {},
    `${plural(broken.length, "bound")} that should hold ${broken.length === 1 ? "is" : "are"} broken: `,
  );
  for (const [i, attack] of broken.entries())
    line.append(i ? ", " : "", node("b", {}, attack.bound), ` (${decimal(attack.reached, 3)} times)`);
  line.append(".");
  return line;
}

function noBoundLine(noBound) {
  if (!noBound.length) return [];
  const worst = noBound.reduce((a, b) => ((b.reached ?? Infinity) > (a.reached ?? Infinity) ? b : a));
  return [
    node(
      "p",
      {},
      `${plural(noBound.length, "formula")} that ${noBound.length === 1 ? "is" : "are"} not claimed here break, `,
      rule(worst.bound),
      ` by a factor of ${decimal(worst.reached, 2)}.`,
    ),
  ];
}

// Broken ones first, then by how near the search came.
function attackOrder(attacks) {
  const place = (a) => kEndings.indexOf(endingOf(a));
  return [...attacks].sort((a, b) => place(a) - place(b) || (b.reached ?? Infinity) - (a.reached ?? Infinity));
}

function showAttackBars(attacks, {starts, spread, n, seed}) {
  const longest = 2; // bars are cut at twice the bound
  const place = section(
    "bars",
    "How near each came",
    `The largest value over bound that a search uphill from ${plural(starts, "place")} found: 1, the dotted line, is a bound that is attained; more breaks it. Scores at most ${setting(spread)} apart, ${count(n)} keys.`,
  );
  const bar = (reached, attack) => shareBar(0, (reached ?? longest) / longest, endingOf(attack).colour, 1 / longest);
  const table = plainTable(
    [
      ["bound", (a) => a.bound, "words"],
      ["found", (a) => endingOf(a).name, (v) => v],
      ["reached", (a) => a.reached, (v) => decimal(v, 3)],
      ["from 0 to 2", (a) => a.reached, bar, kNoCsv],
    ],
    attackOrder(attacks),
  );
  table.id = "all-attacks";
  table.className = "with-bars";
  place.append(scrolling("How near each attack came", table, "tall"));
  place.append(
    node(
      "p",
      {class: "note"},
      `Holds: claimed, and not broken. No bound: a formula that is not claimed here, and breaks. Not broken: not claimed either, and no input was found. A search proves nothing; seed ${seed}.`,
    ),
  );
}
