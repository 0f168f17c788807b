"""Markdown tables of what `sharpmax retrieve` and scripts/retrieval-ingredients measured. No number is typed here."""
import math
import shlex
import textwrap

# Where a run is kept and where its results go says nothing about them.
PLACING = {"--directory": 1, "--threads": 1, "--json": 1, "--csv": 1, "--html": 1, "--report": 1, "-o": 1,
           "--checkpoint-seconds": 1, "--resume": 0, "--overwrite": 0}


def family(normalizer):
    return normalizer.split(":")[0]


def short_count(n):
    return f"{n >> 20}M" if n >= 1 << 20 else f"{n >> 10}K" if n >= 1 << 10 else str(n)


def distinct(values):
    return list(dict.fromkeys(values))


def percent(share):
    """Never rounded up to all or down to nothing."""
    if share is None:
        return "–"
    text = f"{100 * share:.1f}"
    return f"{100 * share:.2f}" if text in ("100.0", "0.0") and share not in (0, 1) else text


def number(value):
    if value is None:
        return "–"
    return f"{value:.3g}" if abs(value) < 1e4 else f"{value:,.0f}"


def power_of_ten(log10):
    if log10 is None:
        return "–"
    return f"{math.ceil(10 ** log10):,}" if log10 < 12 else f"10^{log10:.0f}"


