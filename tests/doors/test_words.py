"""Words that users meet are plain: no phrase of the list in CONTRIBUTING, lines that fit, links that lead somewhere, a README of one screen."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))
WIDEST, README_LINES, README_WORDS = 100, 150, 1200
LONGEST = 40  # words of a sentence; the rule is 25, and a formula may need more

PHRASES = {
    "was wanted": "must be …; expected …",
    "; wanted ": "; expected …",
    "nats a token": "nats per token",
    "tells of ": "reports …",
    "says of itself": "per-row statistics",
    "nothing but itself": "self-contained",
    "is not there": "missing; out of range",
    "are no numbers": "are not numbers",
    "lets go ": "loses the key",
    "has let go": "has lost the key",
    "photograph": "screenshot",
    "heed": "respect",
    "tell of itself": "statistics of a row",
    "tell of themselves": "statistics of rows",
    "For who ": "for code that …; for readers who …",
    "what is no ": "what is not …",
    "One line a ": "One line per …",
    "One dict a ": "One dict per …",
    "a line a ": "one line per …",
    "believed in nothing": "not trusted",
    "is there twice": "appears twice",
    'was expected"': "must be …; expected …",
    'were expected"': "must be …; expected …",
    "is content": "passes",
    "for who ": "for code that …; for readers who …",
    "so that who ": "so that code that …",
    "Where it is more than can be counted": "If it overflows",
    '"""Of ': "begin with the noun that is described",
}
BRITISH = re.compile(
    r"\w*(?:neighbour|colour|behaviour|honour|favour|centred|unnormalis|normalis|quantis|recognis|optimis|summaris|"
    r"initialis|spelt|learnt)\w*", re.IGNORECASE)  # fmt: skip
# The rules quote what they forbid.
QUOTING = {"CONTRIBUTING.md", "tests/doors/test_words.py"}


def tracked(*endings):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                            check=True).stdout.splitlines()  # fmt: skip
    return [ROOT / name for name in listed if name.endswith(endings) and (ROOT / name).exists()]


def pages():
    return tracked(".md")


def prose_lines(page):
    """(number, line) outside of code, tables and generated blocks."""
    code = generated = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif re.fullmatch(r"<!-- [a-z-]+:(begin|end) -->", line):
            generated = line.endswith("begin -->")
        elif not code and not generated and not line.lstrip().startswith("|"):
            yield number, line


def texts():
    """Files with words for people: pages, help, errors, docstrings, comments."""
    folders = ("cli/", "include/", "src/", "python/", "docs/", "scripts/", "examples/", "cmake/")
    for path in tracked(".md", ".h", ".cc", ".py", ".js", ".html", ".cmake", ".ipynb", ".txt"):
        name = str(path.relative_to(ROOT))
        if name not in QUOTING and (name.startswith(folders) or "/" not in name):
            yield name, path


def without_generated(text):
    return re.sub(r"<!-- ([a-z-]+):begin -->.*?<!-- \1:end -->", "", text, flags=re.S)


def test_contributing_has_ten_rules_and_a_glossary_of_thirty_words():
    rules, glossary = (ROOT / "CONTRIBUTING.md").read_text().split("\n## Words\n")[1].split("\n### Glossary\n")
    assert len(re.findall(r"^\d+\. ", rules, re.MULTILINE)) == 10
    assert len(re.findall(r"^\| ", glossary.split("\n## ")[0], re.MULTILINE)) >= 30 + 1  # the head of the table


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_text_has_the_phrase(phrase):
    found = [f"{name}: {line.strip()[:120]}" for name, path in texts()
             for line in without_generated(path.read_text()).splitlines() if phrase in line]  # fmt: skip
    assert not found, f"write {PHRASES[phrase]!r} instead of {phrase!r}:\n" + "\n".join(found)


def sentences_of(page):
    """(number of its first line, sentence) for each sentence of a page; links count as their text."""
    paragraph, first, last = "", 0, 0
    for number, line in [*prose_lines(page), (10**9, "")]:
        begins = number != last + 1 or not line.strip() or re.match(r"\s*(?:[-*>]|\d+\.|#+) ", line)
        if begins and paragraph:
            plain = re.sub(r"\]\([^)]*\)", "]", paragraph)
            for sentence in re.split(r"(?<=[.!?:])[\"”)*]*\s+(?=[A-Z`*\[(“\"])", plain):
                yield first, sentence
            paragraph = ""
        if line.strip() and not line.startswith("#"):
            first = first if paragraph else number
            paragraph += " " + line.strip()
        last = number


def guides():
    """Pages for readers; decisions are records of their time."""
    return [page for page in pages() if "decisions" not in page.parts]


def test_sentences_of_pages_are_short():
    long = [f"{page.relative_to(ROOT)}:{number}: {len(sentence.split())} words: {sentence[:100]}" for page in guides()
            for number, sentence in sentences_of(page) if len(sentence.split()) > LONGEST]  # fmt: skip
    assert not long, "\n".join(long)


def test_pages_have_american_spelling():
    found = [f"{page.relative_to(ROOT)}:{number}: {word}" for page in pages() for number, line in prose_lines(page)
             for word in BRITISH.findall(line)]  # fmt: skip
    assert not found, "\n".join(found)


