"""patch(): which normalizer each head has, what is put back, and what is refused in one sentence."""

import copy
import io
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import sharpmax.hf  # noqa: E402
import sharpmax.torch  # noqa: E402
from sharpmax.hf._attention import attention_forward  # noqa: E402
from sharpmax.hf._heads import Heads  # noqa: E402


def learned_scale(heads=None):
    return sharpmax.torch.Learnable("ssmax", heads, learn="s", s=0.4)


def supports(model, tokens):
    """[layer, head]: mean number of keys with any weight."""
    with torch.no_grad(), sharpmax.hf.watch(model) as stats:
        model(tokens, use_cache=False)
    return stats.support


MEAN_LENGTH = 6.5  # of the rows of 12 causal tokens


@pytest.mark.parametrize(
    ("normalizer", "hard"),
    [
        ("hard", [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)]),
        (sharpmax.Normalizer("hard"), [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)]),
        ({1: "hard"}, [(1, 0), (1, 1), (1, 2), (1, 3)]),
        ({(0, 2): "hard"}, [(0, 2)]),
        ({(0, 2): "hard", (0, 1): "hard", (1, 3): "hard"}, [(0, 1), (0, 2), (1, 3)]),
        ({(1, 0): "softmax", 1: "hard"}, [(1, 1), (1, 2), (1, 3)]),
        ({0: ["softmax", "hard", None, "hard"]}, [(0, 1), (0, 3)]),
        ({"model.layers.1.*": "hard"}, [(1, 0), (1, 1), (1, 2), (1, 3)]),
        ({("*.0.self_attn", 1): "hard"}, [(0, 1)]),
        ({}, []),
    ],
)
def test_each_head_has_the_normalizer_that_was_named_for_it(normalizer, hard, tiny, tokens):
    model = tiny("llama")
    with sharpmax.hf.patch(model, normalizer):
        found = supports(model, tokens)
    for layer in range(2):
        for head in range(4):
            assert found[layer, head] == pytest.approx(1.0 if (layer, head) in hard else MEAN_LENGTH), (layer, head)


