"""A tiny model that transformers saved, as the GGUF file that llama.cpp's conversion makes of it: names, order of rows,
transposed and shifted weights."""
import json
import math

import gguf
import numpy
import safetensors.numpy

# What Llama's relatives call their parts.
LAYER = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
}
LAYER |= {"mlp.gate": "ffn_gate_inp", "mlp.experts.gate_proj": "ffn_gate_exps", "mlp.experts.up_proj": "ffn_up_exps",
          "mlp.experts.down_proj": "ffn_down_exps"}
LAYER |= {"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
          "self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"}
NORMS_AFTER = LAYER | {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
                       "post_feedforward_layernorm": "post_ffw_norm"}
GPT_OSS = LAYER | {"post_attention_layernorm": "post_attention_norm", "mlp.router": "ffn_gate_inp",
                   "self_attn.sinks": "attn_sinks"}
GPT2 = {"attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
        "ln_1": "attn_norm", "ln_2": "ffn_norm"}
# config.json's model_type where GGUF's architecture has another name.
ARCHITECTURES = {"gemma3_text": "gemma3", "ministral3": "mistral3", "olmo3": "olmo2", "qwen3_moe": "qwen3moe", "gpt_oss": "gpt-oss"}
INTERLEAVED = ("llama", "smollm3", "ministral3", "granite")
WHOLE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
         "transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm"}


def new_name(name, kind):
    part, suffix = name.rsplit(".", 1)
    if part in WHOLE:
        return f"{WHOLE[part]}.{suffix}"
    _, _, layer, rest = part.split(".", 3)
    names = {"gpt2": GPT2, "gemma2": NORMS_AFTER, "gemma3_text": NORMS_AFTER, "olmo2": NORMS_AFTER,
             "olmo3": NORMS_AFTER, "gpt_oss": GPT_OSS}.get(kind, LAYER)
    return f"blk.{layer}.{names[rest]}.{suffix}"


def interleaved(weight, heads):
    """The halves of a head, turned together, side by side: what llama.cpp wants of Llama."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def converted(name, weight, config):
    kind = config["model_type"]
    if kind == "gpt2" and any(part in name for part in ("c_attn", "c_proj", "c_fc")):
        return weight.T
    if kind.startswith("gemma") and "norm" in name:
        return weight + 1
    if kind in INTERLEAVED and "q_proj" in name:
        return interleaved(weight, config["num_attention_heads"])
    if kind in INTERLEAVED and "k_proj" in name:
        return interleaved(weight, config["num_key_value_heads"])
    return weight


def llama3_divisors(config, rope):
    """As llama.cpp's conversion computes rope_freqs."""
    width = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    frequencies = 1.0 / rope["rope_theta"] ** (numpy.arange(0, width, 2) / width)
    low = rope["original_max_position_embeddings"] / rope["low_freq_factor"]
    high = rope["original_max_position_embeddings"] / rope["high_freq_factor"]
    divisors = []
    for frequency in frequencies:
        length = 2 * numpy.pi / frequency
        if length < high:
            divisors.append(1.0)
        elif length > low:
            divisors.append(rope["factor"])
        else:
            smooth = (rope["original_max_position_embeddings"] / length - rope["low_freq_factor"]) / (
                rope["high_freq_factor"] - rope["low_freq_factor"])
            divisors.append(1.0 / ((1 - smooth) / rope["factor"] + smooth))
    return numpy.array(divisors, numpy.float32)


def add_longrope(writer, config, rope):
    original = config["original_max_position_embeddings"]
    longer = config["max_position_embeddings"] / original
    writer.add_rope_scaling_type(gguf.RopeScalingType.LONGROPE)
    writer.add_rope_scaling_orig_ctx_len(original)
    writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(longer) / math.log(original)))
    writer.add_tensor("rope_factors_long.weight", numpy.array(rope["long_factor"], numpy.float32))
    writer.add_tensor("rope_factors_short.weight", numpy.array(rope["short_factor"], numpy.float32))


