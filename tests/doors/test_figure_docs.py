"""The pictures of README and docs are drawn by one script, from results, and by nothing else."""
import json
import os
import pathlib
import subprocess
import sys

from drawing import assert_sound
from synthetic_results import synthetic_results

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", ROOT / "build/sharpmax")


def test_one_script_draws_the_pictures_of_the_docs(tmp_path):
    (tmp_path / "docs/pictures").mkdir(parents=True)
    (tmp_path / "build/retrieval/quick").mkdir(parents=True)
    (tmp_path / "build/retrieval/quick/results.json").write_text(json.dumps(synthetic_results("quick")))
    done = subprocess.run([sys.executable, ROOT / "scripts/update-figures", "theory", "retrieval", "audit", "--binary", BINARY,
                           "--results", tmp_path / "build", "--root", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = "".join(page.read_text() for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    made = {path.name for path in (tmp_path / "docs/pictures").glob("*.svg")}
    assert made == {"theory-peaks.svg", "theory-lost.svg", "two-by-two.svg", "retrieval-entropy.svg",
                    "retrieval-accuracy.svg", "retrieval-heat-maps.svg", "retrieval-failure.svg"}
    assert all(name in pages for name in made)
    assert done.stderr.count("\n") == 1 and "audit-heads.svg" in done.stderr  # what has no results stays, and is named
    for name in ("theory-peaks.svg", "theory-lost.svg"):  # what no machine measures is as it was
        assert (tmp_path / "docs/pictures" / name).read_text() == (ROOT / "docs/pictures" / name).read_text()
    wrong = subprocess.run([sys.executable, ROOT / "scripts/update-figures", "nothing"], capture_output=True, text=True)
    assert wrong.returncode == 1 and "no part 'nothing'" in wrong.stderr


def test_every_picture_of_the_docs_is_drawn_by_the_script_and_shown():
    script = (ROOT / "scripts/update-figures").read_text()
    pages = "".join(page.read_text() for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    for path in (ROOT / "docs/pictures").glob("*.svg"):
        assert_sound(path)
        assert path.name in pages
        assert f'"{path.stem}"' in script or path.stem.startswith("paper-b-"), path.name
