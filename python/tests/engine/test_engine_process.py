"""Verbs as guests of an interpreter: interrupts, callbacks, threads. Each ends well, and the next call works."""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
import sharpmax


def in_a_process(script, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


INTERRUPTED = """
    import os, signal, sys, threading, time
    import sharpmax

    told = threading.Event()

    def interrupt():
        told.wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    folder = sys.argv[1]
    long = dict(arms="paper", steps=10**7, sizes=16, normalizers="softmax", sets_scale=0.01, directory=folder,
                checkpoint_seconds=0.0)
    try:
        sharpmax.retrieve(**long, progress=lambda line: told.set())
        print("ended")
    except KeyboardInterrupt:
        print("interrupted")
    time.sleep(0.2)  # no second one is pending
    print(sharpmax.bound(spread=1.0, n=4, normalizer="softmax").sizes)
    print([path for path in os.listdir(folder) if path.endswith(".partial")])
    try:
        sharpmax.retrieve(**{**long, "steps": 10**7 + 1}, resume=True)
    except ValueError as error:
        print("run.json" in str(error) or "settings" in str(error) or "steps" in str(error))
"""


def test_an_interrupt_ends_a_training_and_leaves_the_interpreter_and_the_run_whole(tmp_path):
    out = in_a_process(INTERRUPTED, tmp_path / "run").splitlines()
    assert out == ["interrupted", "[4]", "[]", "True"]
    checkpoints = list((tmp_path / "run" / "checkpoints").iterdir())
    assert checkpoints and not [path for path in checkpoints if path.name.endswith(".partial")]


def test_an_interrupt_ends_a_call_that_has_no_listener(tmp_path):
    """Without callbacks no line of Python runs while the job does."""
    script = """
        import os, signal, sys, threading, time
        from sharpmax import _core

        def interrupt():
            while not os.path.exists(os.path.join(sys.argv[1], "run.json")):  # then it trains
                time.sleep(0.002)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        try:
            _core.run("retrieve", {"arms": "paper", "steps": 10**7, "directory": sys.argv[1]}, None, None, None)
        except KeyboardInterrupt:
            print("interrupted")
    """
    assert in_a_process(script, tmp_path / "run") == "interrupted\n"


def test_an_interrupt_ends_a_reading_between_layers_and_what_was_saved_goes_on(tiny, tmp_path):
    script = """
        import os, signal, sys
        import sharpmax

        tiny, text, file = sys.argv[1:]
        lines = []

        def interrupt_at_the_second(line):
            lines.append(line)
            if len(lines) == 2:
                os.kill(os.getpid(), signal.SIGINT)

        long = open(text).read() * 400
        try:
            sharpmax.perplexity(tiny, text_string=long, length=128, json=file, progress=interrupt_at_the_second)
            print("ended")
        except KeyboardInterrupt:
            print("interrupted")
        done = len(sharpmax.load_result(file).data["chunks"])
        print(0 < done)
        model = sharpmax.load_model(tiny)
        print(model.loss("It was the best of times") > 0)
    """
    out = in_a_process(script, tiny, tiny / "text.txt", tmp_path / "saved.json")
    assert out.splitlines() == ["interrupted", "True", "True"]


def test_an_interrupt_ends_what_a_model_is_at(tiny):
    script = """
        import os, signal, sys, threading, time
        import numpy as np
        import sharpmax

        model = sharpmax.load_model(sys.argv[1], context=1 << 20)
        tokens = np.arange(400_000) % 250  # minutes of attention
        caller, package = threading.get_ident(), os.path.dirname(sharpmax.__file__)

        def interrupt():
            while not sys._current_frames()[caller].f_code.co_filename.startswith(package):
                time.sleep(0.002)
            time.sleep(0.2)  # deep in the kernels by now; an earlier interrupt would end it too
            os.kill(os.getpid(), signal.SIGINT)

        def interrupt_what_comes():
            threading.Thread(target=interrupt, daemon=True).start()

        try:
            interrupt_what_comes()
            model.loss(tokens)
            print("ended")
        except KeyboardInterrupt:
            print("interrupted")
        print(model.logits("It was", last=True).shape)
        stream = model.stream(tokens, max_tokens=2)
        try:
            interrupt_what_comes()
            next(stream)
            print("ended")
        except KeyboardInterrupt:
            print("interrupted")
        print(len(model.generate("It was", max_tokens=3)) > 0)
    """
    out = in_a_process(script, tiny).splitlines()
    assert out == ["interrupted", "(290,)", "interrupted", "True"]


class Enough(Exception):
    pass


def long_run(folder, **keywords):
    keywords = {"arms": "paper", "sizes": 16, "normalizers": "softmax", "sets_scale": 0.01, **keywords}
    return sharpmax.retrieve(directory=folder, **keywords)


def test_what_a_callback_raises_ends_the_verb_and_comes_out(tmp_path):
    caller = threading.get_ident()
    heard = []

    def raise_at_the_third(line):
        heard.append((line, threading.get_ident()))
        if len(heard) == 3:
            raise Enough("three lines")

    with pytest.raises(Enough, match="^three lines$"):
        long_run(tmp_path / "run", steps=10**7, progress=raise_at_the_third)
    assert len(heard) == 3 and {thread for _, thread in heard} == {caller}
    assert all(line.startswith("training: step ") for line, _ in heard)

    def refuse(line):
        raise ValueError("--threads of mine")

    with pytest.raises(ValueError, match="^--threads of mine$") as caught:
        long_run(tmp_path / "other", steps=10**7, progress=refuse)
    assert caught.traceback[-1].name == "refuse"


def test_a_verb_may_be_called_within_the_callback_of_another(tmp_path):
    found = []

    def ask_again(line):
        found.append(sharpmax.bound(spread=1, n=4, normalizer="softmax").spread)
        raise Enough

    with pytest.raises(Enough):
        long_run(tmp_path / "run", steps=10**7, progress=ask_again)
    assert found == [1]


def test_verbs_of_many_threads_get_their_own_results():
    results = {}

    def work(i):
        results[i] = [sharpmax.bound(spread=i, n=[4, 4 + k], normalizer="softmax") for k in range(5)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(1, 7):
        for k, found in enumerate(results[i]):
            assert (
                found.spread == i and found.sizes == [4, 4 + k] and str(found).startswith(f"Scores at most {i} apart")
            )


def test_a_verb_does_not_wait_for_that_of_another_thread(tmp_path):
    """The training ends only when it is told to, so the bound cannot have waited for it."""
    begun, enough, raised = threading.Event(), threading.Event(), []

    def told(line):
        begun.set()
        if enough.is_set():
            raise Enough

    def work():
        try:
            long_run(tmp_path / "run", steps=10**7, progress=told)
        except Enough:
            raised.append(True)

    other = threading.Thread(target=work)
    other.start()
    begun.wait()
    found = sharpmax.bound(spread=2, n=4, normalizer="softmax")
    assert other.is_alive()
    enough.set()
    other.join()
    assert found.spread == 2 and raised == [True]


def steady(result):
    return {name: value for name, value in result.data.items() if name not in ("seconds", "created")}


def together(*verbs):
    """What the verbs find, each on a thread of its own; they begin together."""
    begin, results = threading.Barrier(len(verbs)), {}

    def work(i, verb):
        begin.wait()
        results[i] = [steady(verb()) for _ in range(3)]

    threads = [threading.Thread(target=work, args=(i, verb)) for i, verb in enumerate(verbs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[i] for i in range(len(verbs))]


def test_two_jobs_on_one_loaded_model_at_the_same_time_are_each_what_they_are_alone(tiny):
    model = sharpmax.load_model(tiny)
    text = (tiny / "text.txt").read_text() * 4
    verbs = (
        lambda: sharpmax.audit(model, text_string=text, lengths=[32, 64]),
        lambda: sharpmax.audit(model, text_string=text, lengths=[32, 64], normalizer="ssmax"),
        lambda: sharpmax.perplexity(model, text_string=text, length=64),
    )
    alone = [steady(verb()) for verb in verbs]
    assert together(*verbs) == [[one] * 3 for one in alone]


def test_a_loaded_model_is_not_opened_again(tiny, tmp_path):
    """Its file may be gone: what is mapped stays."""
    import shutil

    folder = shutil.copytree(tiny, tmp_path / "model")
    model = sharpmax.load_model(folder)
    before = sharpmax.perplexity(model, tiny / "text.txt", tokens=40)
    (folder / "config.json").unlink()
    after = sharpmax.perplexity(model, tiny / "text.txt", tokens=40)
    assert after.data["chunks"] == before.data["chunks"]
    with pytest.raises(ValueError, match="there is no config.json"):
        sharpmax.perplexity(folder, tiny / "text.txt", tokens=40)


def test_others_run_while_a_verb_computes(tmp_path):
    stop = threading.Event()
    counted = [0]

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    run = long_run(tmp_path / "run", steps=300)
    stop.set()
    counter.join()
    assert run.ok and counted[0] > 10


def test_progress_on_a_stderr_that_is_no_terminal_is_a_line_every_ten_seconds_at_most(tmp_path, capfd):
    long_run(tmp_path / "run", steps=200, progress=True)
    out, error = capfd.readouterr()
    assert out == "" and error.splitlines()[-1].startswith("everything")
    assert len(error.splitlines()) == 1
    quiet = long_run(tmp_path / "other", steps=10)
    assert capfd.readouterr() == ("", "") and quiet.notes[0].startswith("everything")


def test_how_many_threads_openmp_would_use_is_the_callers_affair(tiny):
    """The job runs on a thread of its own, which has the number of the thread that called."""
    script = """
        import ctypes, os, sys, threading, time
        import sharpmax

        omp = ctypes.CDLL("libgomp.so.1")
        omp.omp_set_num_threads(1)
        most = [0]
        done = threading.Event()

        def watch():
            while not done.is_set():
                most[0] = max(most[0], len(os.listdir("/proc/self/task")))
                time.sleep(0.002)

        watcher = threading.Thread(target=watch)
        watcher.start()
        before = len(os.listdir("/proc/self/task"))
        text = open(sys.argv[2]).read() * 20
        sharpmax.perplexity(sys.argv[1], text_string=text, length=128)
        done.set()
        watcher.join()
        print(most[0] - before)
    """
    assert in_a_process(script, tiny, tiny / "text.txt").strip() == "1"
