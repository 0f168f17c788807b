"""Tiny Hugging Face models with weights large enough that attention is far from uniform."""

import functools
import os

import pytest

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
transformers.logging.set_verbosity_error()

VOCABULARY = 97
_SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
    "initializer_range": 0.2,
    "bos_token_id": 1,
    "eos_token_id": None,  # generation goes on to its full length
    "pad_token_id": 0,
}
_GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128, "n_inner": 48}
_IMAGE = {"image_size": 16, "patch_size": 4}


def _configs():
    grouped = {**_SIZES, "num_key_value_heads": 2}
    headed = {**_SIZES, "head_dim": 8}
    without = {name: value for name, value in _SIZES.items() if not name.endswith("_token_id")}
    gpt2 = {"vocab_size": VOCABULARY, "initializer_range": 0.2, **_GPT2}
    no_dropout = {"attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0}
    ends = {"bos_token_id": 1, "eos_token_id": None, "pad_token_id": 0}
    t5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "dropout_rate": 0.0}
    sides = ("encoder", "decoder")
    bart = {f"{side}_{what}": value for side in sides for what, value in
            {"layers": 2, "attention_heads": 4, "ffn_dim": 48}.items()}  # fmt: skip
    return {
        "gpt2": ("GPT2", "LMHeadModel", {**gpt2, **no_dropout, **ends}),
        "llama": ("Llama", "ForCausalLM", grouped),
        "qwen2": ("Qwen2", "ForCausalLM", grouped),
        "gemma": ("Gemma", "ForCausalLM", {**headed, "num_key_value_heads": 1}),
        # Every second layer has a window of 5; scores are capped where these do not stay below it.
        "gemma2": ("Gemma2", "ForCausalLM",
                   {**headed, "num_key_value_heads": 2, "sliding_window": 5, "attn_logit_softcapping": 1.5}),
        "mistral": ("Mistral", "ForCausalLM", {**grouped, "sliding_window": 5}),
        "llama4": ("Llama4", "ForCausalLM", {**headed, "num_key_value_heads": 2, "num_local_experts": 2,
                                             "attention_chunk_size": 5, "intermediate_size_mlp": 48}),
        "bert": ("Bert", "Model", {**without, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}),
        "t5": ("T5", "ForConditionalGeneration",
               {"vocab_size": VOCABULARY, **t5, "decoder_start_token_id": 0, "eos_token_id": None}),
        "bart": ("Bart", "ForConditionalGeneration",
                 {"vocab_size": VOCABULARY, "d_model": 32, "max_position_embeddings": 128, "dropout": 0.0,
                  "init_std": 0.2, "forced_eos_token_id": None, **bart, **ends}),
        "vit": ("ViT", "Model", {**without, **_IMAGE}),
        "gpt_oss": ("GptOss", "ForCausalLM", {**headed, "num_key_value_heads": 2, "num_local_experts": 4,
                                              "num_experts_per_tok": 2}),
        "xlnet": ("XLNet", "Model",
                  {"vocab_size": VOCABULARY, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48}),
    }  # fmt: skip


def make_model(name, **settings):
    family, head, config = _configs()[name]
    config_class = {"Llama4": "Llama4TextConfig"}.get(family, f"{family}Config")
    torch.manual_seed(11)
    config = getattr(transformers, config_class)(**{**config, **settings})
    model = getattr(transformers, family + head)(config).eval()
    model.set_attn_implementation("eager")
    return model


@pytest.fixture(scope="session")
def tiny():
    """tiny("llama"): made once, in eval mode, eager; whoever changes it must change it back."""
    return functools.lru_cache(maxsize=None)(make_model)


@pytest.fixture
def make():
    """make("llama", attention_dropout=0.1): a new one each time."""
    return make_model


@pytest.fixture(scope="session")
def tokens():
    """[2, 12]"""
    return torch.randint(3, VOCABULARY, (2, 12), generator=torch.Generator().manual_seed(5))


@pytest.fixture(scope="session")
def padding(tokens):
    """ "none", "left" or "right" to an attention mask in which the first sequence has 4 tokens less."""
    left, right = torch.ones_like(tokens), torch.ones_like(tokens)
    left[0, :4] = 0
    right[0, -4:] = 0
    return {"none": None, "left": left, "right": right}
