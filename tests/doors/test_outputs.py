"""Files that a command would write: no output destroys an input, and none replaces a file of another kind unasked."""
import json
import os
import subprocess

import numpy as np
import pytest
from tiny_folder import BINARY, write_tiny_folder

SHORT = ("retrieve", "--arms", "paper", "--steps", 2, "--batch", 2, "--sizes", 16, "--sets-scale", 0.001, "--normalizers",
         "softmax")


def sharpmax(*words, cwd=None, **options):
    return subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True, cwd=cwd, **options)


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def refused(folder, *words):
    """Exit code 2 and one sentence, which is returned; every file in the folder is as it was."""
    before = contents(folder)
    done = sharpmax(*words, cwd=folder)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.startswith("sharpmax: ") and done.stderr.count("\n") == 1, done.stderr
    assert contents(folder) == before
    return done.stderr.removeprefix("sharpmax: ").rstrip("\n")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """What commands read: a model folder, a text, questions, arrays, a trained head, saved results."""
    place = tmp_path_factory.mktemp("sources")
    folder = write_tiny_folder(place / "model")
    (place / "text.txt").write_bytes((folder / "text.txt").read_bytes())
    (folder / "text.txt").unlink()
    (place / "table.json").write_text(json.dumps({"schema": "sharpmax.normalizers/1", "default": "softmax:beta=2"}))
    (place / "task.jsonl").write_text('{"prompt": "It was", "answer": "the"}\n' * 4)
    random = np.random.default_rng(1)
    for name in ("q", "k", "v", "d"):
        np.save(place / f"{name}.npy", random.normal(size=(5, 8)).astype(np.float32))
    np.savez(place / "qkv.npz", query=np.load(place / "q.npy"), key=np.load(place / "k.npy"), value=np.load(place / "v.npy"))
    assert sharpmax(*SHORT, "--directory", "run", cwd=place).returncode == 0
    (place / "head.safetensors").write_bytes((place / "run" / "heads" / "paper-0.safetensors").read_bytes())
    assert sharpmax("bound", "--spread", 3, "--json", "bound.json", cwd=place).returncode == 0
    return place


@pytest.fixture
def place(sources, tmp_path):
    """A copy, since a command that is not refused would change it."""
    for path in sources.rglob("*"):
        target = tmp_path / path.relative_to(sources)
        target.mkdir(parents=True, exist_ok=True) if path.is_dir() else target.write_bytes(path.read_bytes())
    return tmp_path


