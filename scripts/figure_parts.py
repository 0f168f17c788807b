"""What the figures of the docs are drawn with: SVG text, nothing but the standard library.

A figure carries its own background, so that it is readable on any page, and follows the reader's preference for dark.
"""
import math

# Okabe and Ito's hues, which colour-blind readers can tell apart: (on white, on dark). As src/report/page/page.css.
COLOURS = {
    "vermillion": ("#c24e00", "#ff8b4a"),
    "green": ("#00805c", "#3ccb9c"),
    "purple": ("#a8467f", "#ee9bcb"),
    "sky": ("#2484bb", "#69c3f5"),
    "amber": ("#a87200", "#efb437"),
    "blue": ("#1f4fa8", "#8aabff"),
    "brown": ("#7d5a3c", "#cfa986"),
    "grey": ("#50585f", "#bcc5cc"),
}
OWN_COLOUR = {"softmax": "vermillion", "entropy_target": "green", "adaptive": "purple", "peak_target": "sky",
              "softpick": "amber", "hard": "grey"}
SHADES = {"page": ("#ffffff", "#14171a"), "ink": ("#1c2024", "#e9ecee"), "quiet": ("#5b646d", "#a3adb5"),
          "line": ("#dfe3e6", "#343b41")}
LINE_HEIGHT = 17


def escaped(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def short_count(n):
    return f"{n >> 20}M" if n >= 1 << 20 else f"{n >> 10}K" if n >= 1 << 10 else str(n)


def family(normalizer):
    return normalizer.split(":")[0]


def colours_of(normalizers):
    """The same colour for the same member in every figure; others take what is left, in order."""
    left = [c for c in COLOURS if c not in {OWN_COLOUR.get(family(n)) for n in normalizers}] or list(COLOURS)
    others = [n for n in normalizers if family(n) not in OWN_COLOUR]
    return {n: OWN_COLOUR.get(family(n)) or left[others.index(n) % len(left)] for n in normalizers}


def style():
    def rules(shade):
        lines = [f".{name}{{fill:{both[shade]}}}" for name, both in SHADES.items()]
        lines += [f".stroke-{name}{{stroke:{both[shade]};fill:none}}" for name, both in {**COLOURS, **SHADES}.items()]
        lines += [f".fill-{name}{{fill:{both[shade]}}}" for name, both in COLOURS.items()]
        return "".join(lines)
    return f"<style>{rules(0)}@media (prefers-color-scheme:dark){{{rules(1)}}}</style>"


def label_room(labels):
    """Pixels at the right of a plot for the longest of its end labels, in any usual font of 13 pixels."""
    return 34 + 7.4 * max(map(len, labels))


class Figure:
    def __init__(self, width, height, title, described):
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'font-family="system-ui, sans-serif" font-size="13">',
            f"<title>{escaped(described)}</title>",
            style(),
            f'<rect class="page" width="{width}" height="{height}" rx="8"/>',
        ]
        self.text(24, 28, title, "ink", size=16, weight=600)

    def add(self, line):
        self.lines.append(line)

    def text(self, x, y, text, shade="quiet", anchor="start", size=None, weight=None):
        extra = (f' font-size="{size}"' if size else "") + (f' font-weight="{weight}"' if weight else "")
        extra += f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" class="{shade}"{extra}>{escaped(text)}</text>')

    def written(self):
        return "\n".join([*self.lines, "</svg>"]) + "\n"


class Plot:
    """Curves over sizes on a logarithmic axis, inside a Figure."""

    def __init__(self, figure, box, sizes, top):
        self.figure, self.sizes, self.top = figure, sizes, top
        self.left, self.upper, self.right, self.lower = box
        self.low, self.high = math.log2(sizes[0]), math.log2(sizes[-1])
        self.ends = []  # (height, value, label, colour)

    def x(self, n):
        if self.high == self.low:
            return (self.left + self.right) / 2
        return self.left + (math.log2(n) - self.low) / (self.high - self.low) * (self.right - self.left)

    def y(self, value):
        return self.lower - value / self.top * (self.lower - self.upper)

    def axes(self, ticks, size_label):
        for value, text in ticks:
            self.figure.add(f'<line x1="{self.left}" x2="{self.right}" y1="{self.y(value):.1f}" y2="{self.y(value):.1f}" '
                            'class="stroke-line"/>')
            self.figure.text(self.left - 10, self.y(value) + 4, text, anchor="end")
        after = math.inf
        for n in reversed(self.sizes):
            if after - self.x(n) >= 34:
                self.figure.text(self.x(n), self.lower + 22, short_count(n), anchor="middle")
                after = self.x(n)
        self.figure.text((self.left + self.right) / 2, self.lower + 44, size_label, anchor="middle")

    def band(self, points, colour):
        """points: (n, low, high)"""
        around = [(n, low) for n, low, _ in points] + [(n, high) for n, _, high in reversed(points)]
        path = " ".join(f"{self.x(n):.1f},{self.y(min(self.top, max(0, v))):.1f}" for n, v in around)
        self.figure.add(f'<polygon points="{path}" class="fill-{colour}" opacity="0.16"/>')

    def curve(self, points, colour, label=None, dash="", value=""):
        """points: (n, value), in order of n; the label goes to the end of a curve that reaches the largest size."""
        path = " ".join(f"{self.x(n):.1f},{self.y(v):.1f}" for n, v in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.figure.add(f'<polyline points="{path}" class="stroke-{colour}" stroke-width="2.5" '
                        f'stroke-linejoin="round"{dashed}/>')
        for n, v in points if not dash else []:
            self.figure.add(f'<circle cx="{self.x(n):.1f}" cy="{self.y(v):.1f}" r="3" class="fill-{colour}"/>')
        if label and points[-1][0] == self.sizes[-1]:
            self.ends.append((self.y(points[-1][1]), label, value, colour))

    def reference(self, value, label, rising=False):
        """A thin dotted line over all sizes, value(n); its name above it, left of a rising one."""
        path = " ".join(f"{self.x(n):.1f},{self.y(value(n)):.1f}" for n in self.sizes)
        self.figure.add(f'<polyline points="{path}" class="stroke-quiet" stroke-dasharray="1 3"/>')
        n = self.sizes[int(0.7 * len(self.sizes)) if rising else 0]
        shift, anchor = (-8, "end") if rising else (2, "start")
        self.figure.text(self.x(n) + shift, self.y(value(n)) - 6, label, anchor=anchor, size=12)

    def end_labels(self):
        """The lowest first, pushed up where curves meet."""
        place = math.inf
        for height, label, value, colour in sorted(self.ends, reverse=True):
            place = min(place - LINE_HEIGHT, height + 4)
            shown = f'<tspan font-weight="600">{escaped(value)}</tspan> {escaped(label)}' if value else escaped(label)
            self.figure.add(f'<text x="{self.right + 10}" y="{place:.1f}" class="fill-{colour}">{shown}</text>')