def add_rope(writer, config):
    rope = config.get("rope_parameters") or {}
    if "full_attention" in rope:
        if config["model_type"] == "gemma3_text":
            writer.add_rope_freq_base_swa(rope["sliding_attention"]["rope_theta"])
        rope = rope["full_attention"]
    width = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    writer.add_rope_dimension_count(int(width * rope.get("partial_rotary_factor", 1.0)))
    writer.add_rope_freq_base(rope.get("rope_theta", 10000.0))
    if rope.get("rope_type") == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if rope.get("mscale_all_dim"):
        writer.add_rope_scaling_yarn_log_mul(rope["mscale_all_dim"])
        writer.add_attn_temperature_scale(rope["llama_4_scaling_beta"])
    if rope.get("rope_type") == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    if rope.get("rope_type") == "longrope":
        add_longrope(writer, config, rope)
    if rope.get("rope_type") == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_divisors(config, rope))


def add_sizes(writer, config):
    if config["model_type"] == "gpt2":
        writer.add_block_count(config["n_layer"])
        writer.add_context_length(config["n_positions"])
        writer.add_embedding_length(config["n_embd"])
        writer.add_feed_forward_length(config.get("n_inner") or 4 * config["n_embd"])
        writer.add_head_count(config["n_head"])
        writer.add_layer_norm_eps(config["layer_norm_epsilon"])
        return
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    if config.get("head_dim"):
        writer.add_key_length(config["head_dim"])
        writer.add_value_length(config["head_dim"])
    if config["model_type"] == "gemma2":
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    if config["model_type"] in ("gemma2", "gemma3_text", "olmo3", "gpt_oss"):
        writer.add_sliding_window(config["sliding_window"])
    if config["model_type"] == "olmo3":
        writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config["layer_types"]])
    if config["model_type"] == "granite":
        writer.add_embedding_scale(config["embedding_multiplier"])
        writer.add_attention_scale(config["attention_multiplier"])
        writer.add_residual_scale(config["residual_multiplier"])
        writer.add_logit_scale(config["logits_scaling"])
    add_rope(writer, config)


def stacked(weights):
    """One tensor for all experts of a layer, as GGUF files have them: gpt-oss's gate and up apart and by output."""
    found, experts = {}, {}
    for name, weight in weights.items():
        start, _, rest = name.partition(".experts.")
        if not rest:
            found[name if not name.endswith("sinks") else name + ".weight"] = weight
        elif rest.split(".")[0].isdigit():
            number, part = rest.split(".", 1)
            experts.setdefault(f"{start}.experts.{part}", {})[int(number)] = weight
        elif rest in ("gate_up_proj", "gate_up_proj_bias"):
            for part, offset in (("gate_proj", 0), ("up_proj", 1)):
                half = weight[..., offset::2]
                suffix = "bias" if rest.endswith("bias") else "weight"
                found[f"{start}.experts.{part}.{suffix}"] = half if suffix == "bias" else half.swapaxes(1, 2)
        else:
            part, _, bias = rest.partition("_proj")
            found[f"{start}.experts.{part}_proj.{'bias' if bias else 'weight'}"] = weight if bias else weight.swapaxes(1, 2)
    return found | {name: numpy.stack([each[i] for i in range(len(each))]) for name, each in experts.items()}


def add_experts(writer, config):
    writer.add_expert_count(config.get("num_experts") or config["num_local_experts"])
    writer.add_expert_used_count(config["num_experts_per_tok"])
    writer.add_expert_feed_forward_length(config.get("moe_intermediate_size") or config["intermediate_size"])


def write(folder, file, tensors_per_file=0, experts_as=None):
    """With tensors_per_file, several files: FILE-00001-of-0000N.gguf and the others beside it. experts_as: a quantized type."""
    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(file, ARCHITECTURES.get(config["model_type"], config["model_type"]),
                             split_max_tensors=tensors_per_file)
    add_sizes(writer, config)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("no_vocab")
    if "num_experts_per_tok" in config:
        add_experts(writer, config)
    for name, weight in stacked(safetensors.numpy.load_file(folder / "model.safetensors")).items():
        if name == "lm_head.weight" and config.get("tie_word_embeddings"):
            continue
        weight = numpy.ascontiguousarray(converted(name, weight, config), numpy.float32)
        if experts_as and ".experts." in name and name.endswith("weight"):
            writer.add_tensor(new_name(name, config["model_type"]), gguf.quantize(weight, experts_as), raw_dtype=experts_as)
        else:
            writer.add_tensor(new_name(name, config["model_type"]), weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
