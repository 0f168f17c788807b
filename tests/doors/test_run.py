"""`sharpmax run` and `sharpmax perplexity` at the command line, over a tiny model made here: what they print, what they
refuse, and that work cut short is not lost."""
import json
import math
import signal
import subprocess

import pytest
import torch
import transformers

from tiny_folder import BINARY, TEXT, refused, sharpmax, write_tiny_folder
from waiting import wait_until


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_tiny_folder(tmp_path_factory.mktemp("tiny"))


def run_json(folder, *words):
    done = sharpmax("run", folder, "--json", "-", "--tokens", 24, *words)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def test_greedy_text_is_that_of_transformers(folder):
    fast = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    prompt = fast("It was the", return_tensors="pt")
    wanted = model.generate(**prompt, max_new_tokens=24, do_sample=False)[0, prompt.input_ids.shape[1]:].tolist()
    if wanted[-1] == 0:
        wanted.pop()
    got = run_json(folder, "--prompt", "It was the")
    assert got["tokens"] == wanted
    assert got["text"] == fast.decode(wanted)
    text = sharpmax("run", folder, "--prompt", "It was the", "--tokens", 24)
    assert text.stdout.decode(errors="replace") == fast.decode(wanted) + "\n"
    assert "tokens/s" in text.stderr.decode()


def test_a_seed_gives_the_same_text_again_and_another_seed_another(folder):
    words = ["--prompt", "It", "--temperature", 1.5]
    first = run_json(folder, *words, "--seed", 1)["tokens"]
    assert run_json(folder, *words, "--seed", 1, "--threads", 1)["tokens"] == first
    assert run_json(folder, *words, "--seed", 2)["tokens"] != first
    greedy = run_json(folder, "--prompt", "It")["tokens"]
    assert run_json(folder, *words, "--top-k", 1)["tokens"] == greedy
    assert run_json(folder, *words, "--top-p", 1e-9)["tokens"] == greedy


def test_a_normalizer_is_heeded_and_a_table_of_it_is_the_same(folder, tmp_path):
    plain = run_json(folder, "--prompt", TEXT[:300])["tokens"]
    hard = run_json(folder, "--prompt", TEXT[:300], "--normalizer", "hard")["tokens"]
    assert hard != plain
    table = tmp_path / "table.json"
    table.write_text(json.dumps({"schema": "sharpmax.normalizers/1", "layers": [
        {"layer": layer, "normalizer": "hard"} for layer in range(2)]}))
    assert run_json(folder, "--prompt", TEXT[:300], "--normalizers", table)["tokens"] == hard


def test_chat_wraps_the_prompt_as_the_template_does(folder):
    fast = transformers.AutoTokenizer.from_pretrained(folder)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]
    text = fast.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    wanted = fast(text, add_special_tokens=False).input_ids
    assert run_json(folder, "--chat", "--system", "Be brief.", "--prompt", "Who?")["prompt_tokens"] == wanted


def test_inspect_says_that_it_runs(folder):
    found = json.loads(sharpmax("inspect", folder, "--json", "-").stdout)
    assert found["architecture"] == {"name": "llama", "runs_here": True, "why_not": None}


def test_special_words_are_text_unless_asked_for(folder):
    assert 0 not in run_json(folder, "--prompt", "a<|end|>b")["prompt_tokens"]
    assert 0 in run_json(folder, "--prompt", "a<|end|>b", "--special")["prompt_tokens"]


def test_prompts_come_from_files_and_standard_input(folder, tmp_path):
    (tmp_path / "p").write_text("It was")
    words = ["--tokens", 8, "--quiet"]
    wanted = sharpmax("run", folder, "--prompt", "It was", *words).stdout
    assert sharpmax("run", folder, "--prompt-file", tmp_path / "p", *words).stdout == wanted
    assert sharpmax("run", folder, "--prompt-file", "-", *words, input=b"It was").stdout == wanted


def test_bad_wishes_are_refused_in_one_sentence(folder, tmp_path):
    assert "empty" in refused(2, "run", folder, "--prompt", "")
    assert "no prompt" in refused(2, "run", folder)
    assert "no model" in refused(2, "run", "--prompt", "a")
    assert "room for 256" in refused(4, "run", folder, "--prompt", TEXT * 3)
    assert "room for 4" in refused(4, "run", folder, "--prompt", TEXT, "--context", 4)
    assert "temperature" in refused(2, "run", folder, "--prompt", "a", "--temperature", -1)
    assert "top-p" in refused(2, "run", folder, "--prompt", "a", "--top-p", 0)
    assert "--system goes with --chat" in refused(2, "run", folder, "--prompt", "a", "--system", "b")
    assert "rope scaling" in refused(2, "run", folder, "--prompt", "a", "--rope-scaling", "ntk")
    assert "softmaxx" in refused(2, "run", folder, "--prompt", "a", "--normalizer", "softmaxx")
    assert "not enough memory" in refused(4, "run", folder, "--prompt", "a", "--context", 2**30, "--tokens", 2**30)
    assert "missing.gguf" in refused(3, "run", tmp_path / "missing.gguf", "--prompt", "a")


