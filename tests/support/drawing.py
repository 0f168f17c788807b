"""A figure read back: numbers from its geometry through its axes, texts with the room they take."""
import dataclasses
import math
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {"svg", "title", "desc", "style", "g", "rect", "line", "polyline", "polygon", "circle", "path", "text", "tspan"}


@dataclasses.dataclass
class Curve:
    name: str
    points: list  # (across, up), as values
    places: list  # in pixels
    band: list
    dash: str


class Scale:
    """From pixels to values, by the ticks: logarithmic where they say so."""

    def __init__(self, ticks, logarithmic):
        self.logarithmic = logarithmic
        (self.low, self.from_), (self.high, self.to) = min(ticks), max(ticks)

    def value(self, pixel):
        share = (pixel - self.from_) / (self.to - self.from_) if self.to != self.from_ else 0
        if self.logarithmic:
            return math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        return self.low + share * (self.high - self.low)

    def pixel(self, value):
        place = math.log if self.logarithmic else float
        span = place(self.high) - place(self.low)
        return self.from_ + (place(value) - place(self.low)) / span * (self.to - self.from_) if span else self.from_


def pairs(text):
    return [tuple(map(float, pair.split(","))) for pair in text.split()]


class Drawing:
    def __init__(self, path, across_log=True, up_log=False):
        self.text = path.read_text(encoding="utf-8")
        self.root = ElementTree.fromstring(self.text)
        self.width, self.height = map(float, self.root.get("viewBox").split()[2:])
        across = [(float(line.get("data-across")), float(line.get("x1"))) for line in self.all("line") if line.get("data-across")]
        up = [(float(line.get("data-up")), float(line.get("y1"))) for line in self.all("line") if line.get("data-up")]
        self.across = Scale(across, across_log) if across else None
        self.up = Scale(up, up_log) if up else None

    def all(self, tag):
        return list(self.root.iter(SVG + tag))

    def title(self):
        return self.root.find(SVG + "title").text

    def described(self):
        return self.root.find(SVG + "desc").text

    def texts(self):
        return ["".join(text.itertext()) for text in self.all("text")]

    def curves(self):
        found = []
        for group in self.all("g"):
            if group.get("data-curve") is None:
                continue
            line = group.find(SVG + "polyline")
            band = group.find(SVG + "polygon")
            places = pairs(line.get("points"))
            found.append(Curve(group.get("data-curve"), [(self.across.value(x), self.up.value(y)) for x, y in places], places,
                               pairs(band.get("points")) if band is not None else [], line.get("stroke-dasharray") or ""))
        return found

    def curve(self, name):
        [found] = [curve for curve in self.curves() if curve.name == name]
        return found

    def references(self):
        return [pairs(g.find(SVG + "polyline").get("points")) for g in self.all("g") if g.get("data-reference") is not None]

    def bars(self):
        """name -> the lengths of its pieces, as values."""
        return {group.get("data-bar"): [self.across.value(float(r.get("x")) + float(r.get("width"))) -
                                        self.across.value(float(r.get("x"))) for r in group.iter(SVG + "rect")]
                for group in self.all("g") if group.get("data-bar") is not None}

    def cells(self):
        """head -> (value, colour) of a grid."""
        return {r.get("data-head"): (r.get("data-value"), r.get("fill")) for r in self.all("rect") if r.get("data-head")}


def assert_sound(path):
    """Well-formed and inert: only shapes and text, nothing fetched or run, every place within the drawing."""
    drawing = Drawing(path)
    for element in drawing.root.iter():
        assert element.tag.removeprefix(SVG) in ALLOWED, element.tag
        for name, value in element.attrib.items():
            assert "href" not in name and not name.startswith("on") and "url(" not in value, (name, value)
    style = drawing.root.find(SVG + "style").text
    assert "url" not in style and "@import" not in style and "prefers-color-scheme:dark" in style
    assert drawing.root.get("role") == "img" and drawing.title() and drawing.described()
    assert drawing.width == 860 and 100 < drawing.height < 4000
    for x, y in every_place(drawing):
        assert math.isfinite(x) and math.isfinite(y)
        assert 0 <= x <= drawing.width and 0 <= y <= drawing.height, path
    for curve in drawing.curves():
        assert len(curve.places) == len({x for x, _ in curve.places})


def every_place(drawing):
    scaled = {element for group in drawing.all("g") if group.get("transform") for element in group.iter()}
    for element in drawing.root.iter():
        if element in scaled:
            continue
        for text in (element.get("points"),):
            yield from pairs(text or "")
        for x, y in (("x", "y"), ("x1", "y1"), ("x2", "y2"), ("cx", "cy")):
            if element.get(x) is not None:
                yield float(element.get(x)), float(element.get(y))
        if element.get("width") and element.tag != SVG + "svg":
            yield float(element.get("x")) + float(element.get("width")), float(element.get("y")) + float(element.get("height"))
