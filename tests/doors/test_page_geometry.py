"""The law of all views, in the page: dots of charts and boxes of bars stand where their numbers are on the axis, and the labels of
the axis stand where they say. The numbers are those of the view that the page carries."""
import math

import pytest
from page_in_browser import browser, held, opened  # noqa: F401
from synthetic_pages import PAGES, made  # noqa: F401

NEAR = 0.03  # pixels: two numbers of two decimals are compared
# Of every chart that can be seen: dots, boxes and texts.
DRAWN = """(all) => all.map((svg) => ({
  dots: [...svg.querySelectorAll("circle")].map((c) => [Number(c.getAttribute("cx")), Number(c.getAttribute("cy"))]),
  boxes: [...svg.querySelectorAll("rect")].map((r) => [Number(r.getAttribute("x")), Number(r.getAttribute("width"))]),
  texts: [...svg.querySelectorAll("text")].map((t) => [t.textContent, Number(t.getAttribute("x")), Number(t.getAttribute("y")) - 0.35 * Number(t.getAttribute("font-size"))]),
}))"""


def pictures(items):
    """Charts and bars that a section shows at first, in order."""
    for item in items:
        if item["type"] == "choice":
            yield from pictures(item["options"][item["shown"]]["items"])
        elif item["type"] in ("chart", "bars"):
            yield item


def share(axis, value):
    if axis["low"] == axis["high"]:
        return 0.5
    if axis["kind"] == "log":
        return math.log(value / axis["low"]) / math.log(axis["high"] / axis["low"])
    return min(1.0, max(0.0, (value - axis["low"]) / (axis["high"] - axis["low"])))


def assert_on_one_line(pairs):
    """Pairs of a share of the axis and a place in pixels: one scale for all."""
    (low, start), (high, end) = min(pairs), max(pairs)
    slope = (end - start) / (high - low) if high > low else 0.0
    for at, place in pairs:
        assert place == pytest.approx(start + slope * (at - low), abs=NEAR)


def labels(axis, texts, along):
    """The labels that are drawn, each with its share and its place."""
    found = [(share(axis, at), place[along]) for at, text in axis["ticks"] for place in texts if place[0] == text]
    assert len({at for at, _ in found}) > (axis["low"] != axis["high"]), (axis, texts)
    return found


def shown_curves(chart):
    first = {curve["name"] for curve in chart["curves"] if curve.get("first", True) and "of" not in curve}
    return [curve for curve in chart["curves"] if curve.get("of", curve["name"]) in first and curve["marker"] != "none"]


def assert_chart(chart, drawn):
    has = lambda v: v is not None and (chart["up"]["kind"] != "log" or v > 0)  # noqa: E731
    points = [point for curve in shown_curves(chart) for point in curve["points"] if has(point[1])]
    assert len(drawn["dots"]) >= len(points)  # beyond them: samples in a legend
    dots = drawn["dots"][: len(points)]
    ticks = [text for text in drawn["texts"] if text[0] in {text for _, text in chart["across"]["ticks"]}]
    lowest = max(y for _, _, y in ticks)
    assert_on_one_line([(share(chart["across"], p[0]), x) for p, (x, _) in zip(points, dots, strict=True)]
                       + labels(chart["across"], [t for t in ticks if t[2] == lowest], 1))
    left = min(x for text, x, _ in drawn["texts"] if text in {text for _, text in chart["up"]["ticks"]})
    assert_on_one_line([(share(chart["up"], p[1]), y) for p, (_, y) in zip(points, dots, strict=True)]
                       + labels(chart["up"], [t for t in drawn["texts"] if t[1] == left], 2))


def assert_bars(bars, drawn):
    pieces = [(bar, k) for bar in bars["bars"] for k in range(len(bar["pieces"]))]
    boxes = drawn["boxes"][-len(pieces):]  # those before are samples of the legend
    ends = []
    for (bar, k), (x, width) in zip(pieces, boxes, strict=True):
        start = sum(piece[0] for piece in bar["pieces"][:k])
        stop = start + bar["pieces"][k][0]
        if bars["across"]["kind"] == "log":
            start, stop = bars["across"]["low"], bar["pieces"][k][0]
        ends += [(share(bars["across"], min(start, stop)), x), (share(bars["across"], max(start, stop)), x + width)]
    ticks = [text for text in drawn["texts"] if text[0] in {text for _, text in bars["across"]["ticks"]}]
    lowest = max(y for _, _, y in ticks)
    assert_on_one_line(ends + labels(bars["across"], [t for t in ticks if t[2] == lowest], 1))


@pytest.mark.parametrize("kind", sorted(set(PAGES) - {"combined", "runs", "answers", "model", "inspect"}))
def test_charts_and_bars_of_the_page_stand_where_their_numbers_are(browser, made, kind):  # noqa: F811
    results, path = made(kind)
    view = held(path)["compared"] if isinstance(results, list) else held(path)["results"][0]
    compared = 0
    with opened(browser, path) as page:
        for section in view["sections"]:
            wanted = list(pictures(section["items"]))
            if not wanted or any(item["type"] == "heads" for item in section["items"]):
                continue
            drawn = page.eval_on_selector_all(f"#{section['id']} .chart svg", DRAWN)
            assert len(drawn) == len(wanted)
            for item, one in zip(wanted, drawn, strict=True):
                (assert_chart if item["type"] == "chart" else assert_bars)(item, one)
                compared += 1
    assert compared > 0
