"""The command line behaves as people expect: short help, suggestions for typing errors, completion in three shells."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from tiny_folder import write_tiny_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))
COMMANDS = ("attend", "bench", "retrieve", "fit", "inspect", "tokenize", "run", "perplexity", "audit", "bound", "fix", "train", "report",
            "completion")  # fmt: skip


def run(*words):
    return subprocess.run([BINARY, *words], capture_output=True, text=True)


def refusal(*words):
    done = run(*words)
    assert done.returncode == 2 and done.stdout == "", done
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.strip()


@pytest.mark.parametrize("words, meant", [
    (("audti", "model.gguf"), "there is no command 'audti'; did you mean audit?"),
    (("perplexty",), "there is no command 'perplexty'; did you mean perplexity?"),
    (("audit", "model.gguf", "--lenghts", "64"), "sharpmax audit has no option '--lenghts'; did you mean --lengths?"),
    (("fix", "model.gguf", "--txt=a.txt"), "sharpmax fix has no option '--txt'; did you mean --text?"),
    (("--versoin",), "sharpmax has no option '--versoin'; did you mean --version?"),
    (("audit", "model.gguf", "--spread", "3"), "sharpmax audit has no option '--spread', but these commands have it: bound"),
    (("zzzzzz",), "there is no command 'zzzzzz'; sharpmax --help lists the commands"),
    (("version",), "there is no command 'version'; did you mean --version?"),
    (("inspect", "a.gguf", "b.gguf"), "sharpmax inspect does not take the word 'b.gguf'"),
])  # fmt: skip
def test_a_typing_error_gets_the_word_that_was_meant(words, meant):
    assert refusal(*words).startswith("sharpmax: " + meant)


@pytest.mark.parametrize("words, said", [
    (("audit", "model.gguf", "--normalizer", ""), "--normalizer needs a value (NAME); '' is empty"),
    (("attend", "--query", "", "--key", "k.npy"), "--query needs a file; '' is empty"),
    (("attend", "--demo", "--gap", "abc"), "--gap: 'abc' is not a number that it takes"),
    (("completion",), "SHELL is missing"),
    (("audit", "model.gguf", "--text", "a.txt", "--probe", "max"), "--probe excludes --text: a probe asks questions of its own"),
    (("run",), "no model was given; MODEL must be a file or a folder (`make model` fetches a small one)"),
])  # fmt: skip
def test_a_wrong_value_is_named_with_what_is_allowed(words, said):
    assert refusal(*words) == "sharpmax: " + said


@pytest.mark.parametrize("command", ("", *COMMANDS))
def test_help_is_one_screen(command):
    done = run(*command.split(), "--help")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.rstrip("\n").split("\n")
    assert len(lines) <= 40, f"{len(lines)} lines"
    assert max(map(len, lines)) <= 80, max(lines, key=len)
    if command:
        assert "Examples:" in done.stdout.split("Options:")[-1]  # last


@pytest.mark.parametrize("command", COMMANDS)
def test_help_all_has_every_option_of_help_and_as_many_more_as_it_says(command):
    def options(*words):
        return set(re.findall(r"^  (?:-\w,)?(--[a-z0-9-]+)", run(command, *words).stdout, re.MULTILINE))

    short, full = options("--help"), options("--help-all")
    promised = re.search(r"--help-all +Show (\d+) more", run(command, "--help").stdout)
    assert short - {"--help-all"} <= full
    assert len(full - short - {"--help", "--help-all"}) == (int(promised[1]) if promised else 0)
    assert max(map(len, run(command, "--help-all").stdout.splitlines())) <= 80


def test_help_as_a_word_is_the_help_of_a_command():
    assert run("help", "audit").stdout == run("audit", "--help").stdout
    assert run("help").stdout == run("--help").stdout


COMPLETE_IN_BASH = """
eval "$("$1" completion bash)"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_sharpmax
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed_by_bash(*words, cwd=None):
    done = subprocess.run(["bash", "-c", COMPLETE_IN_BASH, "bash", BINARY, "sharpmax", *words], capture_output=True,
                          text=True, check=True, cwd=cwd)  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


