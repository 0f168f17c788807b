"""Tiny models of every architecture, made here with random weights; and the logits that sharpmax gives."""
import json
import os
import pathlib
import subprocess

import numpy
import torch
import transformers

TOOL = pathlib.Path(os.environ["SHARPMAX_BINARY"]).parent / "tests" / "logits_tool"
LENGTH = 45
VOCABULARY = 101

LLAMA = dict(vocab_size=VOCABULARY, hidden_size=48, intermediate_size=80, num_hidden_layers=3, num_attention_heads=6,
             num_key_value_heads=2, max_position_embeddings=64)
GEMMA = dict(vocab_size=VOCABULARY, hidden_size=48, intermediate_size=80, num_hidden_layers=4, num_attention_heads=4,
             num_key_value_heads=2, head_dim=16, max_position_embeddings=64)

# Every sixth of Gemma 3's layers sees everything.
GEMMA3 = GEMMA | dict(num_hidden_layers=7)
DEEPER = LLAMA | dict(num_hidden_layers=5)
SPECIAL = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2)  # the defaults lie beyond the vocabulary
MINISTRAL = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16,
             "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.3}
EXPERTS = dict(num_experts=7, num_experts_per_tok=3, moe_intermediate_size=40)
# Widths of whole blocks of MXFP4.
GPT_OSS = dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=6,
               num_key_value_heads=2, head_dim=16, max_position_embeddings=64, num_local_experts=5, num_experts_per_tok=2,
               sliding_window=7, pad_token_id=0, bos_token_id=1, eos_token_id=2)


def rope(**words):
    return {"rope_parameters": {"rope_theta": 10000.0, **words}}


