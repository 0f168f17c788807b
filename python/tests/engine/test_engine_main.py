"""python -m sharpmax is the command line: the same bytes, the same exit codes, the same end."""

import os
import re
import signal
import subprocess
import sys

import pytest
from waiting import wait_until

BINARY = os.environ["SHARPMAX_BINARY"]
MODULE = [sys.executable, "-m", "sharpmax"]


def run(program, *words, **options):
    done = subprocess.run([*program, *map(str, words)], capture_output=True, **options)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--help"],
        ["audit", "--help"],
        ["--version", "--verbose"],
        ["bound", "--spread", "5.69", "--n", "16,1e6", "--peak", "0.5"],
        ["bound", "--spread", "3", "--json", "-"],
        ["nonsense"],
        ["bound", "--spread", "-1"],
        ["bound", "--no-such-option"],
        ["inspect", "no-such-file"],
        ["--verbose"],
        ["inspect", b"not-\xff-utf8"],
    ],
    ids=str,
)
def test_the_module_says_what_the_binary_says(words):
    words = [os.fsdecode(word) for word in words]
    (code, out, error), wanted = run(MODULE, *words), run([BINARY], *words)
    assert (code, undated(out), error) == (wanted[0], undated(wanted[1]), wanted[2])


def undated(out):
    """Without the second in which it was made."""
    return re.sub(rb'"created": "[^"]*"', b"", out)


def test_a_model_is_read_alike_and_text_may_come_by_standard_input(tiny):
    words = ["perplexity", tiny, "--text", "-", "--length", "64"]
    text = (tiny / "text.txt").read_bytes()
    ours, theirs = (run(program, *words, input=text) for program in (MODULE, [BINARY]))
    assert ours == theirs and ours[0] == 0 and b"perplexity" in ours[1]
    words[words.index("64")] = "9999"
    assert run(MODULE, *words, input=text) == run([BINARY], *words, input=text)


def test_standard_output_that_takes_nothing_is_told_in_words():
    outcomes = []
    for program in (MODULE, [BINARY]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([*program, "--help"], stdout=full, stderr=subprocess.PIPE)
        outcomes.append((done.returncode, done.stderr))
    assert outcomes[0] == outcomes[1] and outcomes[0][0] == 3


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_with_130_and_leaves_what_was_saved(tmp_path, sent):
    process = subprocess.Popen(
        [*MODULE, "retrieve", "--steps", "1000000", "--directory", tmp_path / "run", "--checkpoint-seconds", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    checkpoints = tmp_path / "run" / "checkpoints"
    assert wait_until(lambda: checkpoints.exists() and any(checkpoints.iterdir()), process)
    process.send_signal(sent)
    out, error = process.communicate()
    assert (process.returncode, out) == (130, b"") and b"Traceback" not in error
    assert not [path for path in (tmp_path / "run").rglob("*.partial")]


def test_the_signals_of_the_interpreter_are_its_own_again_afterwards():
    script = (
        "import signal, sys, sharpmax.__main__ as m\n"
        # Who started this may have told it to ignore interrupts, as shells do of what they run beside themselves.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.argv = ['sharpmax', '--version']\n"
        "assert m.main() == 0\n"
        "try:\n    signal.raise_signal(signal.SIGINT)\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith("interrupted\n"), done.stderr
