"""Plots and pages of several results are made of the same charts and tables as the report."""

import pytest
import sharpmax

NORMALIZERS = ["softmax", "entmax15", "hard"]
SIZES = [16, 1024, 65536]


@pytest.fixture(scope="module")
def bounds():
    return sharpmax.bound(spread=5.69, n=SIZES, normalizer=NORMALIZERS, peak=0.5)


def test_a_plot_has_the_numbers_of_the_results(bounds):
    pytest.importorskip("matplotlib").use("Agg")
    axes = bounds.plot()
    drawn = {line.get_label(): line for line in axes.get_lines()}
    for name in NORMALIZERS:
        assert list(drawn[name].get_xdata()) == SIZES
        assert list(drawn[name].get_ydata()) == [bounds.highest[name][n] for n in SIZES]
    assert axes.get_xscale() == "log" and axes.get_ylim() == (0, 1)


def test_a_chart_is_chosen_by_its_id_and_a_wrong_one_is_named(bounds):
    pytest.importorskip("matplotlib").use("Agg")
    with pytest.raises(ValueError, match="no chart 'nonsense'; there is peak-best"):
        bounds.plot("nonsense")


def test_several_results_make_one_page(bounds, tmp_path):
    other = sharpmax.bound(spread=2.0, n=SIZES, normalizer=NORMALIZERS, peak=0.5)
    saved = tmp_path / "bounds.json"
    bounds.save(saved)
    page = tmp_path / "both.html"
    sharpmax.report(saved, page)  # one is as good as a list of one
    sharpmax.report([saved, other], page)
    assert page.read_text().lower().startswith("<!doctype html")
    with pytest.raises(ValueError, match="results is empty"):
        sharpmax.report([], page)
    with pytest.raises(ValueError):
        sharpmax.report([saved, other], saved)  # an input is never replaced
    assert sharpmax.load_result(saved).spread == 5.69