def table(head, rows, left=1):
    """The first `left` columns are words, the others numbers."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [head, rule, *rows])


def plain_command(command):
    words, kept = shlex.split(command), []
    while words:
        word = words.pop(0)
        flag, _, value = word.partition("=")
        if flag not in PLACING:
            kept.append(word)
        elif PLACING[flag] and not value:
            words = words[1:]
    return shlex.join(kept)


def source_line(results):
    """What the numbers above it come from."""
    seeds = len(results["settings"]["seeds"])
    sets = results["settings"]["sets"]
    runs = []
    for n in results["settings"]["sizes"]:
        if not runs or runs[-1][1] != sets[str(n)]:
            runs.append([n, sets[str(n)]])
    sizes = ", ".join(f"{count:,} from {n:,} items on" for n, count in runs[1:])
    sets_words = f"{runs[0][1]:,} sets of each size" + (f", {sizes}" if sizes else "")
    return (f"`{plain_command(results['command'])}`, sharpmax {results['sharpmax']}, {results['created'][:10]}; "
            f"{'one seed' if seeds == 1 else f'mean of {seeds} seeds'}; {sets_words}.")


class Run:
    """Results asked by arm, normalizer and size."""

    def __init__(self, results):
        self.json = results
        self.arms = [arm["name"] for arm in results["arms"]]
        self.sizes = sorted(results["settings"]["sizes"])
        self.rules = distinct(r["normalizer"] for r in results["summary"])
        self.rows = {(r["arm"], r["normalizer"], r["n"]): r for r in results["summary"]}

    def value(self, arm, rule, n, key="accuracy"):
        return self.rows.get((arm, rule, n), {}).get(key)

    def member(self, name):
        """The first of the tested rules of this name; plain softmax for softmax."""
        return name if name in self.rules else next((rule for rule in self.rules if family(rule) == name), None)

    def mean(self, arm, rule, n, key):
        found = [r[key] for r in self.json["results"] if (r["arm"], r["normalizer"], r["n"]) == (arm, rule, n)]
        found = [value for value in found if value is not None]
        return sum(found) / len(found) if found else None

    def heads(self, arm):
        return [head for head in self.json["heads"] if head["arm"] == arm]

    def largest_trained(self, arm):
        return next(a for a in self.json["arms"] if a["name"] == arm)["training"]["largest_size"]


def arms(run):
    def sets(t):
        places = {"none": "", "top": "[1 − w, 1]", "anywhere": "[p, p + w], p uniform"}[t["crowding"]]
        if not places:
            return "uniform"
        return f"uniform; a share of {t['crowded']:g} in windows {places}, w from 1 down to {t['least_width']:g}"

    def rate(t):
        end = {"constant": "", "cosine": " to 0", "geometric": f" to {t['final_learning_rate']:g}"}[t["schedule"]]
        return f"{t['schedule']}, {t['learning_rate']:g}{end}"

    head = ["arm", "encoders", "trained under", "sets", "learning rate", "precision", "β₂", "clip", "steps"]
    rows = [[f"`{arm['name']}`", t["encoder"], f"`{t['normalizer']}`", sets(t), rate(t), t["precision"], f"{t['beta2']:g}",
             f"{t['clip']:g}" if t["clip"] else "none", f"{t['steps']:,}"]
            for arm in run.json["arms"] for t in [arm["training"]]]
    return f"{table(head, rows, 8)}\n\nAs run by `{plain_command(run.json['command'])}`."


def two_by_two(run):
    softmax, target = run.member("softmax"), run.member("entropy_target")
    columns = [(arm, rule) for arm in ("paper", "sharp") for rule in (softmax, target)]
    head = ["items", *(f"{arm}, `{rule}`" for arm, rule in columns), "paper, top score right", "sharp, top score right"]
    rows = [[f"{n:,}", *(percent(run.value(arm, rule, n)) for arm, rule in columns),
             *(percent(run.value(arm, target, n, "ranked_first")) for arm in ("paper", "sharp"))] for n in run.sizes]
    return f"{table(head, rows, 0)}\n\nRight answers in %. {source_line(run.json)}"


def lets_go(run, arm):
    """Every rule over the same weights; where each first falls below half."""
    head = ["rule", *(short_count(n) for n in run.sizes), "below half from"]
    rows = []
    for rule in run.rules:
        accuracy = [run.value(arm, rule, n) for n in run.sizes]
        lost = next((f"{n:,}" for n, a in zip(run.sizes, accuracy) if a is not None and a < 0.5), "–")
        rows.append([f"`{rule}`", *map(percent, accuracy), lost])
    return f"Arm {arm}:\n\n{table(head, rows)}"


def rules_by_size(run):
    arms = [arm for arm in run.arms if arm != "paper"] + [arm for arm in run.arms if arm == "paper"]
    return "\n\n".join([lets_go(run, arm) for arm in arms] + [f"Right answers in %. {source_line(run.json)}"])


def published(run):
    softmax, adaptive = run.member("softmax"), run.member("adaptive")
    theirs = {(p["normalizer"], p["n"]): p["accuracy"] for p in run.json["published"]}
    tests = {t["n"]: t for t in run.json["tests"] if (t["arm"], t["first"], t["second"]) == ("paper", softmax, adaptive)}

    def paper(rule, n):
        return percent(theirs[rule, n]) if (rule, n) in theirs else "–"

    rows = []
    for n in run.sizes:
        test = tests.get(n, {})
        rows.append([f"{n:,}", paper("softmax", n), percent(run.value("paper", softmax, n)), paper("adaptive", n),
                     percent(run.value("paper", adaptive, n)), percent(run.value("paper", softmax, n, "hard_accuracy")),
                     number(test.get("t")), "–" if test.get("p") is None else f"{test['p']:.1g}"])
    head = ["items", "softmax, published", "softmax, ours", "adaptive, published", "adaptive, ours", "hard, ours", "t", "p"]
    words = "t and p: paired t-test of adaptive against softmax over the seeds." if tests else "One seed: no t-test."
    return (f"{table(head, rows, 0)}\n\nRight answers in %. {words} {source_line(run.json)}")


def why(run):
    """Softmax, entropy_target and hard for each arm at three sizes: the least, the middle, the largest."""
    rules = [run.member(name) for name in ("softmax", "adaptive", "entropy_target", "hard") if run.member(name)]
    sizes = distinct([run.sizes[0], run.sizes[len(run.sizes) // 2], run.sizes[-1]])
    head = ["arm", "rule", "items", "right", "first", "hard", "lost", "saved", "nats", "peak", "on it"]
    rows = [[arm, f"`{rule}`", f"{n:,}", percent(run.value(arm, rule, n)),
             *(percent(run.value(arm, rule, n, key)) for key in
               ("ranked_first", "hard_accuracy", "hard_right_rule_wrong", "hard_wrong_rule_right")),
             *(number(run.value(arm, rule, n, key)) for key in ("entropy", "peak_weight", "right_weight"))]
            for arm in run.arms for n in sizes for rule in rules]
    return f"{table(head, rows, 2)}\n\n{source_line(run.json)}"


def certificates(run):
    head = ["arm", "seed", "spread certified", "attained", "no input gets half from", "rows checked", "rows that break it"]
    rows = []
    for entry in run.json["heads"]:
        of_head = [r for r in run.json["results"] if (r["arm"], r["seed"]) == (entry["arm"], entry["seed"])]
        broken = {r["n"]: r["bound_violations"] for r in of_head}  # counted once for all rules of a size
        rows.append([entry["arm"], entry["seed"], number(entry["spread"]["certified"]), number(entry["spread"]["attained"]),
                     power_of_ten(entry["half_lost_from_log10"]), f"{sum(r['sets'] for r in of_head):,}",
                     f"{sum(broken.values()):,}"])
    return f"{table(head, rows)}\n\nHalf of the weight under softmax, in items. {source_line(run.json)}"


def adaptive(run):
    softmax, rule = run.member("softmax"), run.member("adaptive")
    blocks = []
    for arm in [arm for arm in ("paper", "sharp") if arm in run.arms]:
        rows = [[f"{n:,}", number(run.value(arm, softmax, n, "entropy")), number(run.mean(arm, rule, n, "temperature")),
                 percent(run.value(arm, softmax, n)), percent(run.value(arm, rule, n))] for n in run.sizes]
        head = ["items", "nats under softmax", "mean β of adaptive", "softmax, %", "adaptive, %"]
        blocks.append(f"Arm {arm}:\n\n{table(head, rows, 0)}")
    return "\n\n".join([*blocks, source_line(run.json)])


CLAIMED = [("sharp", "entropy_target", "our recipe"), ("sharp", "softmax", "the same weights"),
           ("sharp-mlp", "entropy_target", "our recipe with the paper's MLP encoders"),
           ("crowded-softmax", "softmax", "our sets, but trained under softmax"),
           ("crowded-softmax", "entropy_target", "the same weights"),
           ("paper", "softmax", "the paper's training"), ("paper", "entropy_target", "the same weights")]


def claim(run):
    """The number of the first screen, in one sentence."""
    n, target = run.sizes[-1], run.member("entropy_target")
    row = run.rows["sharp", target, n]
    seeds = "one seed" if row["seeds"] == 1 else f"mean of {row['seeds']} seeds"
    text = (f"**Trained on sets of at most {run.largest_trained('sharp')} items, a head names the class of the largest of "
            f"{n:,} in {percent(row['accuracy'])} % of sets** ({seeds}, 95 % interval {percent(row['accuracy_low'])} to "
            f"{percent(min(1, row['accuracy_high']))}; chance is 10 %; `{plain_command(run.json['command'])}`).")
    return textwrap.fill(text.replace(" %", "\0%"), 98).replace("\0", " ")  # a number and its % stay together


def claim_table(run):
    """Which training and which normalizer get what at the largest sizes."""
    sizes = [size for size in run.sizes if size >= 16384][-3:] or run.sizes[-1:]
    rows = [[words, f"`{run.member(name)}`", *(percent(run.value(arm, run.member(name), size)) for size in sizes)]
            for arm, name, words in CLAIMED if arm in run.arms and run.member(name)]
    head = [f"trained on at most {run.largest_trained('sharp')} items", "tested under", *(f"{size:,}" for size in sizes)]
    return f"{table(head, rows, 2)}\n\nRight answers in %. `{plain_command(run.json['command'])}`"


def ingredients(measured):
    rows, first = [], measured["rows"][0]
    rule = next(r["normalizer"] for r in first["summary"] if family(r["normalizer"]) == "entropy_target")
    sizes = distinct(r["n"] for r in first["summary"])

    def at(row, n, normalizer, key="accuracy"):
        return next((percent(r[key]) for r in row["summary"] if (r["n"], r["normalizer"]) == (n, normalizer)), "–")

    def seeds(row):
        found = [a["accuracy"] for a in row["accuracies"] if (a["n"], a["normalizer"]) == (sizes[-1], rule)]
        return " ".join(map(percent, found))

    for row in measured["rows"]:
        spreads = [number(spread) for spread in row["spread"]]
        rows.append([row["change"], f"`{row['flags']}`" if row["flags"] else "", *(at(row, n, rule) for n in sizes), seeds(row),
                     *(at(row, n, "hard") for n in sizes[-1:]), *(at(row, n, "softmax") for n in (sizes[0], sizes[-1])),
                     " ".join(distinct(spreads))])
    head = ["changed", "flags", *(short_count(n) for n in sizes), f"seeds at {short_count(sizes[-1])}",
            f"hard, {short_count(sizes[-1])}", *(f"softmax, {short_count(n)}" for n in (sizes[0], sizes[-1])), "spread"]
    return (f"{table(head, rows, 2)}\n\nRight answers in % under `{rule}` where no rule is named; spread: certified, of each "
            f"head. Every row is this command and its own flags (sharpmax {first['sharpmax']}):\n\n```\n{measured['shared']}\n```")
