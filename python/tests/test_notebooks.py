"""The notebooks of examples/ run from top to bottom, and are kept with what they printed and drew."""

import importlib.machinery
import importlib.util
import pathlib

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
NEEDS_MODEL = {"2_watch_a_model.ipynb"}


def runner():
    loader = importlib.machinery.SourceFileLoader("run_notebooks", str(ROOT / "scripts" / "run-notebooks"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_notebooks", loader))
    loader.exec_module(module)
    return module


def figures(notebook):
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    return sum("image/png" in output.get("data", {}) for output in outputs)


def test_there_are_three():
    assert len(NOTEBOOKS) == 3


# A notebook in small: the same cells, fewer tokens and steps. Each text stands in the notebook exactly once.
SMALLER = {
    "2_watch_a_model": {"[:, :512]": "[:, :192]", "lengths=[64, 256, 1024]": "lengths=[32, 64]"},
    "3_train_with_entmax": {"steps=500": "steps=10", "count=256": "count=32", "[16, 64, 256, 1024]": "[16, 32]"},
}


def shrunk(text, changes):
    for large, small in changes.items():
        assert text.count(large) == 1, f"{large} stands {text.count(large)} times in the notebook"
        text = text.replace(large, small)
    return text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_in_small_and_draws_what_it_is_kept_with(path, tmp_path):
    runs_as_it_is_kept(path, tmp_path, SMALLER.get(path.stem, {}))


@pytest.mark.long
@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path.stem in SMALLER], ids=lambda path: path.stem)
def test_a_notebook_runs_in_full_and_draws_what_it_is_kept_with(path, tmp_path):
    runs_as_it_is_kept(path, tmp_path, {})


def runs_as_it_is_kept(path, folder, changes):
    if path.name in NEEDS_MODEL:
        import fetched

        fetched.model_or_skip()
    kept = nbformat.read(path, as_version=4)
    code = [cell for cell in kept.cells if cell.cell_type == "code"]
    assert code and all(cell.execution_count for cell in code), "kept without outputs: scripts/run-notebooks"
    assert all(output.output_type != "error" for cell in code for output in cell.outputs)
    copy = folder / path.name
    copy.write_text(shrunk(path.read_text(), changes))
    ran = runner().run(copy)
    assert figures(ran) == figures(kept) > 0
    for before, after in zip(kept.cells, ran.cells):
        kinds = [sorted(output.get("data", {"text": 0})) for output in before.get("outputs", [])]
        found = [sorted(output.get("data", {"text": 0})) for output in after.get("outputs", [])]
        assert {*map(tuple, kinds)} == {*map(tuple, found)}, before.source
