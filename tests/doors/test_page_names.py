"""All scripts of the page share one scope: of two functions of one name the first would silently be the second."""
import collections
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "src/report/page"
NAME = re.compile(r"^(?:async )?(?:function|const|let|class) +([A-Za-z0-9_]+)", re.MULTILINE)


def test_no_two_scripts_of_the_page_have_a_name_in_common():
    places = collections.defaultdict(list)
    for script in sorted(PAGE.glob("*.js")):
        for name in NAME.findall(script.read_text()):
            places[name].append(script.name)
    assert len(places) > 100
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
