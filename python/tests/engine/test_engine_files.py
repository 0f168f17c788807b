"""Files that verbs and results write: no input is destroyed, and a file of another kind is replaced only when asked."""

import json
import re
import signal
import subprocess
import sys
import textwrap

import pytest
import sharpmax


def refused(sentence, verb, *arguments, **keywords):
    with pytest.raises(ValueError) as caught:
        verb(*arguments, **keywords)
    assert re.fullmatch(sentence, str(caught.value)), str(caught.value)


@pytest.fixture
def text(tiny, tmp_path):
    path = tmp_path / "book.txt"
    path.write_bytes((tiny / "text.txt").read_bytes())
    return path


def test_a_verb_never_replaces_what_it_reads(tiny, trained, text, tmp_path):
    before = {path: path.read_bytes() for path in tiny.iterdir()}
    config = tiny / "config.json"
    ending = r"is an input of this call \({}\); an output never replaces an input"
    for more in ({}, {"overwrite": True}):
        refused(rf"json: '.*book.txt' {ending.format('text')}", sharpmax.perplexity, tiny, text, json=text, **more)
        refused(rf"json: '.*config.json' {ending.format('model')}", sharpmax.audit, tiny, text, json=config, **more)
        refused(rf"table: '.*config.json' {ending.format('model')}", sharpmax.fix, tiny, text, table=config, **more)
        refused(rf"json: '.*config.json' {ending.format('model')}", sharpmax.bound, tiny, json=config, **more)
        refused(rf"json: '.*config.json' {ending.format('model')}", sharpmax.inspect, tiny, json=config, **more)
        refused(rf"report: '.*book.txt' {ending.format('text')}", sharpmax.perplexity, tiny, text, report=text, **more)
        head = next(iter(trained.head_files.values()))
        refused(rf"csv: '.*safetensors' {ending.format('head')}", sharpmax.fit, head, csv=head, **more)
        refused(rf"json: '.*safetensors' {ending.format('head')}", sharpmax.retrieve, head=head, json=head, **more)
    model = sharpmax.load_model(tiny)
    refused(rf"json: '.*config.json' {ending.format('model')}", sharpmax.perplexity, model, text, json=config)
    assert {path: path.read_bytes() for path in tiny.iterdir()} == before
    assert text.read_bytes() == (tiny / "text.txt").read_bytes()


def test_a_verb_replaces_a_file_of_another_kind_only_with_overwrite(tiny, tmp_path):
    path = tmp_path / "notes.txt"
    for schema, verb, arguments in (
        ("bound.spread", sharpmax.bound, {"spread": 3}),
        ("inspect", sharpmax.inspect, {"model": tiny}),
        ("tokenize", sharpmax.tokenize, {"model": tiny, "text_string": "It was"}),
        ("perplexity", sharpmax.perplexity, {"model": tiny, "text": tiny / "text.txt", "length": 64}),
    ):
        path.write_text("notes")
        sentence = rf"json: '.*notes.txt' exists and is not a result of schema sharpmax.{schema}/1; choose another name, or give overwrite=True to replace it"
        refused(sentence, verb, **arguments, json=path)
        assert path.read_text() == "notes"
        found = verb(**arguments, json=path, overwrite=True)
        assert json.loads(path.read_text())["schema"] == found.schema == f"sharpmax.{schema}/1"
        assert verb(**arguments, json=path).ok


def test_a_result_replaces_only_files_of_its_own_kind(tiny, tmp_path):
    found = sharpmax.bound(spread=3, n=4, normalizer="softmax")
    other = sharpmax.bound(tiny)
    path = tmp_path / "file"
    path.write_text("notes")
    ending = "choose another name, or give overwrite=True to replace it"
    refused(rf"path: '.*file' exists and is not a result of schema sharpmax.bound.spread/1; {ending}", found.save, path)
    refused(rf"path: '.*file' exists and is not a report page of sharpmax; {ending}", found.report, path)
    assert path.read_text() == "notes"
    found.save(path, overwrite=True)
    assert sharpmax.load_result(path).spread == 3
    found.save(path)
    refused(".* is not a result of schema sharpmax.bound.model/1; .*", other.save, path)
    found.report(path, overwrite=True)
    page = path.read_text()
    assert page.startswith("<!doctype html>")
    other.report(path)
    assert path.read_text() != page and not list(tmp_path.glob("*.partial"))


