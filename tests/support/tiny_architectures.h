// Small models with random weights of every architecture as GGUF files, for tests of what looks at weights.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "support/files.h"
#include "support/gguf_writer.h"
#include "support/random.h"

namespace sharpmax::test {

struct TinyArchitecture {
  std::string name = "llama";  // llama, qwen2, qwen3, gpt2, gemma, gemma2, gemma3, olmo2
  std::uint32_t layers = 2, heads = 4, kv_heads = 2, head_width = 16, width = 40, hidden = 48, context = 48,
                vocabulary = 60;
  std::uint32_t turned = 16;  // features of a head that are rotary
  double bias = 0.5;          // size of biases, where the architecture has them
  float yarn = 0;             // factor; 0: none
  // Called on the writer before its bytes are taken: what a test wants otherwise.
  std::function<void(GgufWriter&)> more = {};

  bool gpt2() const { return name == "gpt2"; }
  bool olmo2() const { return name == "olmo2"; }
  bool normalizes_heads() const { return name == "qwen3" || name == "gemma3"; }

  void write(const std::filesystem::path& path, std::uint64_t seed = 1) const {
    Random random(seed);
    GgufWriter file;
    add_settings(file);
    const auto tensor = [&](const std::string& full, std::vector<std::uint64_t> shape, double mean,
                            double size) {
      std::uint64_t count = 1;
      for (const std::uint64_t extent : shape) count *= extent;
      std::string data;
      for (std::uint64_t i = 0; i < count; ++i)
        data += raw(static_cast<float>(mean + size * random.normal()));
      file.add_tensor(full, GgufWriter::f32, shape, data);
    };
    const auto projection = [&](const std::string& part, std::uint32_t rows, std::uint32_t columns,
                                bool biased) {
      tensor(part + ".weight", {rows, columns}, 0.0, 1.5 / std::sqrt(columns));
      if (biased) tensor(part + ".bias", {rows}, 0.2 * bias, bias);
    };
    const auto norm_of = [&](const std::string& part, std::uint32_t features) {
      tensor(part + ".weight", {features}, 1.0, 0.3);
    };
    const auto norm = [&](const std::string& part) {
      norm_of(part, width);
      if (gpt2()) tensor(part + ".bias", {width}, 0.1, 0.3);
    };
    projection("token_embd", vocabulary, width, false);
    if (gpt2()) projection("position_embd", context, width, false);
    norm("output_norm");
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      const std::string block = "blk." + std::to_string(layer) + ".";
      const std::uint32_t queries = heads * head_width, keys = (gpt2() ? heads : kv_heads) * head_width;
      if (!olmo2()) norm(block + "attn_norm");
      if (olmo2()) norm_of(block + "attn_q_norm", queries), norm_of(block + "attn_k_norm", keys);
      if (normalizes_heads()) norm_of(block + "attn_q_norm", head_width), norm_of(block + "attn_k_norm", head_width);
      if (gpt2()) {
        projection(block + "attn_qkv", queries + 2 * keys, width, true);
      } else {
        projection(block + "attn_q", queries, width, name == "qwen2");
        projection(block + "attn_k", keys, width, name == "qwen2");
        projection(block + "attn_v", keys, width, name == "qwen2");
        projection(block + "ffn_gate", hidden, width, false);
      }
      projection(block + "attn_output", width, queries, gpt2());
      if (!olmo2()) norm(block + "ffn_norm");
      projection(block + "ffn_up", hidden, width, gpt2());
      projection(block + "ffn_down", width, hidden, gpt2());
      if (name == "gemma2" || name == "gemma3" || olmo2()) norm(block + "post_attention_norm"), norm(block + "post_ffw_norm");
    }
    if (more) more(file);
    put(path, file.bytes());
  }

 private:
  void add_settings(GgufWriter& file) const {
    file.add("general.architecture", std::string_view(name));
    for (const auto& [key, value] : {std::pair{"block_count", layers},
                                     {"embedding_length", width},
                                     {"feed_forward_length", hidden},
                                     {"context_length", context},
                                     {"attention.head_count", heads},
                                     {"attention.head_count_kv", gpt2() ? heads : kv_heads},
                                     {"attention.key_length", head_width},
                                     {"attention.value_length", head_width}})
      file.add(name + "." + key, value);
    file.add(name + (gpt2() ? ".attention.layer_norm_epsilon" : ".attention.layer_norm_rms_epsilon"), 1e-5f);
    if (!gpt2()) file.add(name + ".rope.dimension_count", turned);
    if (yarn > 0) {
      file.add(name + ".rope.scaling.type", "yarn");
      file.add(name + ".rope.scaling.factor", yarn);
    }
    if (name == "gemma2") {
      file.add("gemma2.attn_logit_softcapping", 4.0f);
      file.add("gemma2.final_logit_softcapping", 9.0f);
      file.add("gemma2.attention.sliding_window", std::uint32_t{7});
    }
    if (name == "gemma3") file.add("gemma3.attention.sliding_window", std::uint32_t{7});
  }
};

struct NamedArchitecture {
  const char* name;
  TinyArchitecture tiny;
};

// Every architecture, and what makes a head's scores different within one.
inline std::vector<NamedArchitecture> tiny_architectures() {
  return {{"llama", {}},
          {"llama, half of it turned", {.turned = 8}},
          {"llama, yarn", {.yarn = 4}},
          {"llama, half of it turned, yarn", {.turned = 8, .yarn = 4}},
          {"qwen2", {.name = "qwen2"}},
          {"qwen2, large biases, half of it turned", {.name = "qwen2", .turned = 8, .bias = 8}},
          {"gpt2", {.name = "gpt2"}},
          {"gpt2, large biases", {.name = "gpt2", .bias = 8}},
          {"gemma", {.name = "gemma"}},
          {"gemma2", {.name = "gemma2"}}};
}

// Those that normalize queries and keys.
inline std::vector<NamedArchitecture> normalizing_architectures() {
  return {{"qwen3", {.name = "qwen3"}},
          {"qwen3, half of it turned, yarn", {.name = "qwen3", .turned = 8, .yarn = 4}},
          {"gemma3", {.name = "gemma3"}},
          {"olmo2", {.name = "olmo2"}}};
}

}  // namespace sharpmax::test
