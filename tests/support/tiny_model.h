// A small Llama with random weights as a GGUF file, for tests of what runs models.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "model/tokenizer/utf8.h"
#include "support/files.h"
#include "support/gguf_writer.h"
#include "support/random.h"

namespace sharpmax::test {

struct TinyModel {
  std::uint32_t layers = 2, heads = 4, kv_heads = 2, head_width = 16, width = 48, hidden = 64, context = 64,
                vocabulary = 97;
  // Multiplies the query rows of one head: what a temperature does to its scores.
  std::uint32_t sharpened_layer = 0, sharpened_head = 0;
  float sharpened_by = 1;
  bool reads_bytes = false;  // a tokenizer in which every byte is a token; needs a vocabulary of at least 257

  // The same seed gives the same weights whatever is sharpened.
  void write(const std::filesystem::path& path, std::uint64_t seed = 1) const {
    Random random(seed);
    GgufWriter file;
    file.add("general.architecture", "llama");
    for (const auto& [key, value] : {std::pair{"block_count", layers},
                                     {"embedding_length", width},
                                     {"feed_forward_length", hidden},
                                     {"context_length", context},
                                     {"attention.head_count", heads},
                                     {"attention.head_count_kv", kv_heads},
                                     {"attention.key_length", head_width},
                                     {"attention.value_length", head_width},
                                     {"rope.dimension_count", head_width}})
      file.add("llama." + std::string(key), value);
    file.add("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    if (reads_bytes) add_tokenizer(file);
    const auto matrix = [&](const std::string& name, std::uint32_t rows, std::uint32_t columns,
                            float first = 0, float last = 0) {
      std::string data;
      for (std::uint32_t i = 0; i < rows * columns; ++i) {
        const auto weight = static_cast<float>(random.normal() * 1.5 / std::sqrt(columns));
        const float row = static_cast<float>(i / columns);
        data += raw(row >= first && row < last ? weight * sharpened_by : weight);
      }
      file.add_tensor(name, GgufWriter::f32, {rows, columns}, data);
    };
    const auto norm = [&](const std::string& name) {
      std::string data;
      for (std::uint32_t i = 0; i < width; ++i) data += raw(static_cast<float>(1.0 + 0.2 * random.normal()));
      file.add_tensor(name, GgufWriter::f32, {width}, data);
    };
    matrix("token_embd.weight", vocabulary, width);
    norm("output_norm.weight");
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      const std::string block = "blk." + std::to_string(layer) + ".";
      const float first = layer == sharpened_layer ? static_cast<float>(sharpened_head * head_width) : 0;
      norm(block + "attn_norm.weight");
      matrix(block + "attn_q.weight", heads * head_width, width, first,
             layer == sharpened_layer ? first + static_cast<float>(head_width) : 0);
      matrix(block + "attn_k.weight", kv_heads * head_width, width);
      matrix(block + "attn_v.weight", kv_heads * head_width, width);
      matrix(block + "attn_output.weight", width, heads * head_width);
      norm(block + "ffn_norm.weight");
      matrix(block + "ffn_gate.weight", hidden, width);
      matrix(block + "ffn_up.weight", hidden, width);
      matrix(block + "ffn_down.weight", width, hidden);
    }
    put(path, file.bytes());
  }

 private:
  void add_tokenizer(GgufWriter& file) const {
    std::vector<std::string> texts;
    for (int byte = 0; byte < 256; ++byte)
      texts.emplace_back(model::spelling_of(static_cast<std::uint8_t>(byte)));
    while (texts.size() < vocabulary) texts.push_back("<unused " + std::to_string(texts.size()) + ">");
    std::vector<std::int32_t> types(texts.size(), 1);
    std::fill(types.begin() + 256, types.end(), 3);
    file.add("tokenizer.ggml.model", "gpt2").add("tokenizer.ggml.pre", "gpt-2").add("tokenizer.ggml.tokens", texts);
    file.add("tokenizer.ggml.token_type", GgufWriter::Type::int32, types).add("tokenizer.ggml.merges", std::vector<std::string>{});
  }
};

}  // namespace sharpmax::test
