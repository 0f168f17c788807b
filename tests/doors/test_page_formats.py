"""Numbers are the same text on the page as in the library: one list of cases for both (tests/laws/view_laws.cc reads it too)."""
import json
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = json.loads((ROOT / "tests/support/formats.json").read_text())
WRITE = """import {formatted} from "./frame/formats.js";
const cases = JSON.parse(await new Response(process.stdin).text());
console.log(JSON.stringify(cases.map(([format, value]) => formatted(format, value))));"""


@pytest.mark.skipif(not shutil.which("node"), reason="there is no node; scripts/setup installs it with npm")
def test_the_page_writes_every_number_as_the_library_does():
    done = subprocess.run(["node", "--input-type=module", "-e", WRITE], cwd=ROOT / "src/report/page", text=True,
                          input=json.dumps(CASES), capture_output=True, check=True)
    found = json.loads(done.stdout)
    assert len(CASES) > 40
    assert [(case[0], case[1], text) for case, text in zip(CASES, found)] == [tuple(case) for case in CASES]