MODEL = ("model", "--text", "text.txt")
ARRAYS = ("attend", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy")
# Command, the input that the output names, what the user calls that input.
INPUTS = [
    (("perplexity", *MODEL, "--json"), "model/model.safetensors", "MODEL"),
    (("perplexity", *MODEL, "--json"), "model/config.json", "MODEL"),
    (("perplexity", "model/model.safetensors", "--text", "text.txt", "--json"), "model/tokenizer.json", "MODEL"),
    (("perplexity", *MODEL, "--json"), "text.txt", "--text"),
    (("perplexity", *MODEL, "-o"), "text.txt", "--text"),
    (("perplexity", *MODEL, "--normalizers", "table.json", "--json"), "table.json", "--normalizers"),
    (("audit", *MODEL, "--json"), "text.txt", "--text"),
    (("audit", *MODEL, "--analysis", "gradient", "--json"), "model/model.safetensors", "MODEL"),
    (("audit", "model", "--probe", "max", "--report"), "model/tokenizer.json", "MODEL"),
    (("fix", *MODEL, "--task", "task.jsonl", "--table"), "task.jsonl", "--task"),
    (("fix", *MODEL, "--json"), "model/model.safetensors", "MODEL"),
    (("bound", "model", "--json"), "model/config.json", "MODEL"),
    (("inspect", "model", "--json"), "model/config.json", "MODEL"),
    (("run", "model", "--prompt-file", "text.txt", "--json"), "text.txt", "--prompt-file"),
    (("fit", "head.safetensors", "--csv"), "head.safetensors", "HEAD"),
    (("fit", "head.safetensors", "--json"), "head.safetensors", "HEAD"),
    (("retrieve", "--head", "head.safetensors", "--json"), "head.safetensors", "--head"),
    (("report", "bound.json", "--html"), "bound.json", "RESULTS"),
    ((*ARRAYS, "-o"), "k.npy", "--key"),
    ((*ARRAYS, "--json"), "q.npy", "--query"),
    ((*ARRAYS, "--backward", "d.npy", "--gradients-out"), "d.npy", "--backward"),
    (("attend", "--arrays", "qkv.npz", "--statistics-out"), "qkv.npz", "--arrays"),
]


@pytest.mark.parametrize("words, target, named", INPUTS, ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else value)
def test_an_output_never_replaces_an_input(place, words, target, named):
    (place / "alias").symlink_to(place / target)
    os.link(place / target, place / "twin")
    for name in (target, f"./model/../{target}", place / target, "alias", "twin"):
        for more in ((), ("--overwrite",)):
            if str(name).endswith((".json", ".npz")) and words[-1] in ("-o", "--html", "--report"):
                continue  # refused for its name, as another test has it
            sentence = refused(place, *words, name, *more)
            assert sentence.endswith(f"is an input of this call ({named}); an output never replaces an input"), sentence
            assert f"'{name}'" in sentence


def test_figures_never_replace_an_input(place):
    (place / "figures").mkdir()
    text = place / "figures" / "by-position.svg"
    text.write_bytes((place / "text.txt").read_bytes())
    words = ("perplexity", "model", "--text", text, "--figures", "figures", "--overwrite")
    assert "is an input of this call (--text)" in refused(place, *words)


# Command, whose last word takes the file; what the sentence calls the kind that is written.
KINDS = [
    (("bound", "--spread", 3, "--json"), "a result of schema sharpmax.bound.spread/1"),
    (("bound", "--spread", 3, "--report"), "a report page of sharpmax"),
    (("attend", "--demo", "--sizes", 16, "--json"), "a result of schema sharpmax.attend.demo/1"),
    (("attend", "--list", "--json"), "a result of schema sharpmax.attend.list/1"),
    (("bench", "--keys", 16, "--heads", 1, "--rounds", 1, "--normalizer", "softmax", "--json"), "a result of schema sharpmax.bench/1"),
    (("inspect", "model", "--json"), "a result of schema sharpmax.inspect/1"),
    (("run", "model", "--prompt", "It was", "--tokens", 2, "--json"), "a result of schema sharpmax.run/1"),
    (("perplexity", *MODEL, "--length", 64, "--json"), "a result of schema sharpmax.perplexity/1"),
    (("--version", "--json"), "a result of schema sharpmax.version/1"),
    (("report", "bound.json", "-o"), "a report page of sharpmax"),
    (("fit", "head.safetensors", "--sizes", 16, "--test-sizes", 16, "--sets-scale", 0.2, "--degree", 0, "--csv"), "a CSV file with the columns that are written"),
    (("retrieve", "--head", "head.safetensors", "--sizes", 16, "--sets-scale", 0.001, "--normalizers", "softmax", "--csv"),
     "a CSV file with the columns that are written"),
    ((*ARRAYS, "-o"), "a .npy file"),
    ((*ARRAYS, "--statistics-out"), "a .npz file"),
]


@pytest.mark.parametrize("words, kind", KINDS, ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "")
def test_a_file_of_another_kind_is_replaced_only_with_overwrite(place, words, kind):
    for foreign in (b"notes\n", b'{"schema": "other/1"}\n', b"[1, 2]", b"{}", b"<svg/>", b"\x93NUMP", bytes(range(256))):
        (place / "out").write_bytes(foreign)
        sentence = refused(place, *words, "out")
        assert sentence.endswith(f"'out' exists and is not {kind}; choose another name, or give --overwrite to replace it"), sentence
    done = sharpmax(*words, "out", "--overwrite", cwd=place)
    assert done.returncode == 0, done
    written = (place / "out").read_bytes()
    assert len(written) > 20
    # What it wrote itself is of its kind: it replaces that, and an empty file, unasked.
    for before in (written, b""):
        (place / "out").write_bytes(before)
        assert sharpmax(*words, "out", cwd=place).returncode == 0
        assert len((place / "out").read_bytes()) > 20


def test_figures_of_others_stay_and_figures_of_ours_are_replaced(place):
    words = ("bound", "--spread", 3, "--peak", 0.5, "--n", "4,16", "--figures", "figures")
    (place / "figures").mkdir()
    (place / "figures" / "logo.svg").write_text("<svg/>")  # no figure of ours has this name
    (place / "figures" / "lost.svg").write_text("<svg/>")
    assert "lost.svg' exists and is not a figure of sharpmax" in refused(place, *words)
    assert sharpmax(*words, "--overwrite", cwd=place).returncode == 0
    drawn = (place / "figures" / "lost.svg").read_text()
    assert len(drawn) > 500 and (place / "figures" / "logo.svg").read_text() == "<svg/>"
    assert sharpmax(*words, cwd=place).returncode == 0
    assert (place / "figures" / "lost.svg").read_text() == drawn


def test_figures_of_several_results_are_checked_in_their_own_folders(place):
    (place / "figures" / "2").mkdir(parents=True)
    (place / "figures" / "2" / "lost.svg").write_text("mine")
    (place / "other.json").write_bytes((place / "bound.json").read_bytes())
    assert "2/lost.svg' exists" in refused(place, "report", "bound.json", "other.json", "--figures", "figures")


def test_two_outputs_need_two_files(place):
    assert refused(place, *SHORT, "--json", "r", "--csv", "./r").startswith("--json and --csv name the same file, './r'")
    (place / "new.html").symlink_to(place / "elsewhere")
    (place / "elsewhere").write_text("")
    assert "--json and -o name the same file" in refused(place, "bound", "--spread", 3, "--json", "elsewhere", "-o", "new.html")
    assert "each needs its own" in refused(place, *SHORT, "--directory", "fresh", "--json", "fresh/results.json")
    assert not (place / "fresh").exists()
    done = sharpmax("fit", "head.safetensors", "--sizes", 16, "--test-sizes", 16, "--sets-scale", 0.2, "--degree", 0, "--json", "/dev/null", "--csv", "/dev/null", cwd=place)
    assert done.returncode == 0, done


def test_pipes_and_devices_are_written(place):
    done = sharpmax("bound", "--spread", 3, "--json", "/dev/stdout", cwd=place)
    assert done.returncode == 0 and '"sharpmax.bound.spread/1"' in done.stdout
    os.mkfifo(place / "pipe")
    writer = subprocess.Popen([BINARY, "bound", "--spread", "3", "--json", "pipe"], cwd=place, stdout=subprocess.DEVNULL)
    assert json.loads((place / "pipe").read_text())["schema"] == "sharpmax.bound.spread/1"
    assert writer.wait(60) == 0


def test_results_in_the_folder_of_the_model_are_no_part_of_the_model(place):
    words = ("perplexity", *MODEL, "--length", 64, "--json", "model/losses.json")
    for more in ((), (), ("--resume",)):
        assert sharpmax(*words, *more, cwd=place).returncode == 0
    assert "is an input of this call (MODEL)" in refused(place, "audit", *MODEL, "--json", "model/losses.json")


def test_the_rows_beside_an_audit_are_an_output_too(place):
    (place / "a.json.rows.npz").write_text("mine")
    assert "a.json.rows.npz' exists and is not a .npz file" in refused(place, "audit", *MODEL, "--json", "a.json")


def test_a_directory_that_is_no_run_keeps_its_files(place):
    for name in ("heads/paper-0.safetensors", "results.json", "report.html", "heads/readme.txt"):
        folder = place / name.replace("/", "-").replace(".", "-")
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("mine")
        assert name in refused(place, *SHORT, "--directory", folder.name)
        assert sharpmax(*SHORT, "--directory", folder.name, "--overwrite", cwd=place).returncode == 0
        assert (name == "heads/readme.txt") == ((folder / name).read_bytes() == b"mine")
    (place / "run" / "heads" / "notes.txt").write_text("mine")
    assert sharpmax(*SHORT, "--directory", "run", "--overwrite", cwd=place).returncode == 0
    assert (place / "run" / "heads" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("words, sentence", [
    (("perplexity", *MODEL, "--json", "--resume"), "--json needs a file, or '-' for standard output, and '--resume' follows it; a value that begins with a dash is written --json=VALUE"),
    (("perplexity", *MODEL, "--json"), "--json needs a file, or '-' for standard output"),
    (("attend", "--demo", "--json", "-o", "x.html"), "--json needs a file, or '-' for standard output, and '-o' follows it; a value that begins with a dash is written --json=VALUE"),
    (("bound", "--spread", "--peak", "0.5"), "--spread needs a number, and '--peak' follows it; a value that begins with a dash is written --spread=VALUE"),
    (("report", "bound.json", "-o", "--figures", "f"), "-o needs a file, and '--figures' follows it; a value that begins with a dash is written --report=VALUE"),
    (("report", "bound.json", "--figures"), "--figures needs a directory"),
    (("run", "model", "--prompt", "--seed", "3"), "--prompt needs a value (TEXT), and '--seed' follows it; a value that begins with a dash is written --prompt=VALUE"),
    (("--version", "--json"), "--json needs a file, or '-' for standard output"),
])  # fmt: skip
def test_an_option_does_not_swallow_the_next_one(place, words, sentence):
    assert refused(place, *words) == sentence


def test_negative_numbers_and_values_after_an_equals_sign_are_values(place):
    assert sharpmax("bound", "--spread", 3, "--level", "-1.5", cwd=place).returncode == 0
    assert "--level is -inf" in refused(place, "bound", "--spread", 3, "--level", "-inf")
    done = sharpmax("run", "model", "--prompt=--seed", "--tokens", 1, "--json", "-", cwd=place)
    assert done.returncode == 0 and json.loads(done.stdout)["prompt_tokens"]
    done = sharpmax("run", "model", "--prompt", "- item", "--tokens", 1, "--json", "-", cwd=place)
    assert done.returncode == 0, done


def test_json_to_a_file_comes_with_the_text_and_to_standard_output_without(place):
    for words in (("attend", "--demo", "--sizes", 16), ("attend", "--list"), ARRAYS, ("inspect", "model"), ("--version",),
                  ("run", "model", "--prompt", "It was", "--tokens", 2)):  # fmt: skip
        plain = sharpmax(*words, cwd=place)
        both = sharpmax(*words, "--json", "out.json", "--overwrite", cwd=place)
        alone = sharpmax(*words, "--json", "-", cwd=place)
        assert both.returncode == 0 and both.stdout == plain.stdout, words
        saved, printed = json.loads((place / "out.json").read_text()), json.loads(alone.stdout)
        assert saved["schema"] == printed["schema"] and saved.keys() == printed.keys()
