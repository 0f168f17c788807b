#include "train/decoder/layout.h"

#include <fmt/format.h>

#include <cmath>

#include "base/numbers.h"

namespace sharpmax::train {

Part Layout::add(std::string name, std::int64_t rows, std::int64_t columns) {
  Part part{std::move(name), size_, rows, columns};
  size_ += part.size();
  return part;
}

Layout::Layout(const DecoderSettings& s, const TaskShape& task) {
  const std::int64_t inner = s.heads * s.head_width, hidden = s.hidden_width();
  embedding_ = add("embedding", task.vocabulary, s.width);
  for (std::int64_t i = 0; i < s.layers; ++i) {
    const auto name = [i](const char* part) { return fmt::format("layers.{}.{}", i, part); };
    LayerParts layer;
    layer.attention_norm = add(name("attention_norm"), 1, s.width);
    layer.query = add(name("query"), inner, s.width);
    layer.key_value = add(name("key_value"), 2 * inner, s.width);
    layer.attention_out = add(name("attention_out"), s.width, inner);
    layer.feed_forward_norm = add(name("feed_forward_norm"), 1, s.width);
    layer.up = add(name("up"), s.feed_forward == "swiglu" ? 2 * hidden : hidden, s.width);
    layer.down = add(name("down"), s.width, hidden);
    layers_.push_back(std::move(layer));
  }
  final_norm_ = add("final_norm", 1, s.width);
  head_ = add("head", task.classes * task.parts, s.width);
}

std::vector<Part> Layout::parts() const {
  std::vector<Part> all;
  all.push_back(embedding_);
  for (const LayerParts& l : layers_)
    for (const Part* part :
         {&l.attention_norm, &l.query, &l.key_value, &l.attention_out, &l.feed_forward_norm, &l.up, &l.down})
      all.push_back(*part);
  all.push_back(final_norm_);
  all.push_back(head_);
  return all;
}

std::vector<float> initial_parameters(const DecoderSettings& settings, const TaskShape& task,
                                      std::uint64_t seed) {
  constexpr double kResidual = 0.5;  // of the matrices that write to the residual stream
  const Layout layout(settings, task);
  const CounterRandom random(seed, stream_of(Purpose::initial, 0, 0));
  std::vector<float> values(to_size(layout.size()));
  for (const Part& part : layout.parts()) {
    double spread = 1.0 / std::sqrt(static_cast<double>(part.columns));
    if (part.name == "embedding") spread = 1.0 / std::sqrt(static_cast<double>(task.slots));
    if (part.name.ends_with(".attention_out") || part.name.ends_with(".down")) spread *= kResidual;
    for (std::int64_t i = part.offset; i < part.offset + part.size(); ++i) {
      const auto at = static_cast<std::uint64_t>(i);
      values[to_size(i)] =
          part.is_matrix() ? static_cast<float>(spread * random.normals(at / 4)[at % 4]) : 1.0f;
    }
  }
  return values;
}

}  // namespace sharpmax::train