def test_a_table_that_names_a_head_that_is_not_there_is_refused(folder, tmp_path):
    table = tmp_path / "table.json"
    table.write_text(json.dumps({"schema": "sharpmax.normalizers/1", "heads": [{"layer": 1, "head": 4, "normalizer": "hard"}]}))
    for verb, words in (("run", ["--prompt", "a"]), ("perplexity", ["--text", folder / "text.txt"])):
        assert "there is no head 4 in layer 1" in refused(3, verb, folder, "--normalizers", table, *words)


def copy_with(folder, target, change):
    target.mkdir()
    for file in folder.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    config = json.loads((target / "config.json").read_text())
    change(config)
    (target / "config.json").write_text(json.dumps(config))
    return target


def test_models_that_cannot_run_are_refused(folder, tmp_path):
    def become(**words):
        return lambda config: config.update(words)

    cases = {
        "unknown": (become(model_type="mamba"), "gpt2 (GPT-2)"),
        "mamba": (become(model_type="mamba2"), "It has a recurrent state instead of attention, which sharpmax does not have."),
        "hybrid": (become(model_type="granitemoehybrid"), "It has Mamba layers beside attention"),
        "mla": (become(model_type="deepseek_v3"), "It has latent attention (MLA)"),
        "delta": (become(model_type="qwen3_next"), "It has gated delta nets"),
        "llama4": (become(model_type="llama4_text"), "It has attention in chunks"),
        "gemma4": (become(model_type="gemma4_text"), "It has heads of several widths"),
        "glm": (become(model_type="glm4"), "It has a rotation of half of each head"),
        "lfm2": (become(model_type="lfm2"), "It has convolutions beside attention"),
        "heads": (become(num_key_value_heads=3), "4 query heads cannot share 3"),
        "none": (become(num_attention_heads=0), "between 1 and 2^31"),
        "layers": (become(num_hidden_layers=3), "there is no tensor"),
        "width": (become(hidden_size=16, head_dim=8), "; expected ["),
        "text": (become(num_hidden_layers="2"), "must be a whole number"),
        "activation": (become(hidden_act="relu"), "'relu'"),
        "rope": (become(rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4}), "'dynamic'"),
        "longrope": (become(rope_parameters={"rope_type": "longrope", "rope_theta": 1e4}), "long_factor has 0 numbers"),
    }
    for name, (change, words) in cases.items():
        model = copy_with(folder, tmp_path / name, change)
        assert words in refused(3, "run", model, "--prompt", "a"), name


def test_another_chat_template_is_run_and_what_it_cannot_have_is_named(folder, tmp_path):
    model = copy_with(folder, tmp_path / "m", lambda config: None)
    (model / "chat_template.jinja").write_text("{% set n = messages | length %}{{ n }}{{ messages[-1].content | upper }}{{ eos_token }}")
    fast = transformers.AutoTokenizer.from_pretrained(folder)
    assert run_json(model, "--chat", "--prompt", "abc")["prompt_tokens"] == fast("1ABC<|end|>", add_special_tokens=False).input_ids
    (model / "chat_template.jinja").write_text("\n{{ messages | sort }}")
    assert "chat template, line 2: the filter 'sort' is not supported" in refused(2, "run", model, "--chat", "--prompt", "a")
    (model / "chat_template.jinja").write_text("{{ raise_exception('No system message, please.') }}")
    assert "refuses this conversation: No system message, please." in refused(2, "run", model, "--chat", "--prompt", "a")
    (model / "chat_template.jinja").write_text("")
    assert "has no chat template" in refused(2, "run", model, "--chat", "--prompt", "a")


def test_several_prompts_are_answered_as_if_each_were_alone(folder):
    prompts = ["It was the best", "wisdom", "It was the best"]
    together = run_json(folder, "--temperature", 1.5, "--seed", 4, *[word for prompt in prompts for word in ("--prompt", prompt)])
    answers = [together, *together["further"]]
    for prompt, answer in zip(prompts, answers, strict=True):
        alone = run_json(folder, "--temperature", 1.5, "--seed", 4, "--prompt", prompt)
        assert "further" not in alone
        assert all(answer[key] == alone[key] for key in ("prompt_tokens", "tokens", "text", "ending"))
    words = [word for prompt in prompts for word in ("--prompt", prompt)]
    text = sharpmax("run", folder, "--tokens", 24, "--temperature", 1.5, "--seed", 4, *words)
    assert text.stdout.decode(errors="replace") == "".join(answer["text"] + "\n" for answer in answers)
    assert text.stderr.decode().count("tokens/s") == 2 * len(prompts)
    assert "empty" in refused(2, "run", folder, "--prompt", "a", "--prompt", "")
    assert "room for 256" in refused(4, "run", folder, "--prompt", "a", "--prompt", TEXT * 3)


