#include "model/transformer/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/in_quotes.h"
#include "model/tensor/stored_tensor.h"
#include "sharpmax/error.h"

namespace sharpmax::model {

// Parts of one model file, found by the names of its architecture and checked against its configuration.
class Finder {
 public:
  Finder(const ModelFile& file, const Configuration& configuration);

  const PartNames& names() const { return names_; }
  const Architecture& architecture() const { return architecture_; }
  const std::string& file_name() const { return name_of(file_); }
  void at_layer(std::int64_t layer) { layer_ = layer; }

  // The tensor's name of a part: the layer is put in, and the expert where the part is one of many.
  std::string full_name(std::string_view part, std::string_view suffix, std::int64_t expert = 0) const;
  // "PART.weight", or PART itself, as Hugging Face names tensors that no layer of torch owns.
  std::string weight_name(std::string_view part) const;
  std::string head_name() const;
  bool has(const std::string& name) const { return find_tensor(file_, name) != nullptr; }
  const StoredTensor& tensor(const std::string& name) const;

  // A matrix of any number of rows where `outputs` is 0.
  WeightMatrix matrix(const std::string& name, std::int64_t outputs, std::int64_t inputs, bool by_input) const;
  std::vector<float> floats(const std::string& name, const std::vector<std::int64_t>& shape) const;
  Projection projection(std::string_view part, std::int64_t outputs, std::int64_t inputs, Presence bias,
                        std::int64_t expert = 0) const;
  NormWeights norm(std::string_view part, std::int64_t width) const;
  // The same part of every expert, all in one tensor.
  std::vector<Projection> stacked(std::string_view part, std::int64_t outputs, std::int64_t inputs) const;

 private:
  void check_shape(const StoredTensor& found, const std::vector<std::int64_t>& wanted) const;

  const ModelFile& file_;
  const Configuration& c_;
  const Architecture& architecture_;
  bool in_folder_;
  const PartNames& names_;
  std::string prefix_;
  std::int64_t layer_ = 0;
};

namespace {

std::vector<Projection> find_query_key_value(const Finder& find, const Configuration& c) {
  const PartNames& names = find.names();
  const Presence bias = find.architecture().query_key_value_bias;
  std::vector<Projection> parts;
  if (!names.query_key_value.empty()) {
    parts.push_back(
        find.projection(names.query_key_value, c.query_width() + 2 * c.kv_width(), c.width, bias));
  } else {
    parts.push_back(find.projection(names.query, c.query_width(), c.width, bias));
    parts.push_back(find.projection(names.key, c.kv_width(), c.width, bias));
    parts.push_back(find.projection(names.value, c.kv_width(), c.width, bias));
  }
  return parts;
}

// What a row of a head gives away before any key has a share of it, as logarithms: [heads].
std::vector<float> find_sinks(const Finder& find, const Configuration& c) {
  // Whose exponential is a number, and not 0.
  constexpr float kLargest = 700;
  const std::string name = find.weight_name(find.names().sinks);
  std::vector<float> sinks = find.floats(name, {c.heads});
  for (const float sink : sinks)
    if (!(std::abs(sink) <= kLargest))
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: tensor {} at byte {} holds {}; expected numbers between -{} and {}", find.file_name(),
                              in_quotes(name), find.tensor(name).offset, sink, kLargest, kLargest));
  return sinks;
}

MixtureWeights find_mixture(const Finder& find, const Configuration& c) {
  const PartNames& names = find.names();
  const Experts& experts = *c.experts;
  const Presence bias = find.architecture().feed_forward_bias;
  MixtureWeights mixture{.router = find.projection(names.router, experts.count, c.width, bias), .experts = {}};
  mixture.experts.resize(static_cast<std::size_t>(experts.count));
  const bool one_each = names.expert_gate.find("{e}") != std::string_view::npos &&
                        find.has(find.full_name(names.expert_gate, ".weight"));
  if (one_each) {
    for (std::int64_t e = 0; e < experts.count; ++e) {
      Expert& expert = mixture.experts[static_cast<std::size_t>(e)];
      expert.inner.push_back(find.projection(names.expert_gate, experts.hidden, c.width, bias, e));
      expert.inner.push_back(find.projection(names.expert_up, experts.hidden, c.width, bias, e));
      expert.down = find.projection(names.expert_down, c.width, experts.hidden, bias, e);
    }
    return mixture;
  }
  const auto give = [&](std::vector<Projection> parts, const auto& to) {
    for (std::size_t e = 0; e < parts.size(); ++e) to(mixture.experts[e], std::move(parts[e]));
  };
  const auto inner = [](Expert& expert, Projection part) { expert.inner.push_back(std::move(part)); };
  if (!names.experts_gate_up.empty()) {
    give(find.stacked(names.experts_gate_up, 2 * experts.hidden, c.width), inner);
  } else {
    give(find.stacked(names.expert_gate, experts.hidden, c.width), inner);
    give(find.stacked(names.expert_up, experts.hidden, c.width), inner);
  }
  const std::string_view down = names.experts_down.empty() ? names.expert_down : names.experts_down;
  give(find.stacked(down, c.width, experts.hidden), [](Expert& expert, Projection part) { expert.down = std::move(part); });
  return mixture;
}

