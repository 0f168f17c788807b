"""What scripts share that fill pages: blocks from <!-- NAME:begin --> to <!-- NAME:end -->, and the model that docs show."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
_CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "sharpmax"
MODELS = pathlib.Path(os.environ.get("SHARPMAX_MODELS") or _CACHE)  # where `make model` puts these two
MODEL, TEXT = "SmolLM2-135M-Instruct.Q4_1.gguf", "shakespeare.txt"


def filled(text, name, content, page):
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        sys.exit(f"{page} must hold the block {name} exactly once")
    head, rest = text.split(begin)
    return head + begin + content.rstrip("\n") + "\n" + end + rest.split(end)[1]


def fill(page, blocks, root=ROOT):
    """Fills the blocks of a page, by name. One whose content is None stays as it is, and is named."""
    text = (root / page).read_text()
    for name, content in blocks.items():
        if content is None:
            print(f"block {name} of {page} is as it was: no results", file=sys.stderr)
        else:
            text = filled(text, name, content, page)
    (root / page).write_text(text)


def shown(words):
    """A command as a reader would type it, broken before 80 columns and before an option."""
    line, lines = "$ sharpmax", []
    for part in words.replace(" --", "\n--").split("\n"):
        if len(line) + 1 + len(part) > 78:
            lines.append(line + " \\")
            line = "   "
        line += " " + part
    return "\n".join([*lines, line])