def commands():
    listed = subprocess.run([BINARY, "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  ([a-z]+)  ", listed.split("\nCommands:\n")[1].split("\n\n")[0], re.MULTILINE)


def test_help_starts_with_the_noun_that_it_describes():
    for command in commands():
        text = subprocess.run([BINARY, command, "--help-all"], capture_output=True, text=True, check=True).stdout
        found = re.findall(r"^  (-\S+(?: \S+)?) {2,}((?:Of|With it|How many|Which|What|The same)\b.*)$", text, re.MULTILINE)
        assert not found, f"sharpmax {command}: {found}"


def test_prose_of_pages_fits_100_columns():
    wide = [f"{page.relative_to(ROOT)}:{number}: {len(line)} columns" for page in pages()
            for number, line in prose_lines(page) if len(line) > WIDEST]  # fmt: skip
    assert not wide, "\n".join(wide)


def test_commands_of_guides_fit_100_columns():
    wide = [f"{page.relative_to(ROOT)}: {line}" for folder in ("learn", "how-to") for page in (ROOT / "docs" / folder).glob("*.md")
            for line in without_generated(page.read_text()).splitlines() if len(line) > WIDEST and not line.startswith("|")]  # fmt: skip
    assert not wide, "\n".join(wide)


def anchors_of(page):
    """As GitHub makes them from headings."""
    for number, line in prose_lines(page):
        if line.startswith("#"):
            title = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            yield title.replace(" ", "-")


def links():
    for page in pages():
        text = "\n".join(line for _, line in prose_lines(page))
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", text):
            yield page, (page.parent / target).resolve() if target else page, anchor


def test_links_lead_to_files_and_headings():
    dead = []
    for page, target, anchor in links():
        if not target.exists():
            dead.append(f"{page.relative_to(ROOT)}: {target}")
        elif anchor and target.suffix == ".md" and anchor not in set(anchors_of(target)):
            dead.append(f"{page.relative_to(ROOT)}: {target.name}#{anchor}")
    assert not dead, "\n".join(dead)


def test_every_page_of_the_docs_can_be_reached_from_their_index():
    index = ROOT / "docs/README.md"
    reached, edge = {index}, {index}
    outgoing = {}
    for page, target, _ in links():
        outgoing.setdefault(page, set()).add(target)
    while edge:
        found = set().union(*(outgoing.get(page, set()) for page in edge))
        found |= {page for folder in found if folder.is_dir() for page in folder.glob("*.md")}
        edge = found - reached
        reached |= edge
    assert set((ROOT / "docs").rglob("*.md")) <= reached


def test_every_command_and_every_header_has_its_place_in_the_reference():
    page = (ROOT / "docs/reference/command-line.md").read_text()
    assert [name for name in commands() if f"sharpmax {name}" not in page] == []
    page = (ROOT / "docs/reference/cpp.md").read_text()
    assert [path.name for path in (ROOT / "include/sharpmax").glob("*.h") if f"`{path.name}`" not in page] == []


def test_every_public_name_of_the_headers_is_on_their_page():
    sys.path.insert(0, str(ROOT / "scripts"))
    from public_names import names_table, public_names

    page = (ROOT / "docs/reference/cpp.md").read_text()
    assert names_table(ROOT / "include/sharpmax") in page, "`make reference` fills docs/reference/cpp.md"
    assert {"attend", "AttentionOptions", "Causal"} <= set(public_names(ROOT / "include/sharpmax/attention.h"))


def sources():
    """Files of C++ and Python that people read; what a build makes is not in them."""
    return [path for path in tracked(".h", ".cc", ".py") if path.relative_to(ROOT).parts[0] in ("src", "include", "cli", "python")]


def test_headers_of_files_open_with_the_noun_that_they_describe():
    bad = []
    for path in sources():
        first = path.read_text().split("\n", 1)[0]
        if re.match(r'(?://|"""|#) ?(?:Of|Who|How|Which|Where|That|Those) ', first):
            bad.append(f"{path.relative_to(ROOT)}: {first[:100]}")
        if path.suffix == ".h" and not first.startswith("//"):
            bad.append(f"{path.relative_to(ROOT)}: has no header")
    assert not bad, "\n".join(bad)


def test_every_generated_block_ends_and_every_picture_is_shown():
    shown = set()
    for page in pages():
        text = page.read_text()
        begins, ends = (re.findall(rf"^<!-- ([a-z0-9-]+):{word} -->$", text, re.MULTILINE) for word in ("begin", "end"))
        assert begins == ends and len(set(begins)) == len(begins), page
        shown |= set(re.findall(r"pictures/([\w.-]+)", text))
    assert {path.name for path in (ROOT / "docs/pictures").iterdir()} <= shown


def test_the_readme_is_short():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= README_LINES
    assert len(" ".join(lines).split()) <= README_WORDS
    assert max(map(len, lines)) <= WIDEST, max(lines, key=len)


def test_the_table_of_speed_is_that_of_the_benchmarks():
    sys.path.insert(0, str(ROOT / "scripts"))
    from performance_table import performance_table

    table = performance_table((ROOT / "docs/design/benchmarks.md").read_text())
    assert table in (ROOT / "README.md").read_text()
    assert table.count("\n| ") <= 8
