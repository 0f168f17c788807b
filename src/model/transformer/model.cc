#include "model/transformer/model.h"

#include <fmt/format.h>

#include <cstring>

#include "base/in_quotes.h"
#include "model/tensor/stored_tensor.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

using Shape = std::vector<std::int64_t>;

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

// Takes parts of one file by the names of its architecture.
class Finder {
 public:
  Finder(const ModelFile& file, const Configuration& configuration)
      : file_(file),
        c_(configuration),
        architecture_(architecture_of(file)),
        in_folder_(std::holds_alternative<SafetensorsFolder>(file)),
        names_(in_folder_ ? architecture_.folder : architecture_.gguf) {
    for (const std::string_view prefix : names_.prefixes) {
      prefix_ = prefix;
      if (find_tensor(file_, prefix_ + std::string(names_.embedding) + ".weight")) return;
    }
  }

  const PartNames& names() const { return names_; }
  const Architecture& architecture() const { return architecture_; }

  void at_layer(std::int64_t layer) { layer_ = layer; }

  const StoredTensor& tensor(const std::string& name) const {
    if (const StoredTensor* found = find_tensor(file_, name)) return *found;
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: there is no tensor {}, which a {} model of {} layers has", name_of(file_),
                            in_quotes(name), c_.architecture, c_.layers));
  }

  std::string full_name(std::string_view part, std::string_view suffix) const {
    std::string name(part);
    if (const std::size_t hole = name.find("{}"); hole != std::string::npos)
      name.replace(hole, 2, std::to_string(layer_));
    return prefix_ + name + std::string(suffix);
  }

  // Beside the prefix, not under it; models that see images may have it within their language part.
  std::string head_name() const {
    const std::string name = std::string(names_.head) + ".weight", inside = "language_model." + name;
    return find_tensor(file_, inside) ? inside : name;
  }

  // A matrix of any number of rows where `outputs` is 0.
  WeightMatrix matrix(const std::string& name, std::int64_t outputs, std::int64_t inputs,
                      bool by_input) const {
    const StoredTensor& found = tensor(name);
    const bool any = outputs == 0 && found.shape.size() == 2;
    const std::int64_t rows = any ? found.shape[0] : outputs;
    const Shape wanted = by_input ? Shape{inputs, rows} : Shape{rows, inputs};
    check_shape(found, wanted);
    return {.type = found.type,
            .data = found.bytes.data(),
            .outputs = rows,
            .inputs = inputs,
            .order = by_input ? WeightMatrix::Order::by_input : WeightMatrix::Order::by_output};
  }

  std::vector<float> floats(const std::string& name, std::int64_t count) const {
    const StoredTensor& found = tensor(name);
    check_shape(found, {count});
    std::vector<float> values(static_cast<std::size_t>(count));
    dequantize(found.type, found.bytes.data(), count, values.data());
    return values;
  }

  Projection projection(std::string_view part, std::int64_t outputs, std::int64_t inputs,
                        Presence bias) const {
    Projection p;
    p.weight = matrix(full_name(part, ".weight"), outputs, inputs,
                      in_folder_ && architecture_.folder_weights_by_input);
    const std::string name = full_name(part, ".bias");
    if (bias == Presence::required || (bias == Presence::where_present && find_tensor(file_, name)))
      p.bias = floats(name, outputs);
    return p;
  }

  NormWeights norm(std::string_view part, std::int64_t width) const {
    NormWeights n;
    n.scale = floats(full_name(part, ".weight"), width);
    if (in_folder_)
      for (float& scale : n.scale) scale += architecture_.folder_norm_offset;
    if (c_.norm == NormKind::layer) n.shift = floats(full_name(part, ".bias"), width);
    return n;
  }

 private:
  void check_shape(const StoredTensor& found, const Shape& wanted) const {
    if (found.shape == wanted) return;
    throw Error(ErrorCode::bad_file, fmt::format("{}: tensor {} at byte {} has shape {}; {} was expected",
                                                 name_of(file_), in_quotes(found.name), found.offset,
                                                 shape_text(found.shape), shape_text(wanted)));
  }

  const ModelFile& file_;
  const Configuration& c_;
  const Architecture& architecture_;
  bool in_folder_;
  const PartNames& names_;
  std::string prefix_;
  std::int64_t layer_ = 0;
};

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

LayerWeights find_layer(const Finder& find, const Configuration& c) {
  const PartNames& names = find.names();
  const Presence bias = find.architecture().feed_forward_bias;
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
  if (c.norm_before) layer.feed_forward_norm = find.norm(names.feed_forward_norm, c.width);
  if (!names.gate_up.empty()) {
    layer.inner.push_back(find.projection(names.gate_up, 2 * c.hidden, c.width, bias));
  } else {
    if (c.gated) layer.inner.push_back(find.projection(names.gate, c.hidden, c.width, bias));
    layer.inner.push_back(find.projection(names.up, c.hidden, c.width, bias));
  }
  layer.down = find.projection(names.down, c.width, c.hidden, bias);
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
    w.layers.push_back(find_layer(find, c));
  }
  w.final_norm = find.norm(names.final_norm, c.width);
  const std::string head = find.head_name();
  w.head = head_is_tied(file, head) ? w.embedding : find.matrix(head, c.vocabulary, c.width, false);
  const std::string bias = std::string(names.head) + ".bias";
  if (find.architecture().head_bias == Presence::where_present && find_tensor(file, bias))
    w.head_bias = find.floats(bias, c.vocabulary);
  return w;
}

Model::Model(const std::filesystem::path& path)
    : file_(std::make_unique<const ModelFile>(open_model_file(path))),
      configuration_(read_configuration(*file_)),
      weights_(find_weights(*file_, configuration_)) {}

const Tokenizer& Model::tokenizer() const {
  const std::lock_guard lock(*making_);
  if (!tokenizer_) tokenizer_ = make_tokenizer(*file_);
  return *tokenizer_;
}

}  // namespace sharpmax::model
