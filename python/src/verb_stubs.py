"""verb_stubs.py PACKAGE OUTPUT: the stub of the verbs. Only the extension is imported: a build may lack NumPy."""

import importlib.util
import pathlib
import sys

package, output = map(pathlib.Path, sys.argv[1:])
sys.path.insert(0, str(package))
import _core  # noqa: E402

spec = importlib.util.spec_from_file_location(
    "fields", pathlib.Path(__file__).parents[1] / "sharpmax/_engine/_fields.py"
)
fields = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fields)
output.parent.mkdir(parents=True, exist_ok=True)
output.write_text(fields.stubs(_core.fields), encoding="utf-8")
