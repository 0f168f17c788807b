#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "base/in_quotes.h"
#include "base/numbers.h"
#include "base/threads.h"
#include "job/field_values.h"
#include "job/json_members.h"
#include "model/architecture/architecture.h"
#include "model/job/model_request.h"
#include "model/tensor/stored_tensor.h"
#include "model/tokenizer/tokenizer.h"
#include "model/transformer/model.h"
#include "sharpmax/inspect.h"
#include "sharpmax/machine.h"

namespace sharpmax {
namespace {

using model::GgufFile;
using model::ModelFile;
using model::SafetensorsFolder;

std::int64_t product_of(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// What read() gives; nothing if the file does not have it, or not as one value.
template <class Read>
auto or_nothing(const Read& read) -> decltype(read()) {
  try {
    return read();
  } catch (const Error&) {
    return std::nullopt;
  }
}

Json format_of(const GgufFile& file) {
  return {{"name", "GGUF"}, {"version", file.version()}, {"alignment", file.alignment()}};
}

Json format_of(const SafetensorsFolder& folder) {
  Json files = Json::array();
  for (const SafetensorsFile& shard : folder.shards())
    files.push_back(std::filesystem::path(shard.name()).filename().string());
  return {{"name", "safetensors"}, {"files", files}, {"configuration", folder.configuration() != nullptr}};
}

std::uint64_t bytes_of(const GgufFile& file) { return file.size(); }
std::uint64_t bytes_of(const SafetensorsFolder& folder) {
  std::uint64_t sum = 0;
  for (const SafetensorsFile& shard : folder.shards()) sum += shard.size();
  return sum;
}

// The sentence without the file's name, which opens every message.
std::string reason_of(const Error& error, const std::string& name) {
  const std::string words = error.what();
  const bool named = words.starts_with(name + ": ");
  return named ? words.substr(name.size() + 2) : words;
}

// Empty: nothing stands in the way.
std::string why_not(const ModelFile& file) {
  std::map<std::string_view, int> types;
  for (const model::ForeignTensor& tensor : model::foreign_tensors_of(file))
    if (std::holds_alternative<GgufFile>(file) || tensor.type == "F64") ++types[tensor.type];
  model::Configuration configuration;
  try {
    configuration = model::read_configuration(file);
  } catch (const Error& error) {
    return reason_of(error, model::name_of(file));
  }
  std::string list;
  for (const auto& [type, count] : types)
    list += fmt::format("{}{} of type {}", list.empty() ? "" : ", ", count, type);
  if (!list.empty()) return fmt::format("tensors of types that cannot be multiplied here: {}", list);
  try {
    model::find_weights(file, configuration);
  } catch (const Error& error) {
    return reason_of(error, model::name_of(file));
  }
  return "";
}

// Nothing: softmax, or an architecture that is not known.
std::optional<std::string> trained_with(const ModelFile& file) {
  return or_nothing([&]() -> std::optional<std::string> {
    const bool sinks = !model::architecture_of(file).gguf.sinks.empty();
    return sinks ? std::optional<std::string>("sink") : std::nullopt;
  });
}

InspectResult::Architecture named_architecture(const ModelFile& file) {
  const std::string reason = why_not(file);
  return {.name = or_nothing([&] { return std::optional<std::string>(model::Settings(file).architecture()); }),
          .runs_here = reason.empty(),
          .why_not = reason.empty() ? std::nullopt : std::optional(reason),
          .trained_with = trained_with(file)};
}

std::optional<std::int64_t> vocabulary_of(const ModelFile& file, const model::Settings& settings) {
  const auto size = or_nothing([&]() -> std::optional<std::int64_t> {
    return settings.integer({"vocab_size", {"vocab_size", "text_config.vocab_size"}});
  });
  const auto* gguf = std::get_if<GgufFile>(&file);
  if (size || !gguf) return size;
  const auto* tokens = gguf->find("tokenizer.ggml.tokens");
  if (!tokens || tokens->value.type != model::GgufType::array) return std::nullopt;
  return static_cast<std::int64_t>(tokens->value.count);
}

// By the names that nearly all architectures share, so that those that do not run here are shown too.
std::optional<InspectResult::Shape> shape_of(const ModelFile& file) try {
  const model::Settings settings(file);
  const auto size = [&](const model::SettingName& name) {
    return or_nothing([&]() -> std::optional<std::int64_t> { return settings.integer(name); });
  };
  InspectResult::Shape shape{
      .layers = size({"block_count", {"num_hidden_layers", "n_layer", "text_config.num_hidden_layers"}}),
      .width = size({"embedding_length", {"hidden_size", "n_embd", "text_config.hidden_size"}}),
      .query_heads =
          size({"attention.head_count", {"num_attention_heads", "n_head", "text_config.num_attention_heads"}}),
      .kv_heads = size({"attention.head_count_kv", {"num_key_value_heads", "text_config.num_key_value_heads"}}),
      .head_width = size({"attention.key_length", {"head_dim", "text_config.head_dim"}}),
      .feed_forward =
          size({"feed_forward_length", {"intermediate_size", "n_inner", "text_config.intermediate_size"}}),
      .context = size({"context_length",
                       {"max_position_embeddings", "n_positions", "text_config.max_position_embeddings"}}),
      .vocabulary = vocabulary_of(file, settings)};
  try {  // what the file leaves to its architecture
    const model::Configuration known = model::read_configuration(file);
    shape.kv_heads = known.kv_heads;
    shape.head_width = known.head_width;
    shape.feed_forward = known.hidden;
    if (known.experts) {
      shape.feed_forward = known.experts->hidden;
      shape.experts = known.experts->count;
      shape.experts_used = known.experts->used;
    }
    const auto windows = std::count_if(known.windows.begin(), known.windows.end(), [](auto window) { return window > 0; });
    if (windows > 0) {
      shape.layers_with_window = windows;
      shape.window = *std::max_element(known.windows.begin(), known.windows.end());
    }
  } catch (const Error&) {
  }
  return shape;
} catch (const Error&) {
  return std::nullopt;
}

// What the file says of its tokenizer.
std::optional<InspectResult::Tokenizer> named_tokenizer(const GgufFile& file) {
  const auto text = [&](const char* key) {
    return or_nothing([&]() -> std::optional<std::string> {
      const auto found = file.text(key);
      return found ? std::optional(std::string(*found)) : std::nullopt;
    });
  };
  const auto* tokens = file.find("tokenizer.ggml.tokens");
  if (!tokens && !file.find("tokenizer.ggml.model")) return std::nullopt;
  InspectResult::Tokenizer found{.kind = text("tokenizer.ggml.model"), .pre = text("tokenizer.ggml.pre")};
  if (tokens) found.tokens = static_cast<std::int64_t>(tokens->value.count);
  found.chat_template = file.find("tokenizer.chat_template") != nullptr;
  return found;
}

std::optional<InspectResult::Tokenizer> named_tokenizer(const SafetensorsFolder& folder) {
  std::error_code ignored;
  if (!std::filesystem::exists(folder.folder() / "tokenizer.json", ignored)) return std::nullopt;
  return InspectResult::Tokenizer{.kind = "tokenizer.json"};
}

// And what comes of it here.
std::optional<InspectResult::Tokenizer> tokenizer_of(const ModelFile& file) {
  auto found = std::visit([](const auto& one) { return named_tokenizer(one); }, file);
  if (!found) return found;
  try {
    const auto tokenizer = model::make_tokenizer(file);
    found->tokens = tokenizer->size();
    found->description = tokenizer->description();
  } catch (const Error& error) {
    found->why_not = reason_of(error, model::name_of(file));
  }
  return found;
}

std::vector<InspectResult::Tensor> tensors_in(const ModelFile& file) {
  std::vector<InspectResult::Tensor> list;
  for (const model::StoredTensor& tensor : model::tensors_of(file))
    list.push_back({tensor.name, std::string(model::name_of(tensor.type)), tensor.shape, product_of(tensor.shape),
                    tensor.bytes.size(), tensor.offset, true});
  for (const model::ForeignTensor& tensor : model::foreign_tensors_of(file))
    list.push_back({tensor.name, std::string(tensor.type), tensor.shape, product_of(tensor.shape), tensor.bytes,
                    tensor.offset, false});
  return list;
}

// The largest first.
std::vector<InspectResult::Type> types_of(const std::vector<InspectResult::Tensor>& tensors) {
  std::map<std::string, InspectResult::Type> types;
  std::uint64_t all = 0;
  for (const InspectResult::Tensor& tensor : tensors) {
    InspectResult::Type& type = types[tensor.type];
    type.type = tensor.type;
    type.tensors += 1;
    type.elements += tensor.elements;
    type.bytes += tensor.bytes;
    all += tensor.bytes;
  }
  std::vector<InspectResult::Type> list;
  for (auto& [name, type] : types) {
    type.share = static_cast<double>(type.bytes) / static_cast<double>(std::max<std::uint64_t>(all, 1));
    list.push_back(type);
  }
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return list;
}

}  // namespace

InspectResult inspect(const InspectRequest& request, Listener& listener) {
  check_fields(request);
  if (request.model.model.empty())
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("no model was given; {} must be a file or a folder", named("model")));
  if (request.check) listener.on_resumption({false, "inspect cannot be resumed, and its check begins again"});
  const ModelFile file = model::open_model_file(request.model.model, model::ForeignTypes::keep);
  InspectResult result{.sharpmax = std::string(version()), .path = model::name_of(file)};
  result.format = std::visit([](const auto& one) { return format_of(one); }, file).dump();
  result.bytes = std::visit([](const auto& one) { return bytes_of(one); }, file);
  result.architecture = named_architecture(file);
  result.shape = shape_of(file);
  result.tokenizer = tokenizer_of(file);
  result.tensors = tensors_in(file);
  result.types = types_of(result.tensors);
  if (request.check) {  // which reads all of it anyway
    result.sha256 = model::checksum_of(file, listener);
    result.check = model::check_weights(file, request.model.threads.value_or(0), listener);
  }
  result.metadata = model::metadata_json(file).dump(-1, ' ', false, Json::error_handler_t::replace);
  return result;
}

}  // namespace sharpmax

