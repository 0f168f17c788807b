// What a model file is, as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "base/in_quotes.h"
#include "cli/inspect.h"
#include "model/architecture/architecture.h"
#include "model/tokenizer/tokenizer.h"
#include "model/transformer/model.h"
#include "sharpmax/error.h"

namespace sharpmax::cli {
namespace {

using model::GgufFile;
using model::ModelFile;
using model::SafetensorsFolder;

std::int64_t product_of(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// What read() gives; null where the file does not have it, or not as one number.
template <class Read>
Json or_null(const Read& read) {
  try {
    if (const auto value = read()) return *value;
  } catch (const Error&) {
  }
  return nullptr;
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
    if (const auto* gguf = std::get_if<GgufFile>(&file); gguf && gguf->integer("split.count").value_or(1) > 1)
      return fmt::format("this is one of {} files that make up a model", *gguf->integer("split.count"));
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

Json architecture_json(const ModelFile& file) {
  const Json name = or_null([&] { return std::optional(model::Settings(file).architecture()); });
  const std::string reason = why_not(file);
  return {{"name", name}, {"runs_here", reason.empty()}, {"why_not", reason.empty() ? Json() : Json(reason)}};
}

Json vocabulary_of(const ModelFile& file, const model::Settings& settings) {
  Json size = or_null([&] {
    return settings.integer({"vocab_size", {"vocab_size", "text_config.vocab_size"}});
  });
  if (const auto* gguf = std::get_if<GgufFile>(&file); gguf && size.is_null())
    if (const auto* tokens = gguf->find("tokenizer.ggml.tokens");
        tokens && tokens->value.type == model::GgufType::array)
      size = tokens->value.count;
  return size;
}

// By the names that nearly all architectures share, so that those that do not run here are shown too.
Json shape_of(const ModelFile& file) try {
  const model::Settings settings(file);
  const auto size = [&](const model::SettingName& name) {
    return or_null([&] { return settings.integer(name); });
  };
  Json shape = {
      {"layers", size({"block_count", {"num_hidden_layers", "n_layer", "text_config.num_hidden_layers"}})},
      {"width", size({"embedding_length", {"hidden_size", "n_embd", "text_config.hidden_size"}})},
      {"query_heads",
       size({"attention.head_count", {"num_attention_heads", "n_head", "text_config.num_attention_heads"}})},
      {"kv_heads",
       size({"attention.head_count_kv", {"num_key_value_heads", "text_config.num_key_value_heads"}})},
      {"head_width", size({"attention.key_length", {"head_dim", "text_config.head_dim"}})},
      {"feed_forward",
       size({"feed_forward_length", {"intermediate_size", "n_inner", "text_config.intermediate_size"}})},
      {"context", size({"context_length",
                        {"max_position_embeddings", "n_positions", "text_config.max_position_embeddings"}})},
      {"vocabulary", vocabulary_of(file, settings)}};
  try {  // what the file leaves to its architecture
    const model::Configuration known = model::read_configuration(file);
    shape["kv_heads"] = known.kv_heads;
    shape["head_width"] = known.head_width;
    shape["feed_forward"] = known.hidden;
  } catch (const Error&) {
  }
  return shape;
} catch (const Error&) {
  return nullptr;
}

// What the file says of its tokenizer.
Json named_tokenizer(const GgufFile& file) {
  const auto text = [&](const char* key) {
    return or_null([&]() -> std::optional<std::string> {
      const auto found = file.text(key);
      return found ? std::optional(std::string(*found)) : std::nullopt;
    });
  };
  const auto* tokens = file.find("tokenizer.ggml.tokens");
  if (!tokens && !file.find("tokenizer.ggml.model")) return nullptr;
  return {{"kind", text("tokenizer.ggml.model")},
          {"pre", text("tokenizer.ggml.pre")},
          {"tokens", tokens ? Json(tokens->value.count) : Json()},
          {"chat_template", file.find("tokenizer.chat_template") != nullptr}};
}

Json named_tokenizer(const SafetensorsFolder& folder) {
  const auto path = folder.folder() / "tokenizer.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return nullptr;
  return {{"kind", "tokenizer.json"}, {"pre", nullptr}, {"tokens", nullptr}};
}

// And what comes of it here.
Json tokenizer_json(const ModelFile& file) {
  Json found = std::visit([](const auto& one) { return named_tokenizer(one); }, file);
  if (found.is_null()) return found;
  found["description"] = found["why_not"] = nullptr;
  try {
    const auto tokenizer = model::make_tokenizer(file);
    found["tokens"] = tokenizer->size();
    found["description"] = tokenizer->description();
  } catch (const Error& error) {
    found["why_not"] = reason_of(error, model::name_of(file));
  }
  return found;
}

Json tensors_json(const ModelFile& file) {
  std::vector<Json> list;
  for (const model::StoredTensor& tensor : model::tensors_of(file))
    list.push_back({{"name", tensor.name},
                    {"type", model::name_of(tensor.type)},
                    {"shape", tensor.shape},
                    {"elements", product_of(tensor.shape)},
                    {"bytes", tensor.bytes.size()},
                    {"offset", tensor.offset},
                    {"ours", true}});
  for (const model::ForeignTensor& tensor : model::foreign_tensors_of(file))
    list.push_back({{"name", tensor.name},
                    {"type", tensor.type},
                    {"shape", tensor.shape},
                    {"elements", product_of(tensor.shape)},
                    {"bytes", tensor.bytes},
                    {"offset", tensor.offset},
                    {"ours", false}});
  return list;
}

// The largest first.
Json types_of(const Json& tensors) {
  std::map<std::string, Json> types;
  std::uint64_t all = 0;
  for (const Json& tensor : tensors) {
    Json& type = types[tensor["type"]];
    if (type.is_null()) type = {{"type", tensor["type"]}, {"tensors", 0}, {"elements", 0}, {"bytes", 0}};
    type["tensors"] = type["tensors"].get<std::int64_t>() + 1;
    type["elements"] = type["elements"].get<std::int64_t>() + tensor["elements"].get<std::int64_t>();
    type["bytes"] = type["bytes"].get<std::uint64_t>() + tensor["bytes"].get<std::uint64_t>();
    all += tensor["bytes"].get<std::uint64_t>();
  }
  std::vector<Json> list;
  for (auto& [name, type] : types) {
    type["share"] = type["bytes"].get<double>() / static_cast<double>(std::max<std::uint64_t>(all, 1));
    list.push_back(type);
  }
  std::stable_sort(list.begin(), list.end(), [](const Json& a, const Json& b) {
    return a["bytes"].get<std::uint64_t>() > b["bytes"].get<std::uint64_t>();
  });
  return list;
}

}  // namespace

Json inspect_json(const ModelFile& file) {
  Json found = {{"path", model::name_of(file)},
                {"format", std::visit([](const auto& one) { return format_of(one); }, file)},
                {"bytes", std::visit([](const auto& one) { return bytes_of(one); }, file)},
                {"architecture", architecture_json(file)},
                {"shape", shape_of(file)},
                {"tokenizer", tokenizer_json(file)}};
  Json tensors = tensors_json(file);
  found["types"] = types_of(tensors);
  found["tensors"] = std::move(tensors);
  return found;
}

}  // namespace sharpmax::cli
