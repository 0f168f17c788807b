"""The README's table of speed: a few rows of the generated tables in docs/design/benchmarks.md, each beside its fastest peer."""
import re
import sys

# name in the README -> (block, first cell of its row, whether the block has one table per number of threads: take the first)
ROWS = {
    "attention, 2,048 tokens, d 64": ("bench-peers", "prefill/full/d64/n2048"),
    "the same, causal": ("bench-peers", "prefill/causal/d64/n2048"),
    "its gradient, causal": ("bench-peers", "backward/causal/d64/n2048"),
    "one query on 16,384 keys, d 128": ("bench-peers", "decode/d128/n16384"),
    "the same, 32 query on 8 key heads": ("bench-peers", "decode/grouped/d128/n16384"),
    "training a retrieval head": ("bench-retrieval", "training, one thread"),
    "SmolLM2, prompt of 2,048 tokens": ("bench-model", "prompt of 2,048"),
    "SmolLM2, generating after 4,096": ("bench-model", "generating after 4,096"),
}
RATIO = re.compile(r"([\d.]+)×")
MEASURED = re.compile(r"Measured (\S+) \((\w+) run\) on ([^;]+);")


def block_of(page, name):
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if page.count(begin) != 1:
        sys.exit(f"performance_table: docs/design/benchmarks.md must hold the block {name} exactly once")
    return page.split(begin)[1].split(end)[0]


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def row_of(block, first):
    """(column names, cells) of the first row that begins with `first`."""
    header = None
    for line, after in zip(block.splitlines(), [*block.splitlines()[1:], ""]):
        if after.startswith("|---"):
            header = cells_of(line)
        elif line.startswith("|") and header and cells_of(line)[0] == first:
            return header, cells_of(line)
    sys.exit(f"performance_table: docs/design/benchmarks.md has no row {first!r}")


def fastest_peer(header, cells):
    """(name, its time over ours) of the peer with the least time."""
    peers = [(float(RATIO.search(cell)[1]), name) for name, cell in zip(header[2:], cells[2:])
             if RATIO.search(cell) and not name.startswith("sharpmax")]
    ratio, name = min(peers)
    return name, ratio


def performance_table(page):
    lines = ["| one thread | sharpmax | fastest peer | its time / ours |", "|---|---:|---|---:|"]
    for label, (name, first) in ROWS.items():
        header, cells = row_of(block_of(page, name), first)
        peer, ratio = fastest_peer(header, cells)
        lines.append(f"| {label} | {cells[1]} | {peer} | {ratio:.2f}× |")
    runs = dict.fromkeys(MEASURED.findall("".join(block_of(page, name) for name in dict.fromkeys(n for n, _ in ROWS.values()))))
    machines = ", ".join(dict.fromkeys(machine for *_, machine in runs))
    dates = sorted({date for date, *_ in runs})
    efforts = " and ".join(dict.fromkeys(effort for _, effort, _ in runs))
    days = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return "\n".join([*lines, "", f"Medians, {days}, {machines}; {efforts} runs."])
