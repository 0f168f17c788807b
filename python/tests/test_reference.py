"""docs/reference/fields.md has the fields that the jobs have."""

import pathlib
import shutil
import subprocess
import sys

import sharpmax

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = [sys.executable, ROOT / "scripts/update-reference", "--package", pathlib.Path(sharpmax.__file__).parents[1]]


def test_the_page_is_what_the_script_makes_of_the_fields(tmp_path):
    (tmp_path / "docs/reference").mkdir(parents=True)
    for name in ("fields.md", "cpp.md"):
        shutil.copy(ROOT / "docs/reference" / name, tmp_path / "docs/reference")
    subprocess.run([*SCRIPT, "--root", tmp_path], check=True)
    made, kept = ((root / "docs/reference/fields.md").read_text() for root in (tmp_path, ROOT))
    assert made == kept, "docs/reference/fields.md is not current; `make reference` fills it"
    assert all(len(line) <= 100 for line in made.splitlines() if not line.startswith("#"))


def test_every_public_field_is_on_the_page_in_both_spellings():
    page = (ROOT / "docs/reference/fields.md").read_text()
    for spelling in ("`--learning-rate X` · `learning_rate`", "`MODEL` · `model`", "`text_string` (Python only)"):
        assert spelling in page
