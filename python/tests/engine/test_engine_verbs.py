"""A verb finds what its command finds, and prints what it prints."""

import json
import os
import shlex
import subprocess

import numpy as np
import pytest
import sharpmax

BINARY = os.environ["SHARPMAX_BINARY"]
CHANGING = ("seconds", "created", "command")  # from run to run


def by_command(tmp_path, *words):
    """(results, what was printed) of the binary."""
    file = tmp_path / "by-command.json"
    file.unlink(missing_ok=True)  # of another kind, perhaps
    done = subprocess.run([BINARY, *map(str, words), "--json", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(file.read_text()), done.stdout


def steady(data):
    return {name: value for name, value in data.items() if name not in CHANGING}


def same(result, tmp_path, *words):
    data, printed = by_command(tmp_path, *words)
    assert steady(result.data) == steady(data)
    return printed


def test_bounds_of_a_spread(tmp_path):
    rules = ["softmax", sharpmax.Normalizer("top_k:k=4")]
    found = sharpmax.bound(spread=5.69, n=[16, 1e6], normalizer=rules, peak=0.5, level=-2)
    words = "bound --spread 5.69 --peak 0.5 --level=-2 --n 16,1000000 --normalizer 'softmax;top_k:k=4'"
    assert str(found) == same(found, tmp_path, *shlex.split(words))
    assert found.command == f"sharpmax {words}" and found.sizes == [16, 1_000_000]
    assert found.highest["softmax"][16] == pytest.approx(1 / (1 + 15 * np.exp(-5.69)))
    assert found.lowest["softmax"][16] == 1 / 16 and found.lost_from == {"softmax": 297.0, "top_k:k=4": None}


def test_bounds_of_a_model(tiny, tmp_path):
    for model in (tiny, str(tiny), sharpmax.load_model(tiny)):
        found = sharpmax.bound(model, peak=0.3)
        assert str(found) == same(found, tmp_path, "bound", tiny, "--peak", 0.3)
    assert [(head["layer"], head["head"]) for head in found.heads[:5]] == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]


def test_retrieval_its_heads_and_a_fit(trained, tmp_path):
    words = [
        "retrieve",
        "--arms",
        "paper",
        "--steps",
        60,
        "--sizes",
        "16,64",
        "--sets-scale",
        0.02,
        "--directory",
        tmp_path / "run",
    ]
    words += ["--normalizers", "softmax;hard"]
    assert str(trained) == same(trained, tmp_path, *words)
    assert trained.accuracy["paper"]["softmax"] == {
        row["n"]: row["accuracy"] for row in trained.data["summary"] if row["normalizer"] == "softmax"
    }
    with pytest.raises(ValueError, match="there is no 'sharpness' in the summary"):
        trained.summary("sharpness")
    head = trained.head_files["paper", 0]
    again = sharpmax.retrieve(head=head, sizes=64, normalizers="hard", sets_scale=0.02)
    assert again.head_files == {} and again.accuracy["paper"]["hard"][64] == trained.accuracy["paper"]["hard"][64]
    fitted = sharpmax.fit(head, sizes=[64, 128], test_sizes=[16], sets_scale=0.1, degree=1)
    words = ["fit", head, "--sizes", "64,128", "--test-sizes", "16", "--sets-scale", 0.1, "--degree", 1]
    assert str(fitted) == same(fitted, tmp_path, *words)
    assert sharpmax.Normalizer(fitted.normalizer).name == "adaptive" and fitted.accuracy["softmax"][16] > 0


def test_training_options_reach_the_training(tmp_path):
    run = sharpmax.retrieve(
        arms=["paper"], steps=3, scale_scores=False, train_normalizer="ssmax", precision="float64", seed_list=[4, 7],
        sizes=16, normalizers="softmax", sets_scale=0.01, heat_map_sets=2, directory=tmp_path / "run",
    )  # fmt: skip
    training = run.data["arms"][0]["training"]
    assert (training["steps"], training["scale_scores"], training["precision"]) == (3, False, "float64")
    assert training["normalizer"] == "ssmax" and [head["seed"] for head in run.data["heads"]] == [4, 7]
    assert run.data["settings"]["heat_map_sets"] == 2 and run.normalizers == ["softmax", "ssmax"]


def test_a_training_of_small_transformers(tmp_path):
    keywords = dict(
        keys=80, values=4, width=16, head_width=8, steps=20, batch=4, sizes=[8, 64], answers=64, arms="ssmax"
    )
    run = sharpmax.train("lookup", directory=tmp_path / "run", **keywords)
    words = "train lookup --keys 80 --values 4 --arms ssmax --width 16 --head-width 8 --steps 20 --batch 4 --sizes 8,64"
    data, printed = by_command(tmp_path, *shlex.split(words), "--answers", 64, "--directory", tmp_path / "other")
    changing = (*CHANGING, "training_seconds", "testing_seconds")
    assert {k: v for k, v in run.data.items() if k not in changing} == {
        k: v for k, v in data.items() if k not in changing
    }
    assert str(run) == printed.replace(str(tmp_path / "other"), str(tmp_path / "run"))
    assert run.arms == ["ssmax"] and run.sizes == [8, 64] and run.steps == {"ssmax": 20} and run.task == "lookup"
    assert set(run.accuracy["ssmax"]) == {"own", *data["settings"]["test"]["normalizers"]}
    assert os.path.exists(run.model_files["ssmax", 0]) and "20 steps" in run.headline()
    assert run.table().columns[:3] == ["arm", "normalizer", "steps"]
    with pytest.raises(ValueError, match="there is no 'sharpness' in the summary"):
        run.summary("sharpness")
    with pytest.raises(ValueError, match="there is no task 'lokup'"):
        sharpmax.train("lokup")


def test_an_audit_by_length(tiny, tmp_path):
    found = sharpmax.audit(tiny, tiny / "text.txt", lengths=[32, 64], threshold=0.2)
    words = ["audit", tiny, "--text", tiny / "text.txt", "--lengths", "32,64", "--threshold", 0.2]
    assert str(found) == same(found, tmp_path, *words)
    assert found.kinds.shape == (2, 4) and set(found.peaks) == {32, 64}
    head = next(head for head in found.heads if (head["layer"], head["head"]) == (1, 2))
    assert found.peaks[64][1, 2] == head["peak"]["median"][1] and found.kinds[1, 2] == head["kind"]
    one = sharpmax.audit(tiny, tiny / "text.txt", lengths=[32, 64], head="1.2")
    assert str(one).startswith("Layer 1, head 2: ")


def test_an_audit_of_a_text_that_is_no_file(tiny):
    text = (tiny / "text.txt").read_text()
    found = sharpmax.audit(tiny, text_string=text, lengths=[32])
    by_file = sharpmax.audit(tiny, tiny / "text.txt", lengths=[32])
    assert found.data["attention"] == by_file.data["attention"] and found.data["settings"]["text"] == "-"
    with pytest.raises(ValueError, match="^text and text_string were both given; give one of them$"):
        sharpmax.audit(tiny, tiny / "text.txt", text_string=text)


def test_the_analyses_and_the_probes_of_an_audit(tiny, tmp_path):
    found = sharpmax.audit(tiny, tiny / "text.txt", lengths=[32, 64], analysis=["gradient", "separability"], draws=2)
    words = [
        "audit",
        tiny,
        "--text",
        tiny / "text.txt",
        "--lengths",
        "32,64",
        "--analysis",
        "gradient,separability",
        "--draws",
        2,
    ]
    same(found, tmp_path, *words)
    assert list(found.analyses) == ["separability", "gradient"] and found.findings and found.notes
    probed = sharpmax.audit(tiny, probe="max", lengths=[128], questions=3)
    assert str(probed) == same(probed, tmp_path, "audit", tiny, "--probe", "max", "--lengths", 128, "--questions", 3)
    assert list(probed.accuracy) == [128] and probed.weight("asking")[128].shape == (2, 4)


def test_perplexity_under_a_table_of_normalizers(tiny, tmp_path):
    table = {
        "schema": "sharpmax.normalizers/1",
        "default": "softmax",
        "heads": [{"layer": 1, "head": 3, "normalizer": "hard"}],
    }
    file = tmp_path / "table.json"
    file.write_text(json.dumps(table))
    words = ["perplexity", tiny, "--text", tiny / "text.txt", "--tokens", 100, "--length", 50, "--normalizers", file]
    for normalizers in (table, file):
        found = sharpmax.perplexity(tiny, tiny / "text.txt", tokens=100, length=50, normalizers=normalizers)
        assert str(found) == same(found, tmp_path, *words)
    assert [len(chunk) for chunk in found.losses] == [49, 49]
    assert found.loss == pytest.approx(np.concatenate(found.losses).mean()) and found.perplexity == np.exp(found.loss)


def test_perplexity_of_a_part_of_a_text(tiny, tmp_path):
    whole = sharpmax.perplexity(tiny, tiny / "text.txt", length=25)
    part = sharpmax.perplexity(tiny, tiny / "text.txt", length=25, skip=50, tokens=50)
    assert part.data["chunks"] == whole.data["chunks"][2:4]
    same(part, tmp_path, "perplexity", tiny, "--text", tiny / "text.txt", "--length", 25, "--skip", 50, "--tokens", 50)


def test_the_page_that_a_verb_writes_is_that_of_its_result(tiny, tmp_path):
    def written(verb, *operands, **keywords):
        found = verb(*operands, **keywords, report=tmp_path / "page.html", figures=tmp_path / verb.__name__)
        assert (tmp_path / "page.html").read_text() == found.page()
        assert list((tmp_path / verb.__name__).glob("*.svg"))
        found.report(tmp_path / "again.html")
        assert (tmp_path / "again.html").read_bytes() == (tmp_path / "page.html").read_bytes()

    written(sharpmax.bound, spread=5.0, n=[16, 64], normalizer=["softmax", "hard"])
    written(sharpmax.bound, tiny)
    written(sharpmax.perplexity, tiny, tiny / "text.txt", tokens=200, length=200)


def test_fixes_and_the_table_of_the_best(tiny, tmp_path):
    common = ["--tokens", 64, "--length", 64, "--lengths", 80, "--questions", 2, "--no-search", "--for", "text"]
    rules = ["softmax:beta=1.2", "softmax:beta=0.9@layers=0-0"]
    words = ["fix", tiny, "--text", tiny / "text.txt", *common, "--rule", rules[0], "--rule", rules[1]]
    found = sharpmax.fix(
        tiny, tiny / "text.txt", tokens=64, length=64, lengths=[80], questions=2, no_search=True, for_="text",
        rule=rules, table=tmp_path / "table.json",
    )  # fmt: skip
    same(found, tmp_path, *words)
    assert [trial["rule"] for trial in found.trials] == ["nothing", *rules]
    assert found.normalizers == json.loads((tmp_path / "table.json").read_text())
    assert found.headline() == found.data["answer"]["verdict"]


def test_what_is_in_a_model_and_that_a_weight_is_no_number(tiny, tmp_path):
    found = sharpmax.inspect(tiny)
    done = subprocess.run([BINARY, "inspect", tiny, "--json", "-"], capture_output=True)
    assert found.data == json.loads(done.stdout) and found.runs_here and found.shape["layers"] == 2
    assert str(found) == subprocess.run([BINARY, "inspect", tiny], capture_output=True, text=True).stdout
    with pytest.raises(ValueError, match=r"inspect\(model, check=True\) does$"):
        found.bad_weights  # noqa: B018
    assert sharpmax.inspect(tiny, check=True).ok
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in tiny.iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    weights = bytearray((broken / "model.safetensors").read_bytes())
    weights[-4:] = np.float32(np.nan).tobytes()
    (broken / "model.safetensors").write_bytes(weights)
    checked = sharpmax.inspect(broken, check=True)
    assert not checked.ok and len(checked.bad_weights) == 1


def test_a_text_is_split_into_tokens_and_comes_back(tiny, tmp_path):
    model = sharpmax.load_model(tiny)
    found = sharpmax.tokenize(tiny, "It was the worst of times")
    same(found, tmp_path, "tokenize", tiny, "--text-string", "It was the worst of times")
    assert found.tokens == model.tokenize("It was the worst of times") == sharpmax.tokenize(model, found.text).tokens
    assert "".join(found.pieces) == found.text and found.comes_back
    assert sharpmax.tokenize(tiny, decode=found.tokens).text == found.text
    with pytest.raises(ValueError, match=r"^decode: there is no token 100000; the vocabulary has \d+, from 0 to \d+$"):
        sharpmax.tokenize(tiny, decode=[100000])
    with pytest.raises(ValueError, match=r"^system goes with chat=True$"):
        sharpmax.tokenize(tiny, "a", system="b")


def test_several_prompts_have_an_answer_each(tiny):
    found = sharpmax.generate(tiny, ["It was", "the best"], tokens=8)
    assert found.texts == [sharpmax.generate(tiny, prompt, tokens=8).text for prompt in ("It was", "the best")]
    assert str(found) == "\n".join(found.texts)


def test_a_loaded_model_takes_its_positions_along(tiny):
    stretched = sharpmax.load_model(tiny, rope_scaling="ntk:2", context=512)
    found = sharpmax.perplexity(stretched, tiny / "text.txt", tokens=64)
    assert found.data["settings"]["model"]["rope_scaling"] == "ntk:2"
    other = sharpmax.perplexity(stretched, tiny / "text.txt", tokens=64, rope_scaling="linear:2")
    assert other.data["settings"]["model"]["rope_scaling"] == "linear:2"
    assert found.loss != other.loss


def test_runs_that_save_go_on_where_they_were(tiny, tmp_path):
    file = tmp_path / "saved.json"
    first = sharpmax.perplexity(tiny, tiny / "text.txt", tokens=100, length=25, json=file)
    saved = json.loads(file.read_text())
    saved["chunks"] = saved["chunks"][:2]
    file.write_text(json.dumps(saved))
    again = sharpmax.perplexity(tiny, tiny / "text.txt", tokens=100, length=25, json=file, resume=True)
    assert again.data["chunks"] == first.data["chunks"]
    with pytest.raises(ValueError, match="give another file to json, or leave resume=True out$"):
        sharpmax.perplexity(tiny, tiny / "text.txt", tokens=100, length=50, json=file, resume=True)


def test_the_class_of_a_result_is_told_from_what_is_in_it(trained, tiny, tmp_path):
    text = tiny / "text.txt"
    results = [
        trained,
        sharpmax.bound(spread=1, n=4),
        sharpmax.audit(tiny, text, lengths=[32]),
        sharpmax.audit(tiny, text, lengths=[32], analysis="gradient"),
        sharpmax.audit(tiny, probe="max", lengths=[128], questions=1),
        sharpmax.perplexity(tiny, text, tokens=20),
        sharpmax.inspect(tiny),
        sharpmax.tokenize(tiny, "It was"),
    ]
    for result in results:
        result.save(tmp_path / "saved.json", overwrite=True)
        loaded = sharpmax.load_result(tmp_path / "saved.json")
        assert type(loaded) is type(result) and loaded.data == result.data
        assert repr(loaded) == repr(result) and str(loaded).strip() and str(loaded.table()) == str(result.table())
