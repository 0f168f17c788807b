"""Results as people see them: tables, pages, figures. What comes from files is text, never markup."""

import builtins
import html.parser
import json

import pytest
import sharpmax
from sharpmax._engine import Table

HOSTILE = "<script>alert(1)</script>&\"'\x1b[31m\u202e"


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append(dict(attrs))

    def handle_data(self, data):
        self.text += data


def test_cells_are_text_whatever_is_in_them():
    table = Table([HOSTILE, "n"], [[HOSTILE, 3], [None, 0.123456]], HOSTILE)
    parsed = Tags(table._repr_html_())
    assert set(parsed.tags) == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert "alert(1)" in parsed.text and "0.1235" in parsed.text
    cell = str(table).splitlines()[-2]
    assert "\x1b" not in cell and "\u202e" not in cell


def test_results_with_hostile_names_stay_text(trained, tiny):
    data = json.loads(json.dumps(trained.data).replace('"paper"', json.dumps(HOSTILE)))
    shown = type(trained)(data)._repr_html_()
    assert "<script>" not in shown.split("<iframe")[0]
    parsed = Tags(shown)
    assert "script" not in parsed.tags and parsed.text.count("alert(1)") >= 2


def test_the_page_is_what_the_command_writes_and_sits_in_a_frame_that_reaches_nothing(trained, tiny, tmp_path):
    audit = sharpmax.audit(tiny, tiny / "text.txt", lengths=[32, 64], report=tmp_path / "by-command.html")
    audit.report(tmp_path / "by-result.html")
    page = (tmp_path / "by-command.html").read_text()
    assert page == (tmp_path / "by-result.html").read_text() == audit.page() and page.startswith("<!doctype html>")
    for result in (audit, trained):
        parsed = Tags(result._repr_html_())
        frame = parsed.attributes[parsed.tags.index("iframe")]
        assert frame["sandbox"] == "allow-scripts" and frame["srcdoc"] == result.page()
        assert parsed.tags.count("iframe") == 1 and "script" not in parsed.tags


def test_the_page_draws_itself_in_its_frame(trained, tmp_path):
    from page_in_browser import empty_page, started_browser

    (tmp_path / "cell.html").write_text(
        "<!doctype html><meta charset=utf-8>" + trained._repr_html_().replace("<details>", "<details open>")
    )
    complaints = []
    with started_browser() as browser, empty_page(browser) as page:
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto((tmp_path / "cell.html").as_uri())
        page.locator("iframe").scroll_into_view_if_needed()
        frame = page.frame_locator("iframe")
        frame.locator("#accuracy svg").first.wait_for()
        assert "paper" in frame.locator("#main").inner_text()
    assert complaints == []


def test_figures(trained, tiny):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = trained.plot()
    assert [ax.get_title() for ax in axes] == ["paper"]
    line = next(line for line in axes[0].lines if line.get_label() == "softmax")
    assert dict(zip(line.get_xdata(), line.get_ydata())) == trained.accuracy["paper"]["softmax"]
    assert trained.plot(axes[0])[0] is axes[0]
    audit = sharpmax.audit(tiny, tiny / "text.txt", lengths=[32, 64])
    ax = audit.plot(32, "entropy")
    assert (ax.images[0].get_array() == audit.median("entropy")[..., 0]).all()
    with pytest.raises(ValueError, match="^there is no length 33; there is 32, 64$"):
        audit.plot(33)
    with pytest.raises(ValueError, match="^there is no statistic 'peaks'; there is .*peak"):
        audit.plot(statistic="peaks")
    matplotlib.pyplot.close("all")


def test_without_matplotlib_a_figure_names_the_extra(trained, monkeypatch):
    real = builtins.__import__

    def no_matplotlib(name, *arguments, **keywords):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", no_matplotlib)
    with pytest.raises(ImportError, match=r"^plots need matplotlib: pip install 'sharpmax\[plot\]'$"):
        trained.plot()


def test_a_result_in_one_line(trained, tiny):
    at_64 = {name: by_size[64] for name, by_size in trained.accuracy["paper"].items()}
    best = max(at_64, key=at_64.get)
    best = f"arm paper under {best}, {100 * at_64[best]:.1f} % right"
    assert repr(trained) == f"<RetrievalResult: Best at 64 items: {best}>"
    assert repr(sharpmax.load_model(tiny)).startswith(f"<Model {tiny}: llama, 2 layers of 4 heads")
    assert repr(sharpmax.bound(spread=2, n=4)).startswith("<BoundResult: Scores at most 2 apart")


def test_importing_the_package_imports_no_verb_and_the_verbs_import_no_guest():
    import subprocess
    import sys

    script = (
        "import sys, sharpmax\n"
        "print('sharpmax._engine' in sys.modules)\n"
        "sharpmax.bound(spread=1, n=4)\n"
        "print([m for m in ('torch', 'jax', 'transformers', 'matplotlib', 'IPython') if m in sys.modules])\n"
        "print({'bound', 'load_model', 'retrieve'} <= set(dir(sharpmax)), hasattr(sharpmax, 'nonsense'))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["False", "[]", "True False"], done.stderr
