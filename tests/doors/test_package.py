"""The package as its users get it: a wheel out of the source archive, repaired, put into an empty environment, used.

Nothing is fetched: the environment's NumPy is that of the tests, by links. With objects in the compiler's cache the
wheel takes about a quarter of a minute; without, as long as the library takes to compile.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import textwrap
import zipfile

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SITE = pathlib.Path(sys.prefix, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")

# What every Linux machine that the wheel's tag promises has (PEP 600).
SYSTEM_LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1",
                    "libstdc++.so.6", "libz.so.1"}


def run(*command, check=True, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    assert not check or done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(source archive, wheel)"""
    output = tmp_path_factory.mktemp("dist")
    run(sys.executable, REPOSITORY / "scripts" / "wheel", "--output", output)
    (archive,), (wheel,) = output.glob("*.tar.gz"), output.glob("*.whl")
    return archive, wheel


@pytest.fixture(scope="module")
def python(made, tmp_path_factory):
    """The Python of an environment that has NumPy and the wheel, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    (site,) = folder.glob("lib/python3*/site-packages")
    for part in SITE.glob("numpy*"):
        (site / part.name).symlink_to(part)
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", folder / "bin" / "python",
        "install", "--no-index", "--no-compile", made[1])
    return folder / "bin" / "python"


def clean_environment(**changes):
    """What a user's shell would have: no PYTHONPATH to the build folder, no library path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LD_", "SHARPMAX"))}
    return {**kept, **changes}


def say(python, code, **environment):
    """What a program prints, run as a user would: outside of the repository."""
    folder = pathlib.Path(python).parent
    done = run(python, "-c", textwrap.dedent(code), cwd=folder, env=clean_environment(**environment))
    return done.stdout.strip()


