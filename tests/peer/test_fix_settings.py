"""The settings of llama.cpp that `sharpmax fix` names do in llama.cpp what the rule does here: losses on the same text."""
import json
import os
import subprocess

import llama_cpp
import numpy
import pytest
from fetched import TEXT, model_or_skip

BINARY = os.environ["SHARPMAX_BINARY"]
TOKENS = 128
RULES = ["softmax:beta=1.44", "rope=ntk:64", "rope=linear:2", "rope=yarn:4", "softmax:beta=1.2;rope=linear:1.5"]
# option -> (words after flash_attention in llama_context_params, type, value of an argument)
FIELDS = {"--rope-freq-base": (1, "f", float), "--rope-scale": (2, "f", lambda text: 1 / float(text)),
          "--yarn-attn-factor": (4, "f", float), "--yarn-beta-fast": (5, "f", float), "--yarn-beta-slow": (6, "f", float),
          "--yarn-orig-ctx": (7, "i", int)}
SCALING = {"none": 0, "linear": 1, "yarn": 2}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    model_or_skip()
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(TEXT.read_text()[:4000])
    return path


@pytest.fixture(scope="module")
def trials(text, tmp_path_factory):
    task = tmp_path_factory.mktemp("task") / "task.jsonl"
    task.write_text('{"prompt": "One, two,", "answer": "three"}\n' * 2)
    rules = [word for rule in RULES for word in ("--rule", rule)]
    done = subprocess.run([BINARY, "fix", model_or_skip(), "--text", text, "--task", task, "--tokens", str(TOKENS), "--length",
                           str(TOKENS), "--no-search", "--threads", "1", *rules, "--json", "-"], capture_output=True, check=True)
    return {trial["rule"]: trial for trial in json.loads(done.stdout)["trials"]}


@pytest.fixture(scope="module")
def model():
    with llama_cpp.Model(model_or_skip()) as loaded:
        yield loaded


def with_setting(functions, setting):
    """Default parameters of a context, with what the options say."""
    parameters = functions.llama_context_default_params()
    flash = llama_cpp.context_offsets(parameters)["flash_attention"]
    words = iter(setting.split())
    for option in words:
        if option == "--rope-scaling":
            parameters.put(flash - 12, "i", SCALING[next(words)])
        else:
            after, kind, value = FIELDS[option]
            parameters.put(flash + 4 * after, kind, value(next(words)))
    return parameters


def run_losses(model, text, runs):
    """Sums of losses over the same runs of tokens."""
    tokens = model.tokenize(text.read_bytes())[:TOKENS]
    with model.context(TOKENS, cache="f32", flash_attention=False) as context:
        logits = context.logits(tokens[:-1]).astype(numpy.float64)
    top = logits.max(axis=1, keepdims=True)
    losses = numpy.log(numpy.exp(logits - top).sum(axis=1)) + top[:, 0] - logits[range(len(tokens) - 1), tokens[1:]]
    ends = numpy.cumsum([run[1] for run in runs])
    return numpy.array([losses[end - run[1]:end].sum() for run, end in zip(runs, ends)])


@pytest.mark.parametrize("rule", RULES)
def test_a_setting_does_what_the_rule_does(rule, trials, model, text, monkeypatch):
    here = trials[rule]["tuning"]["runs"]
    setting = trials[rule]["llama_cpp"]
    assert setting, "llama.cpp can do this"
    plain = run_losses(model, text, here)
    offsets = llama_cpp.context_offsets(model.call.llama_context_default_params())
    parameters = with_setting(model.call, setting)
    monkeypatch.setattr(model.call, "llama_context_default_params", lambda: parameters)
    monkeypatch.setattr(llama_cpp, "context_offsets", lambda _: offsets)
    set_so = run_losses(model, text, here)
    ours = numpy.array([run[2] for run in here])
    apart, moved = numpy.abs(set_so - ours).max(), numpy.abs(plain - ours).max()
    print(f"{rule}: {setting}: at most {apart:.3f} nats a run apart; without the setting {moved:.3f}")
    # llama.cpp rounds activations to 8 bits, which moves a run by about a tenth of a nat.
    nothing = numpy.array([run[2] for run in trials["nothing"]["tuning"]["runs"]])
    noise = numpy.abs(plain - nothing).max()
    assert apart < 3 * noise, (setting, apart, noise)
    assert moved > 3 * noise, "the rule does too little for this test to tell"
