"""Blocks of a page that a script fills: what stands between <!-- NAME:begin --> and <!-- NAME:end -->."""
import sys


def filled(text, name, content, page):
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        sys.exit(f"{page} must hold the block {name} exactly once")
    head, rest = text.split(begin)
    return head + begin + content.rstrip("\n") + "\n" + end + rest.split(end)[1]
