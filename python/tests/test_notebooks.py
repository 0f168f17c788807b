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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_draws_what_it_is_kept_with(path, tmp_path):
    if path.name in NEEDS_MODEL:
        import fetched

        fetched.model_or_skip()
    kept = nbformat.read(path, as_version=4)
    code = [cell for cell in kept.cells if cell.cell_type == "code"]
    assert code and all(cell.execution_count for cell in code), "kept without outputs: scripts/run-notebooks"
    assert all(output.output_type != "error" for cell in code for output in cell.outputs)
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    ran = runner().run(copy)
    assert figures(ran) == figures(kept) > 0
    for before, after in zip(kept.cells, ran.cells):
        kinds = [sorted(output.get("data", {"text": 0})) for output in before.get("outputs", [])]
        found = [sorted(output.get("data", {"text": 0})) for output in after.get("outputs", [])]
        assert {*map(tuple, kinds)} == {*map(tuple, found)}, before.source