void find_dense(const Finder& find, const Configuration& c, LayerWeights& layer) {
  const PartNames& names = find.names();
  const Presence bias = find.architecture().feed_forward_bias;
  if (!names.gate_up.empty()) {
    layer.inner.push_back(find.projection(names.gate_up, 2 * c.hidden, c.width, bias));
  } else {
    if (c.gated) layer.inner.push_back(find.projection(names.gate, c.hidden, c.width, bias));
    layer.inner.push_back(find.projection(names.up, c.hidden, c.width, bias));
  }
  layer.down = find.projection(names.down, c.width, c.hidden, bias);
}

LayerWeights find_layer(const Finder& find, const Configuration& c, std::int64_t number) {
  const PartNames& names = find.names();
  LayerWeights layer;
  if (c.norm_before) layer.attention_norm = find.norm(names.attention_norm, c.width);
  layer.query_key_value = find_query_key_value(find, c);
  if (c.query_key_norm != QueryKeyNorm::none) {
    const bool together = c.query_key_norm == QueryKeyNorm::width;
    layer.query_norm = find.norm(names.query_norm, together ? c.query_width() : c.head_width);
    layer.key_norm = find.norm(names.key_norm, together ? c.kv_width() : c.head_width);
  }
  layer.attention_out =
      find.projection(names.attention_out, c.width, c.query_width(), find.architecture().attention_out_bias);
  if (!names.sinks.empty()) layer.sinks = find_sinks(find, c);
  if (c.norm_before) layer.feed_forward_norm = find.norm(names.feed_forward_norm, c.width);
  if (c.has_experts(number)) {
    layer.mixture = find_mixture(find, c);
  } else {
    find_dense(find, c, layer);
  }
  if (c.norm_after) {
    layer.after_attention_norm = find.norm(names.after_attention_norm, c.width);
    layer.after_feed_forward_norm = find.norm(names.after_feed_forward_norm, c.width);
  }
  return layer;
}

// Folders say whether the two are tied; GGUF files leave the head out.
bool head_is_tied(const ModelFile& file, const std::string& head) {
  if (!find_tensor(file, head)) return true;
  if (!std::holds_alternative<SafetensorsFolder>(file)) return false;
  return Settings(file).boolean({"", {"tie_word_embeddings"}}).value_or(false);
}

}  // namespace

Weights find_weights(const ModelFile& file, Configuration& c) {
  Finder find(file, c);
  const PartNames& names = find.names();
  Weights w;
  w.embedding = find.matrix(find.full_name(names.embedding, ".weight"), 0, c.width, false);
  c.vocabulary = w.embedding.outputs;
  if (!names.positions.empty())
    w.positions = find.matrix(find.full_name(names.positions, ".weight"), c.context, c.width, false);
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    find.at_layer(layer);
    w.layers.push_back(find_layer(find, c, layer));
  }
  w.final_norm = find.norm(names.final_norm, c.width);
  const std::string head = find.head_name();
  w.head = head_is_tied(file, head) ? w.embedding : find.matrix(head, c.vocabulary, c.width, false);
  const std::string bias = std::string(names.head) + ".bias";
  if (find.architecture().head_bias == Presence::where_present && find_tensor(file, bias))
    w.head_bias = find.floats(bias, {c.vocabulary});
  return w;
}

namespace {

NormalizerTable trained_with(const Configuration& c, const Weights& weights) {
  NormalizerTable table(c.layers, c.heads, Softmax{});
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    const std::vector<float>& sinks = weights.layers[static_cast<std::size_t>(layer)].sinks;
    for (std::size_t head = 0; head < sinks.size(); ++head)
      table.set(layer, static_cast<std::int64_t>(head), Sink{.c = std::exp(static_cast<double>(sinks[head]))});
  }
  return table;
}

}  // namespace

Model::Model(const std::filesystem::path& path)
    : file_(std::make_unique<const ModelFile>(open_model_file(path))),
      configuration_(read_configuration(*file_)),
      weights_(find_weights(*file_, configuration_)),
      own_normalizers_(trained_with(configuration_, weights_)),
      sinks_(std::any_of(weights_.layers.begin(), weights_.layers.end(),
                         [](const LayerWeights& layer) { return !layer.sinks.empty(); })) {}

const Tokenizer& Model::tokenizer() const {
  const std::lock_guard lock(*making_);
  if (!tokenizer_) tokenizer_ = make_tokenizer(*file_);
  return *tokenizer_;
}

namespace {

using Shape = std::vector<std::int64_t>;

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

void put_in(std::string& name, std::string_view hole, std::int64_t number) {
  if (const std::size_t at = name.find(hole); at != std::string::npos)
    name.replace(at, hole.size(), std::to_string(number));
}

WeightMatrix matrix_of(const StoredTensor& tensor, std::int64_t outputs, std::int64_t inputs, bool by_input) {
  return {.type = tensor.type,
          .data = tensor.bytes.data(),
          .outputs = outputs,
          .inputs = inputs,
          .order = by_input ? WeightMatrix::Order::by_input : WeightMatrix::Order::by_output,
          .scales = tensor.scales};
}

}  // namespace

