"""Configuring on a machine that lacks packages names all of them at once, and how to get them."""

import os
import pathlib
import re
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LISTED = {line.strip() for name in ("packages.txt", "packages-test.txt")
          for line in (REPOSITORY / "scripts" / name).read_text().splitlines() if line[:1].isalpha()}


def configure(folder, *options, **environment):
    command = ["cmake", "-S", str(REPOSITORY), "-B", str(folder), "-G", "Ninja", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    return done.returncode, done.stderr


def named(message):
    """The packages that the line to be copied names."""
    (line,) = re.findall(r"^ *apt-get install (.*)$", message, re.MULTILINE)
    return set(line.split())


HIDDEN = {
    "packages of CMake": (
        ["-DCMAKE_DISABLE_FIND_PACKAGE_hwy=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON",
         "-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON",
         "-DCMAKE_IGNORE_PATH=/usr/include"], {},
        {"libhwy-dev", "libfmt-dev", "nlohmann-json3-dev", "libcli11-dev", "librandom123-dev", "libboost-math-dev",
         "libgtest-dev", "libbenchmark-dev", "zlib1g-dev"}),
    "modules of pkg-config": (
        [], {"PKG_CONFIG_LIBDIR": "/nonexistent"},
        {"libzip-dev", "nettle-dev", "libopenblas-openmp-dev", "libpcre2-dev", "libutf8proc-dev"}),
    "the compiler": ([], {"CXX": "no-such-compiler"}, {"g++"}),
    "pkg-config": (["-DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON"], {}, {"pkg-config"}),
}


@pytest.mark.parametrize("what", HIDDEN)
def test_all_that_is_missing_is_named_in_one_line(what, tmp_path):
    options, environment, missing = HIDDEN[what]
    status, message = configure(tmp_path, "-DSHARPMAX_BENCH=ON", *options, **environment)
    assert status != 0
    assert message.count("CMake Error") == 1, message
    assert "sharpmax needs Debian packages that are not here" in message
    assert named(message) == missing
    assert "make setup" in message


def test_what_is_named_is_what_make_setup_installs():
    text = (REPOSITORY / "cmake/requirements.cmake").read_text()
    packages = set(re.findall(r"wants(?:_module)?\([^)]* ([a-z0-9+-]+)\)", text))
    packages -= {"package", "python3", "python3-dev"}
    assert {"libhwy-dev", "libutf8proc-dev", "g++"} <= packages
    assert packages <= LISTED


def test_only_what_the_options_need_is_asked_for(tmp_path):
    library_only = ("-DSHARPMAX_CLI=OFF", "-DSHARPMAX_TESTS=OFF", "-DCMAKE_DISABLE_FIND_PACKAGE_hwy=ON")
    status, message = configure(tmp_path, *library_only, PKG_CONFIG_LIBDIR="/nonexistent")
    assert status != 0
    assert named(message) == {"libhwy-dev"}


def test_nanobind_is_asked_for_by_the_python_that_lacks_it(tmp_path):
    python = tmp_path / "python"
    subprocess.run(["python3", "-m", "venv", "--without-pip", python], check=True)
    status, message = configure(tmp_path / "build", "-DSHARPMAX_PYTHON=ON", f"-DPython_EXECUTABLE={python}/bin/python")
    assert status != 0
    assert f"{python}/bin/python -m pip install nanobind" in " ".join(message.split())