def test_a_page_never_replaces_the_results_that_it_is_of(tmp_path):
    path = tmp_path / "bound.json"
    sharpmax.bound(spread=3, n=4, normalizer="softmax").save(path)
    loaded = sharpmax.load_result(path)
    before = path.read_bytes()
    sentence = r"path: '.*bound.json' is an input of this call \(the file that it was loaded from\); an output never replaces an input"
    refused(sentence, loaded.report, path, overwrite=True)
    assert path.read_bytes() == before
    loaded.save(path)  # the same results


def in_a_process(script, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_an_interrupted_training_is_saved_says_how_to_go_on_and_ends_the_same(tmp_path):
    script = """
        import json, os, signal, sys
        import sharpmax

        keywords = dict(arms="paper", seeds=2, steps=4000, batch=16, sizes=[16, 64], normalizers="softmax", sets_scale=0.01,
                        checkpoint_seconds=1000, threads=2)

        def interrupt(line):
            os.kill(os.getpid(), signal.SIGINT)

        for resume in (False, True, True):
            try:
                sharpmax.retrieve(**keywords, directory=sys.argv[1], resume=resume, progress=interrupt)
                print("ended")
            except KeyboardInterrupt as error:
                print(error)
        found = sharpmax.retrieve(**keywords, directory=sys.argv[1], resume=True)
        whole = sharpmax.retrieve(**keywords, directory=sys.argv[2])
        print(found.notes[0])
        differs = ("created", "seconds", "command")
        print(*({key: value for key, value in one.data.items() if key not in differs} == {
            key: value for key, value in whole.data.items() if key not in differs} for one in (found,)))
    """
    *said, note, same = in_a_process(script, tmp_path / "run", tmp_path / "whole")
    sentence = (
        "interrupted; checkpoints and finished tests are saved; the same call with resume=True goes on from there"
    )
    assert said == [sentence] * 3 and same == "True"
    steps = [int(step.replace(",", "")) for step in re.findall(r"paper-\d at step ([\d,]+) of 4,000", note)]
    assert note.startswith("resuming: 0 of 2 heads trained, ") and len(steps) == 2
    assert all(step >= 3 * 16 for step in steps), note  # every attempt took some steps


def test_an_interrupt_says_what_is_lost_in_the_words_of_python(tiny):
    script = """
        import os, signal, sys
        import sharpmax

        def interrupt(line):
            os.kill(os.getpid(), signal.SIGINT)

        try:
            sharpmax.perplexity(sys.argv[1], text_string=open(sys.argv[2]).read() * 400, length=128, progress=interrupt)
        except KeyboardInterrupt as error:
            print(error)
    """
    sentence = "interrupted; nothing was saved; with json= finished chunks are saved, and resume=True goes on"
    assert in_a_process(script, tiny, tiny / "text.txt") == [sentence]


def test_the_signal_handler_of_a_caller_is_not_ours(tmp_path):
    """What the caller's own handler raises comes out as it is."""
    script = """
        import os, signal, sys
        import sharpmax

        class Enough(Exception):
            pass

        def handler(number, frame):
            raise Enough("mine")

        signal.signal(signal.SIGINT, handler)
        try:
            sharpmax.retrieve(arms="paper", steps=10**7, sizes=16, normalizers="softmax", directory=sys.argv[1],
                              checkpoint_seconds=1000, progress=lambda line: os.kill(os.getpid(), signal.SIGINT))
        except Enough as error:
            print(error, os.listdir(sys.argv[1] + "/checkpoints"))
    """
    assert in_a_process(script, tmp_path / "run") == ["mine ['paper-0.safetensors']"]
