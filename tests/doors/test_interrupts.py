"""Ctrl-C: what there is is saved, one line says how to go on, and going on ends in the same results."""
import json
import os
import pty
import re
import shutil
import signal
import subprocess

import pytest
from tiny_folder import BINARY, TEXT, sharpmax, write_tiny_folder
from waiting import wait_until


def started(*words, cwd, **options):
    """With interrupts as a shell in the foreground has them, whatever the tests were started by."""
    return subprocess.Popen([BINARY, *map(str, words)], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            errors="replace", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options)


def until(process, ready):
    assert wait_until(ready, process), process.communicate()


def interrupted(process, sent=signal.SIGINT):
    """Its line, after the narration that came before."""
    process.send_signal(sent)
    out, error = process.communicate()
    assert process.returncode == 130, (process.returncode, error)
    assert out == "", out
    lines = error.splitlines()
    assert lines[-1].startswith("sharpmax: interrupted; ") and sum("interrupted" in line for line in lines) == 1, error
    return lines[-1].removeprefix("sharpmax: interrupted; ")


def continuing(line):
    return re.fullmatch(r"(.*); continue(?:, with the same text on standard input)? with: (.*)", line).groups()


def without_dates(results):
    return {key: value for key, value in results.items() if key not in ("created", "seconds", "command")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tiny")
    write_tiny_folder(place / "my model")
    (place / "long.txt").write_text(TEXT * 16)
    return place


TRAINING = ("--arms", "paper,sharp", "--seeds", 2, "--batch", 16, "--normalizers", "softmax;entropy_target:nats=0.1",
            "--threads", 2, "--checkpoint-seconds", 1000)
TESTING = ("--sizes", "16,64,256", "--sets-scale", 0.01)


def steps_in(directory):
    """{head: steps of its checkpoint}."""
    found = {}
    for path in sorted((directory / "checkpoints").glob("*.safetensors")):
        data = path.read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        found[path.stem] = int(header["__metadata__"]["step"])
    return found


def in_a_shell(typed, cwd):
    """The command that a line says, started."""
    return subprocess.Popen(["sh", "-c", "exec " + typed], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # fmt: skip


# SIGTERM takes the same way; test_an_interrupt_ends_it_with_130_and_leaves_what_was_saved sends it in `make test`.
@pytest.mark.parametrize("sent", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_a_training_interrupted_several_times_ends_in_the_same_results(tmp_path, sent):
    words = ("retrieve", *TRAINING, *TESTING, "--steps", 1500)
    assert sharpmax(*words, "--directory", tmp_path / "whole").returncode == 0
    process = started(*words, "--directory", "a run", cwd=tmp_path)
    until(process, (tmp_path / "a run" / "run.json").exists)
    seen = []
    for _ in range(5):
        kept, typed = continuing(interrupted(process, sent))
        assert kept == "checkpoints and finished tests are saved" and "--directory 'a run'" in typed
        seen.append(sum(steps_in(tmp_path / "a run").values()))
        process = in_a_shell(typed, tmp_path)
        assert process.stderr.readline().startswith("resuming: ")
    _, error = process.communicate()
    assert process.returncode == 0, error
    # Every time each of two threads took at least the steps between two looks at the flag.
    assert all(later >= earlier + 32 for earlier, later in zip(seen, seen[1:])) and seen[-1] < 4 * 1500, seen
    results = [json.loads((tmp_path / name / "results.json").read_text()) for name in ("whole", "a run")]
    assert json.dumps(without_dates(results[0])) == json.dumps(without_dates(results[1]))
    for name in ("heads/paper-0.safetensors", "heads/sharp-1.safetensors", "tested/sharp-1-256.json"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "a run" / name).read_bytes()
    assert not list((tmp_path / "a run").rglob("*.partial"))


def test_an_interrupted_test_keeps_the_sizes_that_are_done(tmp_path):
    words = ("retrieve", *TRAINING, "--steps", 16, "--sizes", "16,64,16384,32768", "--sets-scale", 0.2)
    process = started(*words, "--directory", "run", cwd=tmp_path)
    until(process, (tmp_path / "run" / "tested" / "sharp-1-64.json").exists)
    _, typed = continuing(interrupted(process))
    tested = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "tested").iterdir()}
    assert 8 <= len(tested) < 16
    process = in_a_shell(typed, tmp_path)
    assert process.stderr.readline() == f"resuming: 4 of 4 heads trained; {len(tested)} of 16 tests done\n"
    assert process.communicate() and process.returncode == 0
    assert all(path.stat().st_mtime_ns == written for path, written in tested.items())
    assert sharpmax(*words, "--directory", tmp_path / "whole").returncode == 0
    results = [json.loads((tmp_path / name / "results.json").read_text()) for name in ("whole", "run")]
    assert without_dates(results[0]) == without_dates(results[1])


def test_resume_says_where_a_training_goes_on(tmp_path):
    words = ("retrieve", *TRAINING, *TESTING, "--steps", 100_000, "--directory", "run")
    process = started(*words, cwd=tmp_path)
    until(process, (tmp_path / "run" / "run.json").exists)
    interrupted(process)
    steps = steps_in(tmp_path / "run")
    # How many heads are in training depends on how many threads had a core before the interrupt.
    assert steps and set(steps) <= {"paper-0", "paper-1", "sharp-0", "sharp-1"}
    assert all(0 < step < 100_000 for step in steps.values())
    process = started(*words, "--resume", cwd=tmp_path)
    told = process.stderr.readline()
    interrupted(process)
    named = ", ".join(f"{head} at step {step:,} of 100,000" for head, step in steps.items())
    assert told == f"resuming: 0 of 4 heads trained, {named}; 0 of 12 tests done\n"
    short = ("retrieve", *TRAINING, *TESTING, "--steps", 16, "--directory", tmp_path / "short")
    done, again = sharpmax(*short), sharpmax(*short, "--resume")
    assert done.returncode == again.returncode == 0
    assert again.stderr.decode().splitlines()[0] == "resuming: 4 of 4 heads trained; 12 of 12 tests done"


def test_the_overwriting_of_a_run_goes_on_without_overwriting_it_again(tmp_path):
    words = ("retrieve", *TRAINING, *TESTING, "--directory", "run")
    assert sharpmax(*words, "--steps", 16, cwd=tmp_path).returncode == 0
    process = started(*words, "--steps", 100_000, "--overwrite", cwd=tmp_path)
    until(process, lambda: not (tmp_path / "run" / "results.json").exists())
    until(process, (tmp_path / "run" / "run.json").exists)
    _, typed = continuing(interrupted(process))
    assert typed.endswith("--steps 100000 --resume") and "--overwrite" not in typed
    assert all(steps > 0 for steps in steps_in(tmp_path / "run").values())


# What is interrupted, the unit that is saved, where it is in the JSON, and what --resume says.
SAVED = {
    "perplexity": (("perplexity", "my model", "--text", "long.txt", "--length", 64, "--threads", 1), "finished chunks are saved",
                   lambda found: found["chunks"], r"resuming: (\d+) of \d+ chunks are measured"),
    "probe": (("audit", "my model", "--probe", "lookup", "--questions", 8, "--lengths", "96,128,160,192,224,240", "--block", 1, "--threads", 1),
              "finished lengths are saved", lambda found: found["probe"]["lengths"], r"resuming: (\d+) of 6 lengths are measured"),
    "fix": (("fix", "my model", "--text", "long.txt", "--tokens", 128, "--length", 128, "--lengths", 200, "--questions", 2, "--rule",
             "softmax:beta=1.5", "--rule", "softmax:beta=2", "--rule", "hard", "--no-search", "--block", 1, "--threads", 1),
            "finished trials are saved", lambda found: found["trials"], r"resuming: (\d+) trials? (?:is|are) done"),
}  # fmt: skip


@pytest.mark.parametrize("kind", SAVED)
def test_what_is_saved_piece_by_piece_goes_on_to_the_same_answer(folder, tmp_path, kind):
    words, unit, pieces, resuming = SAVED[kind]
    cut, whole = tmp_path / "it's cut.json", tmp_path / "whole.json"
    process = started(*words, "--json", cut, cwd=folder)
    until(process, lambda: cut.exists() and len(pieces(json.loads(cut.read_text()))) > 0)
    kept, typed = continuing(interrupted(process))
    assert kept == unit
    saved = json.loads(cut.read_text())
    assert not saved["complete"]
    done = subprocess.run(["sh", "-c", typed], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done
    assert int(re.search(resuming, done.stderr)[1]) == len(pieces(saved))
    assert sharpmax(*words, "--json", whole, cwd=folder).returncode == 0
    assert without_dates(json.loads(cut.read_text())) == without_dates(json.loads(whole.read_text()))


def test_text_from_standard_input_is_asked_for_again(folder, tmp_path):
    with open(folder / "long.txt") as text:
        process = started("perplexity", "my model", "--text", "-", "--length", 64, "--json", tmp_path / "x.json", cwd=folder, stdin=text)
        until(process, (tmp_path / "x.json").exists)
        assert "; continue, with the same text on standard input with: " in interrupted(process)


# What cannot be resumed, and takes longer than a test; the line that says so.
LOST = {
    "perplexity": (("perplexity", "my model", "--text", "long.txt", "--block", 1, "--context", 4096),
                   "nothing was saved; with --json FILE finished chunks are saved, and --resume goes on"),
    "audit": (("audit", "my model", "--text", "long.txt", "--block", 1, "--lengths", 4096),
              "nothing was saved; with --json FILE what is read is saved, and --resume goes on"),
    "analysis": (("audit", "my model", "--text", "long.txt", "--analysis", "all", "--chunks", 16, "--draws", 300),
                 "an analysis cannot be resumed, and what it measured so far is lost"),
    "bench": (("bench", "--rounds", 1000), "bench has no --resume, and its timings so far are lost"),
    "demo": (("attend", "--demo"), "the demonstration has no --resume, and its rows so far are lost"),
    "fit": (("fit", "head.safetensors", "--sets-scale", 200), "fit has no --resume, and what it fitted so far is lost"),
    "head": (("retrieve", "--head", "head.safetensors", "--sets-scale", 64),
             "a test of --head cannot be resumed, and what it measured so far is lost"),
}  # fmt: skip


@pytest.fixture(scope="module")
def head(folder):
    assert sharpmax("retrieve", *TRAINING, *TESTING, "--steps", 16, "--directory", folder / "run").returncode == 0
    (folder / "head.safetensors").write_bytes((folder / "run" / "heads" / "paper-0.safetensors").read_bytes())


class OnATerminal:
    """A command whose standard error is a terminal, where progress is shown immediately."""

    def __init__(self, *words, cwd):
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen([BINARY, *map(str, words)], cwd=cwd, stdout=subprocess.PIPE, stderr=theirs,
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # fmt: skip
        os.close(theirs)
        self.said = b""

    def hear(self, enough):
        while not enough(self.said):
            try:
                piece = os.read(self.ours, 4096)
            except OSError:  # the other end is closed
                piece = b""
            self.said += piece
            if not piece:
                return

    def lines(self):
        """All that was said to the end, without what was wiped."""
        self.hear(lambda said: False)
        os.close(self.ours)
        return [line.rpartition("\x1b[K")[2] for line in self.said.decode().replace("\r\n", "\n").split("\n") if line]


@pytest.mark.parametrize("kind", LOST)
def test_what_cannot_be_resumed_says_what_is_lost(folder, head, kind):
    words, lost = LOST[kind]
    command = OnATerminal(*words, cwd=folder)
    command.hear(lambda said: b"\x1b[K" in said)  # the first line of progress
    command.process.send_signal(signal.SIGINT)
    lines = command.lines()
    assert command.process.wait() == 130, lines
    assert command.process.stdout.read() == b""
    command.process.stdout.close()
    assert lines[-1] == "sharpmax: interrupted; " + lost and sum("interrupted" in line for line in lines) == 1


def test_an_audit_saves_the_lengths_that_it_read(folder, tmp_path):
    """The heads of an excerpt that it was in the middle of: without an interrupt they would be saved at its end."""
    words = ("audit", "my model", "--text", "long.txt", "--lengths", "32,64,1024", "--excerpts", 1, "--block", 1, "--threads", 1)
    cut, whole = tmp_path / "cut.json", tmp_path / "whole.json"
    command = OnATerminal(*words, "--json", cut, cwd=folder)
    command.hear(lambda said: re.search(rb"excerpt 1 of 1: (6[4-9]|[7-9]\d|\d{3}) of 1,024 tokens", said))
    command.process.send_signal(signal.SIGINT)
    line = command.lines()[-1]
    assert command.process.wait() == 130, line
    command.process.stdout.close()
    kept, typed = continuing(line.removeprefix("sharpmax: interrupted; "))
    assert kept == "the lengths that were read are saved" and (tmp_path / "cut.json.rows.npz").exists()
    done = subprocess.run(["sh", "-c", typed], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done
    assert "resuming: 0 of 1 excerpts are read; 2 of 3 lengths in all\n" in done.stderr
    assert sharpmax(*words, "--json", whole, cwd=folder).returncode == 0
    assert without_dates(json.loads(cut.read_text())) == without_dates(json.loads(whole.read_text()))


def without_end(model, place):
    """The model in a folder of its own, which does not say which token ends a text: it goes on until it is stopped."""
    shutil.copytree(model, place)
    for name in ("config.json", "generation_config.json", "tokenizer_config.json"):
        settings = json.loads((place / name).read_text())
        (place / name).write_text(json.dumps({key: value for key, value in settings.items() if not key.startswith("eos_token")}))
    return place


def test_generated_text_is_kept(folder, tmp_path):
    words = ("run", without_end(folder / "my model", tmp_path / "endless"), "--prompt", "It", "--tokens", 1_000_000, "--context", 1_000_000, "--temperature", 2)
    process = started(*words, cwd=folder)
    first = process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate()
    assert process.returncode == 130 and first
    assert error.splitlines()[-1] == "sharpmax: interrupted; the text so far was printed; run has no --resume"
    process = started(*words, "--json", tmp_path / "run.json", cwd=folder)
    first = process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate()
    assert process.returncode == 130 and first and error.splitlines()[-1].endswith("the text so far is in the JSON; run has no --resume")
    found = json.loads((tmp_path / "run.json").read_text())
    assert found["ending"] == "interrupted" and found["tokens"] and len(found["text"]) > 0


def test_a_second_interrupt_ends_immediately(folder, tmp_path):
    """While the first is not yet heard: a pipe that nobody reads holds the command up."""
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    process = started("perplexity", "my model", "--text", "long.txt", "--length", 64, "--json", tmp_path / "pipe", cwd=folder)
    until(process, lambda: _waits_for_a_pipe(process.pid))
    process.send_signal(signal.SIGINT)
    until(process, lambda: not _is_pending(process.pid, signal.SIGINT))
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, error = process.communicate()
    assert (process.returncode, out) == (130, "") and "interrupted" not in error
    os.close(reader)


def _waits_for_a_pipe(pid):
    with open(f"/proc/{pid}/wchan") as file:
        return "pipe" in file.read()


def _is_pending(pid, number):
    with open(f"/proc/{pid}/status") as file:
        fields = dict(line.split(":\t", 1) for line in file if ":\t" in line)
    return any(int(fields[name], 16) >> (number - 1) & 1 for name in ("SigPnd", "ShdPnd"))


def test_waiting_for_standard_input_is_interrupted(folder):
    process = started("perplexity", "my model", "--text", "-", cwd=folder, stdin=subprocess.PIPE)
    until(process, lambda: _waits_for_a_pipe(process.pid))
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert process.stderr.read() == "sharpmax: interrupted before anything was saved\n"