MODELS = {
    "gpt2": transformers.GPT2Config(vocab_size=VOCABULARY, n_embd=48, n_layer=3, n_head=4, n_positions=64),
    "gpt2 with an inner width": transformers.GPT2Config(
        vocab_size=VOCABULARY, n_embd=48, n_layer=2, n_head=3, n_positions=64, n_inner=56),
    "llama": transformers.LlamaConfig(**LLAMA),
    "llama, tied": transformers.LlamaConfig(**LLAMA, tie_word_embeddings=True),
    "llama with biases": transformers.LlamaConfig(**LLAMA, attention_bias=True, mlp_bias=True),
    "llama with heads wider than its width": transformers.LlamaConfig(**LLAMA, head_dim=16),
    "llama, linear": transformers.LlamaConfig(**LLAMA, **rope(rope_type="linear", factor=2.5)),
    "llama, yarn": transformers.LlamaConfig(**LLAMA, **rope(
        rope_type="yarn", factor=4.0, original_max_position_embeddings=16)),
    "llama, yarn with its own numbers": transformers.LlamaConfig(**LLAMA, **rope(
        rope_type="yarn", factor=4.0, original_max_position_embeddings=24, beta_fast=8.0, beta_slow=0.5,
        attention_factor=1.3)),
    "llama 3": transformers.LlamaConfig(**LLAMA, **rope(
        rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=32)),
    "mistral": transformers.MistralConfig(**LLAMA, sliding_window=7),
    "mistral without a window": transformers.MistralConfig(**LLAMA, sliding_window=None),
    "qwen2": transformers.Qwen2Config(**LLAMA),
    "qwen2 with windows": transformers.Qwen2Config(**LLAMA, use_sliding_window=True, sliding_window=9,
                                                   max_window_layers=1),
    "gemma": transformers.GemmaConfig(**GEMMA),
    "gemma2": transformers.Gemma2Config(**GEMMA, query_pre_attn_scalar=24, sliding_window=6,
                                        attn_logit_softcapping=3.0, final_logit_softcapping=2.0),
    "gemma2 with the scale that GGUF files imply": transformers.Gemma2Config(
        **GEMMA, query_pre_attn_scalar=16, sliding_window=6, attn_logit_softcapping=3.0, final_logit_softcapping=2.0),
    "gemma2 without caps": transformers.Gemma2Config(**GEMMA, query_pre_attn_scalar=16, sliding_window=6,
                                                     attn_logit_softcapping=None, final_logit_softcapping=None),
    "qwen3": transformers.Qwen3Config(**LLAMA, head_dim=16),
    "qwen3 with biases and windows": transformers.Qwen3Config(
        **LLAMA, head_dim=8, attention_bias=True, use_sliding_window=True, sliding_window=9, max_window_layers=1),
    "gemma3": transformers.Gemma3TextConfig(**GEMMA3, query_pre_attn_scalar=16, sliding_window=6),
    "gemma3, stretched, with a scale and a cap": transformers.Gemma3TextConfig(
        **GEMMA3, query_pre_attn_scalar=24, sliding_window=6, final_logit_softcapping=2.0, rope_parameters={
            "sliding_attention": {"rope_type": "default", "rope_theta": 700.0},
            "full_attention": {"rope_type": "linear", "factor": 2.5, "rope_theta": 50000.0}}),
    "smollm3": transformers.SmolLM3Config(**DEEPER, **SPECIAL),
    "smollm3 that lists its layers": transformers.SmolLM3Config(**LLAMA, **SPECIAL, no_rope_layers=[0, 1, 0]),
    "ministral3": transformers.Ministral3Config(**LLAMA, head_dim=8, rope_parameters=MINISTRAL),
    "ministral3 with a magnitude": transformers.Ministral3Config(
        **LLAMA, head_dim=8, rope_parameters=MINISTRAL | {"mscale": 1.5, "mscale_all_dim": 0.5}),
    "olmo2": transformers.Olmo2Config(**LLAMA),
    "olmo3": transformers.Olmo3Config(**DEEPER, sliding_window=6, rope_parameters={
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
                           "original_max_position_embeddings": 16}}),
    "granite": transformers.GraniteConfig(**LLAMA, embedding_multiplier=3.0, logits_scaling=2.5, residual_multiplier=0.4,
                                          attention_multiplier=0.2),
    "phi3": transformers.Phi3Config(**LLAMA, **SPECIAL),
    "phi3 with a window": transformers.Phi3Config(**LLAMA, **SPECIAL, sliding_window=7),
    "phi4-mini": transformers.Phi3Config(
        **LLAMA, **SPECIAL, head_dim=8, original_max_position_embeddings=24, tie_word_embeddings=True, rope_parameters={
            "rope_type": "longrope", "rope_theta": 10000.0, "partial_rotary_factor": 0.75,
            "short_factor": [1.0, 1.2, 1.5], "long_factor": [1.1, 3.0, 7.0]}),
    "qwen3moe": transformers.Qwen3MoeConfig(**LLAMA, head_dim=16, **EXPERTS, norm_topk_prob=True),
    "qwen3moe with a dense layer, weighed over all experts": transformers.Qwen3MoeConfig(
        **LLAMA, head_dim=16, **EXPERTS, norm_topk_prob=False, mlp_only_layers=[1]),
    "gpt-oss": transformers.GptOssConfig(
        **GPT_OSS, rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "truncate": False,
                                    "original_max_position_embeddings": 16}),
}


def make(name, folder, length=LENGTH):
    """A model with weights large enough that every part shows in the logits, saved; and the logits it gives."""
    config = MODELS[name]
    config.attn_implementation = "eager"
    torch.manual_seed(sum(map(ord, name)))
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    with torch.no_grad():
        for part, weight in model.named_parameters():
            if part.endswith("sinks"):
                weight.copy_(1.5 * torch.randn_like(weight))
            elif part.endswith(("proj_bias", "router.bias")):  # of experts, which are not made small
                weight.copy_(0.3 * torch.randn_like(weight))
            elif weight.ndim == 1:
                weight += 0.3 * torch.randn_like(weight)
            else:
                weight.copy_(torch.randn_like(weight) / weight.shape[-1] ** 0.5 * (3 if "embed" in part else 1.5))
    model.save_pretrained(folder, safe_serialization=True)
    tokens = torch.randint(0, VOCABULARY, (length,))
    with torch.no_grad():
        logits = model(tokens[None]).logits[0]
    return tokens.tolist(), logits.numpy()


def ours(folder, tokens, tmp_path, **words):
    out = tmp_path / "logits"
    wish = {"model": str(folder), "tokens": tokens, "out": str(out), **words}
    answer = subprocess.run([TOOL], input=json.dumps(wish) + "\n", capture_output=True, text=True)
    reply = json.loads(answer.stdout)
    assert reply.get("written"), reply
    return numpy.fromfile(out, numpy.float32).reshape(len(tokens), reply["vocabulary"])
