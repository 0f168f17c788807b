#include "model/transformer/finder.h"

#include <fmt/format.h>

#include "base/in_quotes.h"
#include "model/tensor/stored_tensor.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
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
  throw Error(ErrorCode::bad_file, fmt::format("{}: tensor {} at byte {} has shape {}; {} was expected",
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
