"""The page's scripts are modules: each says what it takes from others, and folders take from those before them alone."""
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "src/report/page"
ORDER = ["frame", "export", "drawing", "playground", "explorer"]  # then all others, then the page itself
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";', re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:function|const|let|class) +(\w+)", re.MULTILINE)


def modules():
    """Path within the page -> text."""
    found = {path.relative_to(PAGE): path.read_text() for path in PAGE.rglob("*.js")}
    return {path: text for path, text in found.items() if not {"node_modules", "bundled"} & set(path.parts)}


def imports(path, text):
    """[(module, names), ...]"""
    return [((PAGE / path.parent / where).resolve().relative_to(PAGE), re.findall(r"\w+", names))
            for names, where in IMPORT.findall(text)]


def rank(path):
    if len(path.parts) == 1:
        return len(ORDER) + 1
    return ORDER.index(path.parts[0]) if path.parts[0] in ORDER else len(ORDER)


def test_folders_of_the_page_import_one_way():
    found = modules()
    assert len(found) > 30
    wrong = [(str(path), str(taken)) for path, text in found.items() for taken, _ in imports(path, text)
             if rank(taken) > rank(path)]
    assert wrong == []


def test_every_module_is_used_and_so_is_every_name_that_it_exports():
    found = modules()
    taken = {(module, name) for path, text in found.items() for module, names in imports(path, text) for name in names}
    offered = {(path, name) for path, text in found.items() for name in EXPORT.findall(text)}
    assert taken == offered
    reached, left = set(), [pathlib.Path("main.js")]
    while left:
        path = left.pop()
        if path not in reached:
            reached.add(path)
            left += [module for module, _ in imports(path, found[path])]
    assert reached == set(found)