namespace sharpmax::model {

// Every weight, as the dequantiser gives it: is it a number?

namespace {

// Elements that one task looks at: whole blocks of every type, and small enough to stay in the cache.
constexpr std::int64_t kPiece = 1 << 14;

struct Findings {
  std::int64_t nan = 0;
  std::int64_t infinite = 0;
  std::int64_t first = -1;  // element, counted through the tensor

  void add(const Findings& later) {
    nan += later.nan;
    infinite += later.infinite;
    if (first < 0) first = later.first;
  }
};

std::int64_t elements_of(const StoredTensor& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1}, std::multiplies<>());
}

Findings look_at(const StoredTensor& tensor, std::int64_t from, std::int64_t count, float* values) {
  dequantize(tensor.type, tensor.bytes.data() + bytes_of(tensor.type, from), count, values);
  apply_scales(tensor.scales, tensor.shape.empty() ? 1 : tensor.shape.back(), from, count, values);
  Findings found;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) continue;
    (std::isnan(values[i]) ? found.nan : found.infinite) += 1;
    if (found.first < 0) found.first = from + i;
  }
  return found;
}

Findings look_at(const StoredTensor& tensor, int threads) {
  const std::int64_t elements = elements_of(tensor);
  const std::int64_t pieces = (elements + kPiece - 1) / kPiece;
  std::vector<Findings> of_piece(static_cast<std::size_t>(pieces));
  std::vector<float> scratch(static_cast<std::size_t>(threads * kPiece));
  parallel_for(threads, pieces, [&](std::int64_t piece, int thread) {
    const std::int64_t from = piece * kPiece;
    of_piece[static_cast<std::size_t>(piece)] =
        look_at(tensor, from, std::min(kPiece, elements - from), scratch.data() + thread * kPiece);
  });
  Findings all;
  for (const Findings& one : of_piece) all.add(one);
  return all;
}

}  // namespace

InspectResult::Check check_weights(const ModelFile& file, int threads, Listener& listener) {
  const auto tensors = tensors_of(file);
  const auto bytes = std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0},
                                     [](std::uint64_t sum, const auto& t) { return sum + t.bytes.size(); });
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t done = 0;
  InspectResult::Check check{.tensors = static_cast<std::int64_t>(tensors.size()),
                             .not_checked = static_cast<std::int64_t>(foreign_tensors_of(file).size())};
  for (const StoredTensor& tensor : tensors) {
    const Findings found = look_at(tensor, threads_for(threads));
    if (found.first >= 0)
      check.bad.push_back({tensor.name, found.nan, found.infinite, elements_of(tensor), found.first});
    done += tensor.bytes.size();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
    listener.proceed("looking at every weight: " + share_left(static_cast<double>(done), static_cast<double>(bytes),
                                                                  seconds.count()));
  }
  listener.on_progress("");
  return check;
}

}  // namespace sharpmax::model