def test_the_archive_holds_the_sources_and_nothing_else(made):
    listing = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    tracked = run(*listing, cwd=REPOSITORY, check=False)
    if tracked.returncode != 0:
        pytest.skip("not a git checkout: nothing to compare with")
    with tarfile.open(made[0]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    bundled = {name for name in names if name.startswith("src/report/page/bundled/")}
    folders = ("cli/", "cmake/", "include/", "src/", "python/src/", "python/sharpmax/")
    files = {"CHANGELOG.md", "CITATION.cff", "CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml",
             "python/CMakeLists.txt", "python/README.md"}
    wanted = {name for name in tracked.stdout.splitlines() if name.startswith(folders) or name in files}
    wanted = {name for name in wanted if (REPOSITORY / name).exists()}
    assert names - bundled - {"PKG-INFO"} == wanted
    assert {pathlib.Path(name).name for name in bundled} in ({"page.js", "page.css"}, set())


def test_the_wheel_holds_the_package_its_types_and_its_licenses(made):
    with zipfile.ZipFile(made[1]) as wheel:
        names = set(wheel.namelist())
        metadata = wheel.read(next(name for name in names if name.endswith("METADATA"))).decode()
    package = {str(path.relative_to(REPOSITORY / "python")) for path in (REPOSITORY / "python/sharpmax").rglob("*.py")}
    assert package <= names
    assert {"sharpmax/py.typed", "sharpmax/_core.pyi", "sharpmax/_engine/_verbs.pyi"} <= names
    assert not [name for name in names if name.endswith((".cc", ".h", ".a"))]

    libraries = [pathlib.Path(name).name for name in names if re.match(r"sharpmax\.libs/.+", name)]
    assert "libgomp.so.1" in libraries  # under the name that torch's has
    licenses = " ".join(name for name in names if "/licenses/" in name)
    for library in libraries:
        word = re.match(r"lib([a-z]+)", library).group(1)
        word = {"crypto": "libssl", "z": "zlib"}.get(word, f"lib{word}")  # Debian's name where it is another
        assert word in licenses, f"{library} is carried without its license"
    for word in ("LICENSE", "nanobind", "nlohmann", "cli11", "openblas", "random123"):
        assert word in licenses

    assert re.search(r"manylinux_2_\d+_x86_64|manylinux_2_\d+_aarch64", made[1].name), made[1].name
    for extra in ("torch", "hf", "jax", "plot"):
        assert f"Provides-Extra: {extra}" in metadata
    description = metadata.split("\n\n", 1)[1]
    assert not re.search(r"\]\((?!https?://|#)", description), "outside of the repository such links lead nowhere"


def test_the_tag_of_the_wheel_is_one_that_its_symbols_allow(made):
    shown = run(sys.executable, "-m", "auditwheel", "show", made[1]).stdout
    (consistent,) = re.findall(r'platform\s+tag:\s+"(\w+)"', shown)
    assert consistent in made[1].name


def test_no_instruction_set_of_this_machine_was_compiled_in_unasked():
    commands = run("ninja", "-C", next((REPOSITORY / "build/wheel").glob("sharpmax-*/build")), "-t", "commands").stdout
    assert "-O3" in commands
    assert not re.search(r"-march|-mtune|-mavx|-mcpu", commands)


def test_libraries_come_from_the_wheel_or_from_the_platform(python):
    (module,) = python.parent.parent.glob("lib/python3*/site-packages/sharpmax/_core*.so")
    needed = run("ldd", module, env=clean_environment()).stdout
    assert "not found" not in needed
    for name, path in re.findall(r"(\S+) => (\S+) \(", needed):
        assert name in SYSTEM_LIBRARIES or "sharpmax.libs" in path, f"{name} is taken from {path}"
    sections = run("readelf", "--section-headers", "--wide", module).stdout
    assert ".symtab" not in sections and ".debug_info" not in sections


def test_attention_is_that_of_numpy_under_several_normalizers_and_every_instruction_set(python):
    assert say(python, """
        import numpy as np, sharpmax

        rng = np.random.default_rng(7)
        query, key, value = rng.standard_normal((3, 2, 3, 37, 20), dtype=np.float32)
        scores = query @ key.swapaxes(-1, -2) / np.sqrt(20)

        def softmax(x):
            e = np.exp(x - x.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True)

        def sparsemax(x):
            z = -np.sort(-x, axis=-1)
            sums = z.cumsum(-1) - 1
            k = (z * np.arange(1, 38) > sums).sum(-1, keepdims=True)
            return np.maximum(x - np.take_along_axis(sums, k - 1, -1) / k, 0)

        def sink(x):
            m = np.maximum(x.max(-1, keepdims=True), 0)
            e = np.exp(x - m)
            return e / (np.exp(-m) + e.sum(-1, keepdims=True))

        rules = {"softmax": softmax, "softmax:beta=2": lambda x: softmax(2 * x), "sparsemax": sparsemax, "sink": sink,
                 "ssmax:s=0.4": lambda x: softmax(0.4 * np.log(37) * x)}
        assert len(sharpmax.targets()) > 1, sharpmax.targets()
        for target in sharpmax.targets():
            sharpmax.force_target(target)
            for rule, weights in rules.items():
                out, stats = sharpmax.attention(query, key, value, normalizer=rule, return_stats=True)
                w = weights(scores)
                np.testing.assert_allclose(out, w @ value, rtol=0, atol=1e-5, err_msg=f"{rule} on {target}")
                p = w / w.sum(-1, keepdims=True)
                entropy = -(p * np.log(p, out=np.zeros_like(p), where=p > 0)).sum(-1)
                np.testing.assert_allclose(stats.entropy, entropy, rtol=0, atol=1e-4, err_msg=f"{rule} on {target}")
                np.testing.assert_allclose(stats.peak_weight, p.max(-1), rtol=0, atol=1e-5)
        print("agree")
    """) == "agree"


def test_the_module_knows_its_version_and_imports_nothing_that_is_optional(python):
    said = json.loads(say(python, """
        import importlib.metadata, json, sys
        import sharpmax
        others = sorted({"torch", "jax", "transformers", "matplotlib"} & set(sys.modules))
        print(json.dumps({"version": sharpmax.version, "installed": importlib.metadata.version("sharpmax"),
                          "others": others, "members": [m["name"] for m in sharpmax.family()]}))
    """))
    assert said["version"] == said["installed"]
    assert said["others"] == []
    assert {"softmax", "entmax", "entropy_target", "adaptive"} <= set(said["members"])


def test_the_command_line_comes_along_and_writes_its_report(python, tmp_path):
    script = python.parent / "sharpmax"
    version = run(script, "--version", env=clean_environment()).stdout
    assert re.match(r"sharpmax \d+\.\d+", version)
    assert run(python, "-m", "sharpmax", "--version", env=clean_environment(), cwd=tmp_path).stdout == version
    assert "entropy_target" in run(script, "attend", "--list", env=clean_environment()).stdout
    wrong = run(script, "attend", "--nonsense", env=clean_environment(), check=False)
    assert wrong.returncode == 2 and wrong.stderr

    small = ("--width", 8, "--steps", 20, "--sizes", "16,64", "--sets-scale", 0.01)
    run(script, "retrieve", *small, "--directory", "run", env=clean_environment(), cwd=tmp_path)
    if (REPOSITORY / "src/report/page/node_modules/esbuild").is_dir():
        assert (tmp_path / "run" / "report.html").stat().st_size > 50_000


@pytest.mark.parametrize("first, second", [("torch", "sharpmax"), ("sharpmax", "torch")])
def test_one_openmp_runtime_serves_torch_and_the_wheel(python, first, second, tmp_path):
    (site,) = python.parent.parent.glob("lib/python3*/site-packages")
    for name in ("sharpmax", "sharpmax.libs"):
        (tmp_path / name).symlink_to(site / name)
    said = say(sys.executable, f"""
        import {first}, {second}
        query, key, value = torch.randn(3, 2, 4, 65, 32, generator=torch.Generator().manual_seed(1))
        ours = sharpmax.attention(query, key, value)
        theirs = torch.nn.functional.scaled_dot_product_attention(query, key, value)
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)
        assert "{tmp_path}" in sharpmax.__file__
        print(len({{line.split()[-1] for line in open("/proc/self/maps") if "libgomp" in line}}))
    """, PYTHONPATH=str(tmp_path), OMP_WAIT_POLICY="passive")
    assert said == "1"


PROGRAM = """\
import numpy as np
import sharpmax

query = np.zeros((1, 2, 5, 8), np.float32)
entmax = sharpmax.Normalizer("entmax", alpha=np.float32(1.5))
out, stats = sharpmax.attention(query, query, query, normalizer=entmax, return_stats=True)
assert isinstance(stats, sharpmax.Stats)
names: list[str] = sharpmax.targets()
"""

WRONG = (
    "sharpmax.attention(query, query, query, normalizer=1.5)",
    "sharpmax.attention(query, query, query, is_causal='yes')",
    "sharpmax.attention(query, query)",
    "sharpmax.atention(query, query, query)",
    "sharpmax.Normalizer(3)",
    "entmax.replace(alpha={})",
    "sharpmax.force_target(2)",
)


def lines_with_type_errors(python, folder, program):
    """The types of a user's program, checked in the environment where the wheel is."""
    (folder / "program.py").write_text(program)
    done = run(sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "--cache-dir",
               folder / "cache", "program.py", cwd=folder, env=clean_environment(), check=False)
    assert done.returncode in (0, 1), done.stderr
    return sorted({int(line) for line in re.findall(r"^program\.py:(\d+): error", done.stdout, re.MULTILINE)})


def test_a_typed_program_checks_against_the_installed_package_and_wrong_types_are_found(python, tmp_path):
    assert lines_with_type_errors(python, tmp_path, PROGRAM) == []
    first = PROGRAM.count("\n") + 1
    found = lines_with_type_errors(python, tmp_path, PROGRAM + "\n".join(WRONG) + "\n")
    assert found == list(range(first, first + len(WRONG)))