def test_bash_completes_commands_options_values_and_files(tmp_path):
    (tmp_path / "a model.gguf").touch()
    assert completed_by_bash("a") == ["attend", "audit"]
    assert set(completed_by_bash("")) == set(COMMANDS)
    assert completed_by_bash("audit", "--len") == ["--lengths", "--length-top"]
    assert completed_by_bash("--ver") == ["--version", "--verbose"]
    assert completed_by_bash("fix", "m.gguf", "--for", "t") == ["text", "task"]
    assert completed_by_bash("run", "m.gguf", "--normalizer", "entm") == ["entmax15", "entmax"]
    assert completed_by_bash("run", "m.gguf", "--normalizer", "=", "entm") == ["entmax15", "entmax"]  # --normalizer=entm
    assert completed_by_bash("completion", "f", cwd=tmp_path) == ["fish"]
    assert completed_by_bash("train", "lo", cwd=tmp_path) == ["lookup"]
    assert completed_by_bash("train", "a", cwd=tmp_path) == ["a model.gguf"]
    assert completed_by_bash("audit", "a", cwd=tmp_path) == ["a model.gguf"]
    assert completed_by_bash("audit", "m.gguf", "--text", "a", cwd=tmp_path) == ["a model.gguf"]
    assert completed_by_bash("audit", "m.gguf", "--lengths", "", cwd=tmp_path) == [""]  # a number cannot be guessed


def test_zsh_and_fish_take_their_scripts_and_know_every_option():
    for shell in ("zsh", "fish"):
        script = run("completion", shell).stdout
        for command in COMMANDS:
            options = re.findall(r"^  (?:-\w,)?--([a-z0-9-]+)", run(command, "--help-all").stdout, re.MULTILINE)
            assert options and command in script
            for option in options:
                assert re.search(rf"--{option}\[|-l {option}\b", script), (shell, command, option)
        if shutil.which(shell):
            check = {"zsh": ["zsh", "-fn"], "fish": ["fish", "--no-execute"]}[shell]
            assert subprocess.run(check, input=script, capture_output=True, text=True, check=True).stderr == ""


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes_commands_options_and_values():
    for typed, completed in (("au", ["audit"]), ("fix m --for t", ["task", "text"]), ("run m --normalizer entm", ["entmax", "entmax15"])):
        script = f"'{BINARY}' completion fish | source; complete -C 'sharpmax {typed}'"
        done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, check=True)
        assert [line.split("\t")[0] for line in done.stdout.splitlines()] == completed
        assert typed != "au" or done.stdout == "audit\tMeasure every head of a model: at which length does it go blunt?\n"


def test_completion_for_another_shell_is_refused():
    assert "'tcsh' is unknown; it must be bash, zsh or fish" in refusal("completion", "tcsh")


def test_help_of_a_command_that_does_not_exist_is_an_error():
    for words in (("help", "audti"), ("audti", "--help")):
        assert "there is no command 'audti'; did you mean audit?" in refusal(*words)


def test_a_name_on_a_hub_and_a_text_in_the_place_of_a_path_get_a_hint(tmp_path):
    hub = run("inspect", "Org/Name")
    assert hub.returncode == 3
    assert "there is no such file or folder" in hub.stderr and "hf download Org/Name" in hub.stderr
    folder = write_tiny_folder(tmp_path)
    prose = run("perplexity", str(folder), "--text", "It was the best of times")
    assert prose.returncode == 3
    assert prose.stderr == ("sharpmax: --text: there is no file 'It was the best of times'; it takes a path, and the text "
                            "itself goes into standard input (--text -)\n")  # fmt: skip


def test_a_command_ends_with_an_answer_and_the_command_to_try_next(tmp_path):
    folder = write_tiny_folder(tmp_path)
    text = ("--text", str(folder / "text.txt"))
    for words, ending in (
        (("attend", "--list"), "To see what each does as n grows:\n  sharpmax attend --demo\n"),
        (("bound", "--spread", "2", "--n", "64"), "To see what the weights of a model prove:\n  sharpmax bound MODEL\n"),
        (("inspect", str(folder)), f"  sharpmax audit {folder} --text FILE\n"),
        (("audit", str(folder), *text, "--lengths", "32,64"), f"  sharpmax audit {folder} --probe lookup\n"),
        (("perplexity", str(folder), *text, "--tokens", "64", "--length", "64"), f"  sharpmax audit {folder} --text {folder}/text.txt\n"),
    ):
        done = run(*words)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith(ending), done.stdout[-300:]
    assert "In short: under softmax no key among 64 can have more than 0.1" in run("bound", "--spread", "2", "--n", "64").stdout


def test_report_shows_the_verdict_of_its_page(tmp_path):
    saved = tmp_path / "bound.json"
    shown = run("bound", "--spread", "2", "--n", "64", "--json", str(saved)).stdout
    done = run("report", str(saved), "--figures", str(tmp_path / "figures"))
    assert done.returncode == 0, done.stderr
    assert done.stdout and shown.startswith(done.stdout)
    assert "\n\n" not in done.stdout