def perplexity(folder, *words):
    done = sharpmax("perplexity", folder, "--text", folder / "text.txt", "--length", 200, "--json", "-", *words)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def test_losses_are_those_of_transformers(folder):
    fast = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    tokens = fast(TEXT, add_special_tokens=False, return_tensors="pt").input_ids[0]
    got = perplexity(folder)
    assert got["complete"] and got["settings"]["tokens"] == len(tokens)
    wanted = []
    for chunk in tokens.split(200):
        if len(chunk) > 1:
            with torch.no_grad():
                wanted += torch.nn.functional.cross_entropy(model(chunk[None]).logits[0, :-1], chunk[1:], reduction="none").tolist()
    losses = [loss for chunk in got["chunks"] for loss in chunk["losses"]]
    assert losses == pytest.approx(wanted, abs=2e-3)
    assert got["all"]["loss"] == pytest.approx(sum(wanted) / len(wanted), abs=1e-4)
    assert got["all"]["perplexity"] == pytest.approx(math.exp(got["all"]["loss"]))
    assert sum(bucket["tokens"] for bucket in got["buckets"]) == len(wanted)
    assert [bucket["from"] for bucket in got["buckets"]] == [0, 128]


def test_a_killed_run_goes_on_to_the_same_answer(folder, tmp_path):
    whole, cut = tmp_path / "whole.json", tmp_path / "cut.json"
    (tmp_path / "long.txt").write_text(TEXT * 40)
    words = [BINARY, "perplexity", folder, "--text", tmp_path / "long.txt", "--length", "64", "--json"]
    subprocess.run([*words, whole], check=True, capture_output=True)
    running = subprocess.Popen([*words, cut], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: cut.exists() and json.loads(cut.read_text())["chunks"], running)
    running.send_signal(signal.SIGKILL)
    running.wait()
    first = json.loads(cut.read_text())
    assert 0 < len(first["chunks"]) and not first["complete"], "the run was over before it was killed"
    subprocess.run([*words, cut, "--resume"], check=True, capture_output=True)
    results = [json.loads(path.read_text()) for path in (whole, cut)]
    for result in results:
        del result["seconds"], result["command"], result["created"]
    assert results[0] == results[1]
    other = sharpmax("perplexity", folder, "--text", tmp_path / "long.txt", "--length", 32, "--json", cut, "--resume")
    assert other.returncode == 3 and b"other settings" in other.stderr
    # Another text of as many tokens.
    swapped = TEXT.replace("best", "?").replace("worst", "best").replace("?", "worst")
    (tmp_path / "long.txt").write_text(swapped + TEXT * 39)
    assert b"other settings" in subprocess.run([*words, cut, "--resume"], capture_output=True).stderr


def test_a_chunk_may_be_as_long_as_the_context(folder, tmp_path):
    done = sharpmax("perplexity", folder, "--text", folder / "text.txt", "--json", "-")
    assert done.returncode == 0 and b"note:" not in done.stderr, done.stderr
    assert json.loads(done.stdout)["settings"]["length"] == 256
    learned = tmp_path / "gpt2"
    config = transformers.GPT2Config(vocab_size=512, n_embd=16, n_layer=1, n_head=2, n_positions=32)
    transformers.GPT2LMHeadModel(config).save_pretrained(learned)
    (learned / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    done = sharpmax("perplexity", learned, "--text", folder / "text.txt", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["chunks"][0]["losses"]) == 31
    assert "learned 32 positions" in refused(2, "perplexity", learned, "--text", folder / "text.txt", "--context", 33)


def test_interrupting_generation_exits_130(folder):
    running = subprocess.Popen([BINARY, "run", folder, "--prompt", "It", "--tokens", "1000000", "--context", "1000000",
                                "--temperature", "2"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert running.stdout.read(1)
    running.send_signal(signal.SIGINT)
    running.stdout.read()
    assert running.wait() == 130


def test_the_table_fits_80_columns(folder):
    done = sharpmax("perplexity", folder, "--text", folder / "text.txt")
    assert done.returncode == 0
    assert all(len(line) <= 80 for line in done.stdout.decode().splitlines() if not line.startswith("  sharpmax "))
    for verb in ("run", "perplexity"):
        assert all(len(line) <= 80 for line in sharpmax(verb, "--help").stdout.decode().splitlines())