@pytest.mark.parametrize("kv_heads", [1, 2, 3, 6])
@pytest.mark.parametrize("seed", range(6))
def test_runs_of_heads_give_what_each_head_gives_alone(seed, kv_heads):
    random = torch.Generator().manual_seed(seed)
    heads, choices = 6, ["softmax", "entmax15", "hard"]
    each = [choices[int(torch.randint(3, (), generator=random))] for _ in range(heads)]
    query = torch.randn(2, heads, 5, 8, generator=random)
    key, value = (torch.randn(2, kv_heads, 7, 8, generator=random) for _ in range(2))
    bias = torch.randn(1, heads, 5, 7, generator=random)
    module = torch.nn.Identity()
    module.__dict__["_sharpmax_heads"] = Heads(each=each)
    found, _ = attention_forward(module, query, key, value, None, position_bias=bias, is_causal=False)
    for head in range(heads):
        kv = slice(head // (heads // kv_heads), head // (heads // kv_heads) + 1)
        own = slice(head, head + 1)
        alone = sharpmax.torch.attention(
            query[:, own], key[:, kv], value[:, kv], attn_mask=bias[:, own], normalizer=each[head]
        )
        assert torch.allclose(found[:, :, head], alone[:, 0], atol=1e-6), f"seed {seed}, head {head}: {each}"


def test_heads_of_one_normalizer_go_in_one_call():
    heads = Heads(each=["softmax"] * 4 + ["hard"] * 3 + ["softmax"])
    assert [(piece[0], piece[1]) for piece in heads.pieces(8, 8)] == [
        ("softmax", slice(0, 4)),
        ("hard", slice(4, 7)),
        ("softmax", slice(7, 8)),
    ]
    assert len(Heads(each=["softmax"] * 8).pieces(8, 2)) == 1


def state_of(model):
    configs = {id(m.config): m.config for m in model.modules() if hasattr(m, "config")}
    return (
        [config._attn_implementation for config in configs.values()],
        sorted(name for name, _ in model.named_modules()),
        sorted(model.state_dict()),
        [sorted(module.__dict__) for module in model.modules()],
    )


@pytest.mark.parametrize("name", ["llama", "t5", "bert", "vit"])
def test_removing_a_patch_puts_everything_back(name, make):
    model = make(name)
    model.set_attn_implementation("sdpa" if name != "t5" else "eager")
    before = state_of(model)
    handle = sharpmax.hf.patch(model, learned_scale())
    assert set(state_of(model)[0]) == {"sharpmax"}
    handle.remove()
    handle.remove()
    assert state_of(model) == before
    with pytest.raises(RuntimeError, match="inside"), sharpmax.hf.patch(model, "hard"):
        raise RuntimeError("inside")
    assert state_of(model) == before


def test_patches_stack_and_may_be_removed_in_any_order(make, tokens):
    model = make("llama")
    before = state_of(model)
    first = sharpmax.hf.patch(model, "softmax:beta=3")
    second = sharpmax.hf.patch(model, {1: "hard"})
    assert supports(model, tokens)[1, 0] == 1.0
    first.remove()
    assert supports(model, tokens)[1, 0] == 1.0
    assert "removed" in repr(first) and "hard" in repr(second) and "removed" not in repr(second)
    second.remove()
    assert state_of(model) == before
    first = sharpmax.hf.patch(model, "hard")
    second = sharpmax.hf.patch(model, "softmax")
    second.remove()
    assert supports(model, tokens)[0, 0] == 1.0
    sharpmax.hf.unpatch(model)
    sharpmax.hf.unpatch(model)
    assert state_of(model) == before and not first.active


def test_a_copy_of_a_patched_model_is_patched_for_itself(make, tokens):
    model = make("llama")
    with sharpmax.hf.patch(model, {(1, 2): "hard", 0: learned_scale(4)}):
        twin = copy.deepcopy(model)
    assert supports(twin, tokens)[1, 2] == 1.0 and supports(model, tokens)[1, 2] == pytest.approx(MEAN_LENGTH)
    own = {id(part) for part in twin.parameters()}
    normalizer = twin.model.layers[0].self_attn.__dict__["_sharpmax_heads"].everywhere
    assert id(normalizer.raw_s) in own and all(id(part) not in own for part in model.parameters())
    sharpmax.hf.unpatch(twin)
    assert state_of(twin) == state_of(model)


def test_learned_parameters_are_the_models_and_move(make, tokens):
    model = make("llama").train()
    shared, own = learned_scale(), learned_scale(4)
    sharpmax.hf.patch(model, {0: shared, 1: own})
    names = [name for name, _ in model.named_parameters() if "sharpmax" in name]
    assert names == ["sharpmax_normalizers.0.raw_s", "sharpmax_normalizers.1.raw_s"]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(tokens, labels=tokens).loss
    loss.backward()
    assert own.raw_s.grad.shape == (4,) and bool((own.raw_s.grad != 0).all()) and bool(shared.raw_s.grad != 0)
    optimizer.step()
    with torch.no_grad():
        assert float(model(tokens, labels=tokens).loss) < float(loss.detach())
    stored = io.BytesIO()
    torch.save(model.state_dict(), stored)
    sharpmax.hf.unpatch(model)
    assert not any("sharpmax" in name for name in model.state_dict())


def test_a_learned_normalizer_given_twice_is_one(make):
    model = make("llama")
    one = learned_scale()
    with sharpmax.hf.patch(model, {0: one, (1, 2): one}) as handle:
        assert repr(handle) == "Patch(LlamaForCausalLM: softmax, ssmax (learned))"
        assert [name for name in model.state_dict() if "sharpmax" in name] == ["sharpmax_normalizers.0.raw_s"]


@pytest.mark.parametrize(
    ("normalizer", "error", "sentence"),
    [
        ({2: "hard"}, ValueError, "normalizer names layer 2; the model's attention is in layers 0 to 1"),
        ({-1: "hard"}, ValueError, "normalizer names layer -1; the model's attention is in layers 0 to 1"),
        ({(0, 4): "hard"}, ValueError, "head 4 of 'model.layers.0.self_attn'; it has heads 0 to 3"),
        ({(0, -1): "hard"}, ValueError, "head -1 of 'model.layers.0.self_attn'; it has heads 0 to 3"),
        ({(0, "a"): "hard"}, TypeError, "names head 'a' of 'model.layers.0.self_attn'; it must be a number"),
        ({(0, 1, 2): "hard"}, TypeError, r"the key \(0, 1, 2\); it must be a layer, a module's name, or"),
        ({0.5: "hard"}, TypeError, "the key 0.5; it must be a layer, a module's name, or"),
        ({"encoder.*": "hard"}, ValueError, r"names the module 'encoder.\*'; the model's attention is in"),
        ({0: ["hard"] * 3}, ValueError, "3 normalizers were given for 'model.layers.0.self_attn', which has 4 heads"),
        ("softmix", ValueError, "softmix"),
        (3, TypeError, "normalizer is a int; it must be text"),
        ({0: 3}, TypeError, "normalizer is a int; it must be text"),
        (sharpmax.Normalizer("ssmax", s=[0.1, 0.2]), ValueError, "has 2 values, one per head; .* under 4 heads"),
        ({(0, 1): learned_scale(4)}, ValueError, "has 4 values, one per head; .* under 1 heads"),
    ],
)
def test_a_place_that_the_model_does_not_have_is_refused(normalizer, error, sentence, tiny):
    model = tiny("llama")
    before = state_of(model)
    with pytest.raises(error, match=sentence) as raised:
        sharpmax.hf.patch(model, normalizer)
    assert "\n" not in str(raised.value)
    assert state_of(model) == before


def test_a_number_that_means_several_modules_is_refused(tiny):
    with pytest.raises(ValueError, match="layer 0; .* in modules such as 'encoder.block.0.layer.0.SelfAttention'"):
        sharpmax.hf.patch(tiny("t5"), {0: "hard"})


@pytest.mark.parametrize("call", [sharpmax.hf.patch, sharpmax.hf.watch])
def test_what_is_not_a_model_with_the_interface_is_refused(call, make):
    with pytest.raises(TypeError, match="model is a Linear; it must be a transformers.PreTrainedModel"):
        call(torch.nn.Linear(2, 2))
    with pytest.raises(ValueError, match="XLNetModel does not use Transformers' attention interface"):
        call(make("xlnet"))


def test_dropout_of_weights_is_refused_in_training_only(make, tokens):
    model = make("llama", attention_dropout=0.1)
    with sharpmax.hf.patch(model):
        model(tokens)
        model.train()
        with pytest.raises(ValueError, match="LlamaAttention drops 0.1 of its attention weights in training"):
            model(tokens)


def test_learned_sinks_are_kept(make, tokens):
    model = make("gpt_oss")
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.sinks.uniform_(-2.0, 2.0)
        wanted = model(tokens).logits
        with sharpmax.hf.patch(model):
            torch.testing.assert_close(model(tokens).logits, wanted, rtol=1e-4, atol=1e-4)
        with sharpmax.hf.watch(model, statistics=["mass"]) as watched:
            model(tokens)
        assert (watched.mass < 1.0).all()
        with sharpmax.hf.patch(model, "sink:c=0"):
            assert not torch.allclose(model(tokens).logits, wanted, atol=1e-3)


def test_learned_sinks_are_trained(make, tokens):
    model = make("gpt_oss")
    gradients = []
    for attention in ("eager", "sharpmax"):
        model.set_attn_implementation(attention)
        model.zero_grad()
        model(tokens, labels=tokens).loss.backward()
        gradients.append(model.model.layers[0].self_attn.sinks.grad.clone())
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", ["llama", "bert", "t5"])
def test_weights_are_refused_because_they_are_never_held(name, tiny, tokens):
    model = tiny(name)
    inputs = {"input_ids": tokens, "decoder_input_ids": tokens} if name == "t5" else {"input_ids": tokens}
    with sharpmax.hf.patch(model):
        with pytest.raises(ValueError, match="output_attentions is set; sharpmax never holds the weights"):
            model(**inputs, output_attentions=True)
        model(**inputs, output_attentions=False, output_hidden_states=True)


def test_weights_are_refused_to_a_config_that_wants_them(make, tokens):
    model = make("llama", attn_implementation="eager", output_attentions=True)
    with sharpmax.hf.patch(model), pytest.raises(ValueError, match="output_attentions is set"):
        model(tokens)


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ({"head_mask": torch.ones(4)}, "gave attn_implementation='sharpmax' head_mask"),
        ({"indices": torch.ones(4)}, "indices"),
        ({"novel_thing": 1}, "novel_thing, which it does not know"),
    ],
)
def test_an_argument_that_would_change_the_answer_is_never_dropped(argument, sentence):
    query = torch.zeros(1, 1, 2, 4)
    attention_forward(torch.nn.Identity(), query, query, query, None, **{name: None for name in argument})
    with pytest.raises(ValueError, match=sentence):
        attention_forward(torch.nn.Identity(), query, query, query, None, **argument)


@pytest.mark.parametrize("missing", ["torch", "transformers"])
def test_what_is_not_installed_is_named(missing):
    code = f"""
import sys, types
sys.modules["torch"] = types.ModuleType("torch")
sys.modules["{missing}"] = None
try:
    import sharpmax.hf
except ImportError as error:
    print(error)
"""
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **paths})
    assert done.stdout == f"sharpmax.hf needs {missing}: pip install 'sharpmax[hf]'\n", done.stderr


def test_a_model_on_another_device_runs_there(make, tokens):
    with torch.device("meta"):
        model = make("llama")
    with sharpmax.hf.patch(model, {0: "entmax15"}):
        logits = model(tokens.to("meta")).logits
    assert logits.device.type == "meta" and logits.shape[:2] == tokens.shape
