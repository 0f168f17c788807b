"""Every example of the Python pages and the README does what the page says, and every public name stands on it."""

import doctest
import inspect
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/python.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def sections(page):
    """(title, text, line) of every part of the page that has examples."""
    title, lines, start = "start", [], 0
    for number, line in enumerate(page.read_text().splitlines() + ["## end"]):
        if line.startswith("## "):
            if any(entry.startswith(">>> ") for entry in lines):
                yield title, "\n".join(lines) + "\n", start
            title, lines, start = line[3:], [], number
        else:
            lines.append("" if line.startswith("```") else line)


PAGES = [PAGE, ROOT / "README.md", ROOT / "docs/how-to/train-with-a-normalizer.md"]
SECTIONS = [section for page in PAGES for section in sections(page)]
NEEDS = {"JAX": "jax", "Transformers": "transformers"}
NEEDS.update(dict.fromkeys(("PyTorch", "Quick start", "In PyTorch"), "torch"))


@pytest.mark.parametrize("title, text, line", SECTIONS, ids=[title for title, *_ in SECTIONS])
def test_examples_of_the_page(title, text, line, tmp_path, monkeypatch):
    if title in NEEDS:
        pytest.importorskip(NEEDS[title])
    if title == "Models":
        import fetched

        monkeypatch.chdir(fetched.model_or_skip().parent)
    else:
        monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    test = doctest.DocTestParser().get_doctest(text, {}, title, title, line)
    assert test.examples
    report = []
    outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert outcome.failed == 0, "".join(report)


def public_names():
    import sharpmax.hf
    import sharpmax.jax
    import sharpmax.torch

    for module, prefix in ((sharpmax, "sharpmax"), (sharpmax.torch, "sharpmax.torch"), (sharpmax.jax, "sharpmax.jax"),
                           (sharpmax.hf, "sharpmax.hf")):  # fmt: skip
        for name in module.__all__:
            yield f"{prefix}.{name}", getattr(module, name)


def test_every_public_name_is_on_the_page_and_has_words_of_its_own():
    page = PAGE.read_text()
    for name, thing in public_names():
        assert f"`{name}" in page, f"{name} is not in docs/reference/python.md"
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert thing.__doc__, f"{name} has no docstring"