Finder::Finder(const ModelFile& file, const Configuration& configuration)
    : file_(file),
      c_(configuration),
      architecture_(architecture_of(file)),
      in_folder_(std::holds_alternative<SafetensorsFolder>(file)),
      names_(in_folder_ ? architecture_.folder : architecture_.gguf) {
  for (const std::string_view prefix : names_.prefixes) {
    prefix_ = prefix;
    if (has(prefix_ + std::string(names_.embedding) + ".weight")) return;
  }
}

const StoredTensor& Finder::tensor(const std::string& name) const {
  if (const StoredTensor* found = find_tensor(file_, name)) return *found;
  throw Error(ErrorCode::bad_file,
              fmt::format("{}: there is no tensor {}, which a {} model of {} layers has", name_of(file_),
                          in_quotes(name), c_.architecture, c_.layers));
}

std::string Finder::full_name(std::string_view part, std::string_view suffix, std::int64_t expert) const {
  std::string name(part);
  put_in(name, "{}", layer_);
  put_in(name, "{e}", expert);
  return prefix_ + name + std::string(suffix);
}

std::string Finder::weight_name(std::string_view part) const {
  const std::string plain = full_name(part, "");
  return has(plain) ? plain : plain + ".weight";
}

// Beside the prefix, not under it; models that see images may have it within their language part.
std::string Finder::head_name() const {
  const std::string name = std::string(names_.head) + ".weight", inside = "language_model." + name;
  return has(inside) ? inside : name;
}

void Finder::check_shape(const StoredTensor& found, const Shape& wanted) const {
  if (found.shape == wanted) return;
  throw Error(ErrorCode::bad_file, fmt::format("{}: tensor {} at byte {} has shape {}; expected {}",
                                               name_of(file_), in_quotes(found.name), found.offset,
                                               shape_text(found.shape), shape_text(wanted)));
}

WeightMatrix Finder::matrix(const std::string& name, std::int64_t outputs, std::int64_t inputs, bool by_input) const {
  const StoredTensor& found = tensor(name);
  const bool any = outputs == 0 && found.shape.size() == 2;
  const std::int64_t rows = any ? found.shape[0] : outputs;
  check_shape(found, by_input ? Shape{inputs, rows} : Shape{rows, inputs});
  return matrix_of(found, rows, inputs, by_input);
}

std::vector<float> Finder::floats(const std::string& name, const Shape& shape) const {
  const StoredTensor& found = tensor(name);
  check_shape(found, shape);
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  std::vector<float> values(static_cast<std::size_t>(count));
  dequantize(found.type, found.bytes.data(), count, values.data());
  return values;
}

Projection Finder::projection(std::string_view part, std::int64_t outputs, std::int64_t inputs, Presence bias,
                              std::int64_t expert) const {
  Projection p;
  p.weight = matrix(full_name(part, ".weight", expert), outputs, inputs,
                    in_folder_ && architecture_.folder_weights_by_input);
  const std::string name = full_name(part, ".bias", expert);
  if (bias == Presence::required || (bias == Presence::where_present && has(name))) p.bias = floats(name, {outputs});
  return p;
}

NormWeights Finder::norm(std::string_view part, std::int64_t width) const {
  NormWeights n;
  n.scale = floats(full_name(part, ".weight"), {width});
  if (in_folder_)
    for (float& scale : n.scale) scale += architecture_.folder_norm_offset;
  if (c_.norm == NormKind::layer) n.shift = floats(full_name(part, ".bias"), {width});
  return n;
}

std::vector<Projection> Finder::stacked(std::string_view part, std::int64_t outputs, std::int64_t inputs) const {
  const std::string name = weight_name(part);
  const StoredTensor& found = tensor(name);
  const bool by_input = in_folder_ && architecture_.folder_experts_by_input && layout_of(found.type).block == 1;
  const std::int64_t count = c_.experts->count;
  check_shape(found, by_input ? Shape{count, inputs, outputs} : Shape{count, outputs, inputs});
  const bool dotted = name.ends_with(".weight");
  const std::string bias = full_name(part, dotted ? ".bias" : "_bias");
  std::vector<float> biases;
  if (architecture_.feed_forward_bias == Presence::required ||
      (architecture_.feed_forward_bias == Presence::where_present && has(bias)))
    biases = floats(bias, {count, outputs});
  std::vector<Projection> all(static_cast<std::size_t>(count));
  for (std::int64_t e = 0; e < count; ++e) {
    Projection& one = all[static_cast<std::size_t>(e)];
    one.weight = matrix_of(found, outputs, inputs, by_input);
    one.weight.data += e * bytes_of(found.type, outputs * inputs);
    one.weight.scales.first_row += e * outputs;
    if (!biases.empty()) one.bias.assign(biases.begin() + e * outputs, biases.begin() + (e + 1) * outputs);
  }
  return all;
}

}  // namespace sharpmax::model
