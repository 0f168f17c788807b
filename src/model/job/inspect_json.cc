// The metadata of a model file as JSON, nothing left out.
#include <nlohmann/json.hpp>

#include "job/json_members.h"
#include "model/file/gguf.h"
#include "model/job/model_request.h"
#include "model/tensor/stored_tensor.h"
#include "sharpmax/inspect.h"

namespace sharpmax::model {
namespace {

Json scalar(GgufType type, std::span<const std::byte> bytes) {
  const std::byte* at = bytes.data();
  switch (type) {
    case GgufType::uint8:
      return stored<std::uint8_t>(at);
    case GgufType::int8:
      return stored<std::int8_t>(at);
    case GgufType::uint16:
      return stored<std::uint16_t>(at);
    case GgufType::int16:
      return stored<std::int16_t>(at);
    case GgufType::uint32:
      return stored<std::uint32_t>(at);
    case GgufType::int32:
      return stored<std::int32_t>(at);
    case GgufType::float32:
      return stored<float>(at);
    case GgufType::boolean:
      return *at != std::byte{0};
    case GgufType::uint64:
      return stored<std::uint64_t>(at);
    case GgufType::int64:
      return stored<std::int64_t>(at);
    case GgufType::float64:
      return stored<double>(at);
    case GgufType::string:
    case GgufType::array:
      break;
  }
  return std::string(reinterpret_cast<const char*>(at), bytes.size());
}

Json value_of(const GgufFile& file, const GgufEntry& entry) {
  const GgufValue& value = entry.value;
  if (value.type != GgufType::array) return scalar(value.type, value.bytes);
  Json list = Json::array();
  if (value.element == GgufType::string) {
    const auto texts = file.texts(entry.key);
    for (const std::string_view text : *texts) list.push_back(std::string(text));
    return list;
  }
  const std::uint64_t size = size_of(value.element);
  for (std::uint64_t i = 0; i < value.count; ++i)
    list.push_back(scalar(value.element, value.bytes.subspan(i * size, size)));
  return list;
}

Json of(const GgufFile& file) {
  Json list = Json::array();
  for (const GgufEntry& entry : file.entries()) {
    Json one = {{"key", entry.key}, {"type", name_of(entry.value.type)}};
    if (entry.value.type == GgufType::array) one["element"] = name_of(entry.value.element);
    one["value"] = value_of(file, entry);
    list.push_back(std::move(one));
  }
  return list;
}

Json of(const SafetensorsFolder& folder) {
  Json list = Json::array();
  if (const nlohmann::json* configuration = folder.configuration())
    for (const auto& [key, value] : configuration->items())
      list.push_back({{"file", "config.json"}, {"key", key}, {"value", value}});
  for (const SafetensorsFile& shard : folder.shards())
    for (const auto& [key, value] : shard.metadata())
      list.push_back({{"file", std::filesystem::path(shard.name()).filename().string()},
                      {"key", key},
                      {"value", value}});
  return list;
}

}  // namespace

Json metadata_json(const ModelFile& file) {
  return std::visit([](const auto& one) { return of(one); }, file);
}

}  // namespace sharpmax::model

namespace sharpmax {

// What inspect() found, as JSON and back.

namespace {

template <class Self, class Visit>
void members(Self& self, const Visit& visit, const InspectResult::Architecture*) {
  visit("name", self.name);
  visit("runs_here", self.runs_here);
  visit("why_not", self.why_not);
}
template <class Self, class Visit>
void members(Self& self, const Visit& visit, const InspectResult::Shape*) {
  visit("layers", self.layers);
  visit("width", self.width);
  visit("query_heads", self.query_heads);
  visit("kv_heads", self.kv_heads);
  visit("head_width", self.head_width);
  visit("feed_forward", self.feed_forward);
  visit("context", self.context);
  visit("vocabulary", self.vocabulary);
}
template <class Self, class Visit>
void members(Self& self, const Visit& visit, const InspectResult::Tokenizer*) {
  visit("kind", self.kind);
  visit("pre", self.pre);
  visit("tokens", self.tokens);
  visit.optional("chat_template", self.chat_template);
  visit("why_not", self.why_not);
  visit("description", self.description);
}
template <class Self, class Visit>
void members(Self& self, const Visit& visit, const InspectResult::Type*) {
  visit("type", self.type);
  visit("tensors", self.tensors);
  visit("elements", self.elements);
  visit("bytes", self.bytes);
  visit("share", self.share);
}
template <class Self, class Visit>
void members(Self& self, const Visit& visit, const InspectResult::Tensor*) {
  visit("name", self.name);
  visit("type", self.type);
  visit("shape", self.shape);
  visit("elements", self.elements);
  visit("bytes", self.bytes);
  visit("offset", self.offset);
  visit("ours", self.ours);
}
template <class Self, class Visit>
void members(Self& self, const Visit& visit, const InspectResult::BadTensor*) {
  visit("name", self.name);
  visit("nan", self.nan);
  visit("infinite", self.infinite);
  visit("elements", self.elements);
  visit("first", self.first);
}

template <class T>
Json written(const T& part) {
  Json json = Json::object();
  members(part, internal::Writer{json}, &part);
  return json;
}
template <class T>
Json written(const std::vector<T>& parts) {
  Json list = Json::array();
  for (const T& part : parts) list.push_back(written(part));
  return list;
}
template <class T>
void read(const Json& json, T& part) {
  members(part, internal::Reader{json}, &part);
}
template <class T>
void read(const Json& json, std::vector<T>& parts) {
  for (const Json& one : json) read(one, parts.emplace_back());
}
template <class T>
void read(const Json& json, std::optional<T>& part) {
  if (!json.is_null()) read(json, part.emplace());
}

}  // namespace

Json to_json(const InspectResult& result) {
  Json json{{"schema", kInspectSchema},
            {"sharpmax", result.sharpmax},
            {"path", result.path},
            {"format", Json::parse(result.format)},
            {"bytes", result.bytes},
            {"architecture", written(result.architecture)},
            {"shape", result.shape ? written(*result.shape) : Json()},
            {"tokenizer", result.tokenizer ? written(*result.tokenizer) : Json()},
            {"types", written(result.types)},
            {"tensors", written(result.tensors)}};
  if (result.sha256) json["sha256"] = *result.sha256;
  if (result.check)
    json["check"] = {{"tensors", result.check->tensors},
                     {"not_checked", result.check->not_checked},
                     {"bad", written(result.check->bad)}};
  json["metadata"] = Json::parse(result.metadata);
  return json;
}

InspectResult inspect_result(const Json& json) {
  return read_results(json, kInspectSchema, [](const Json& results) {
    InspectResult result;
    read_json(results.at("sharpmax"), result.sharpmax);
    read_json(results.at("path"), result.path);
    result.format = results.at("format").dump();
    read_json(results.at("bytes"), result.bytes);
    read(results.at("architecture"), result.architecture);
    read(results.at("shape"), result.shape);
    read(results.at("tokenizer"), result.tokenizer);
    read(results.at("types"), result.types);
    read(results.at("tensors"), result.tensors);
    if (const auto digest = results.find("sha256"); digest != results.end()) result.sha256 = digest->get<std::string>();
    if (const auto check = results.find("check"); check != results.end()) {
      result.check.emplace();
      read_json(check->at("tensors"), result.check->tensors);
      read_json(check->at("not_checked"), result.check->not_checked);
      read(check->at("bad"), result.check->bad);
    }
    result.metadata = results.at("metadata").dump();
    return result;
  });
}

}  // namespace sharpmax
