"""`sharpmax audit --analysis` at the command line, over a tiny model made here: what it prints, what it refuses, and that
its Kolmogorov-Smirnov tests are SciPy's of the same numbers."""
import json

import pytest

from drawing import Drawing, assert_sound
from tiny_folder import TEXT, refused, sharpmax, write_tiny_folder

SECTIONS = ["distance_length", "distance_top", "critical_top", "separability", "gradient"]
SMALL = ["--lengths", "16,32,64,128", "--critical-most", "20", "--tops", "1,4,30"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_tiny_folder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def book(folder):
    path = folder / "book.txt"
    path.write_text(TEXT * 6)
    return path


def analysis(folder, book, *words):
    done = sharpmax("audit", folder, "--text", book, "--json", "-", *words)
    assert done.returncode == 0, done
    results = json.loads(done.stdout)
    assert results["schema"] == "sharpmax.audit/1" and results["complete"]
    return results["analysis"]


@pytest.fixture(scope="module")
def everything(folder, book):
    return analysis(folder, book, "--analysis", "all", *SMALL)


def test_all_five_are_printed_in_80_columns(folder, book):
    done = sharpmax("audit", folder, "--text", book, "--analysis", "all", *SMALL)
    assert done.returncode == 0, done
    text = done.stdout.decode()
    for words in ("What of paper B holds", "Distance against length", "Distance against the number of keys", "critical N",
                  "told apart", "weights move", "x: the heads' values"):
        assert words in text, words
    assert all(len(line) <= 80 for line in text.splitlines() if str(folder) not in line), text


def test_json_has_every_head_and_what_was_asked(everything):
    assert [name for name in SECTIONS if name in everything] == SECTIONS
    assert everything["length"] == 128 and everything["heads"] == 8 and everything["vectors"] == "values"
    assert {finding["name"] for finding in everything["findings"]} == {
        "linear-growth", "plateau", "critical-top", "separability", "gradient-inverse-t", "gradient-collapse"}
    assert all(len(everything[name]["heads"]) == 8 for name in SECTIONS)
    assert everything["distance_length"]["lengths"] == [16, 32, 64, 128]
    for reading in ("sum", "norm"):
        for point in everything["distance_top"]["points"][reading]:
            assert point["chosen"]["mean"] <= point["chosen_bound"]["mean"] * (1 + 1e-5)
    for point in everything["separability"]["points"]:
        assert point["bound"]["mean"] <= point["counted_bound"]["mean"] + 1e-5
        assert point["counted_bound"]["mean"] <= point["share"]["mean"] + 1e-5 <= 1 + 2e-5
    for point in everything["gradient"]["points"]:
        assert 0 < point["g"]["highest"] <= point["bound"] * (1 + 1e-5)


def test_one_analysis_measures_the_same_as_all(folder, book, everything):
    alone = analysis(folder, book, "--analysis", "distance-length", *SMALL)
    assert [name for name in SECTIONS if name in alone] == ["distance_length"]
    assert alone["distance_length"] == everything["distance_length"]


def test_threads_do_not_matter_and_seeds_do(folder, book):
    words = ["--analysis", "distance-top", *SMALL]
    one = analysis(folder, book, *words, "--threads", "1")
    assert analysis(folder, book, *words, "--threads", "2") == one
    other = analysis(folder, book, *words, "--seed", "2")
    for here, there in zip(one["distance_top"]["heads"], other["distance_top"]["heads"]):
        assert here["sum"]["chosen"] == there["sum"]["chosen"] and here["sum"]["drawn"] != there["sum"]["drawn"]


def test_hidden_states_are_other_vectors(folder, book):
    words = ["--analysis", "distance-top", "--lengths", "64", "--tops", "4"]
    values, hidden = (analysis(folder, book, *words, "--vectors", which) for which in ("values", "hidden"))
    assert hidden["vectors"] == "hidden"
    assert values["distance_top"]["heads"] != hidden["distance_top"]["heads"]


def test_the_kolmogorov_smirnov_tests_are_scipys(everything):
    stats = pytest.importorskip("scipy.stats")
    critical = everything["critical_top"]
    for reading in ("sum", "norm"):
        for against, other in (("against_drawn", "drawn"), ("against_drawn_bound", "drawn_bound")):
            whole = critical[reading][against][-1]
            assert whole["length"] == 128 and whole["tops"] == critical["tops"]
            passed = []
            for i, top in enumerate(whole["tops"]):
                wanted = stats.ks_2samp([head[reading]["chosen"][i] for head in critical["heads"]],
                                        [head[reading][other][i] for head in critical["heads"]], method="exact")
                assert whole["statistic"][i] == pytest.approx(wanted.statistic, abs=1e-6)
                assert whole["p"][i] == pytest.approx(wanted.pvalue, rel=1e-5)
                passed += [top] if wanted.pvalue >= critical["level"] else []
            assert whole["critical"] == (passed[0] if passed else None)
            assert whole["subsets"] is None  # eight heads are fewer than 144


def test_a_text_that_is_too_short_is_used_as_far_as_it_goes(folder, tmp_path):
    path = tmp_path / "short.txt"
    path.write_text(TEXT[:300])
    done = sharpmax("audit", folder, "--text", path, "--analysis", "all", "--lengths", "16,4096", "--json", "-")
    assert done.returncode == 0, done
    results = json.loads(done.stdout)
    tokens = results["settings"]["tokens"]
    assert results["analysis"]["length"] == tokens and results["analysis"]["distance_length"]["lengths"] == [16, tokens]
    assert f"the text has {tokens} tokens: L is {tokens}, not 4096" in done.stderr.decode()
    assert results["analysis"]["notes"][0] in done.stderr.decode()


def test_the_table_of_normalizers_is_heeded(folder, book):
    words = ["--analysis", "distance-top,gradient", "--lengths", "48", "--tops", "4"]
    soft, sharp = analysis(folder, book, *words), analysis(folder, book, *words, "--normalizer", "hard")
    assert soft["distance_top"]["heads"] != sharp["distance_top"]["heads"]
    assert sharp["gradient"]["points"][0]["bound"] is None  # it is softmax's


def test_what_makes_no_sense_is_refused(folder, book, tmp_path):
    words = ("audit", folder, "--text", book)
    for wrong in ("distance", "all,x", "''"):
        sentence = refused(2, *words, "--analysis", wrong)
        assert "unknown analysis" in sentence and "distance-length, distance-top, critical-top" in sentence
    refused(2, *words, "--analysis", "all", "--vectors", "keys")
    refused(2, *words, "--analysis", "all", "--distance", "max")
    for name, values in (("--chunks", ("0", "x")), ("--draws", ("0", "-1")), ("--level", ("0", "1", "nan")),
                         ("--tops", ("0", "1,x")), ("--critical-most", ("0",)), ("--critical-lengths", ("1",))):
        for value in values:
            refused(2, *words, "--analysis", "all", name, value)
    for other in (("--excerpts", "2"), ("--head", "0.0"), ("--all",), ("--resume",), ("--block", "16"), ("--threshold", "0.2")):
        assert "--analysis" in refused(2, *words, "--analysis", "all", *other)
    assert "--analysis" in refused(2, *words, "--vectors", "hidden")
    assert "nowhere" in refused(3, *words, "--analysis", "gradient", "--json", tmp_path / "nowhere" / "a.json")
    short = tmp_path / "empty.txt"
    short.write_text("")
    assert "0 tokens" in refused(2, "audit", folder, "--text", short, "--analysis", "all")
    assert "linear" in refused(2, *words, "--analysis", "all", "--normalizer", "linear")


def test_figures_are_drawn_of_what_was_measured(folder, book, tmp_path):
    done = sharpmax("audit", folder, "--text", book, "--analysis", "all", *SMALL, "--json", tmp_path / "a.json", "--figures",
                    tmp_path / "figures")
    assert done.returncode == 0, done
    names = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert names == {"distance-length", "distance-top", "critical-top", "separability", "gradient"}
    drawing = Drawing(tmp_path / "figures/distance-length.svg", up_log=True)
    points = json.loads((tmp_path / "a.json").read_text())["analysis"]["distance_length"]["points"]["sum"]
    assert [v for _, v in drawing.curve("most weight").points] == pytest.approx([p["chosen"]["median"] for p in points], rel=1e-3)
    for name in names:
        assert_sound(tmp_path / f"figures/{name}.svg")
