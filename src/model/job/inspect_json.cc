// Results of inspect() as JSON and back, and the metadata of a file as it stands.
#include <nlohmann/json.hpp>

#include "job/json_members.h"
#include "model/file/gguf.h"
#include "model/job/model_request.h"
#include "model/tensor/stored_tensor.h"
#include "sharpmax/inspect.h"

namespace sharpmax::model {
namespace {

// The metadata of a model file as JSON, nothing left out.

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

Json to_json(const InspectResult& result) {
  Json json{{"schema", kInspectSchema}};
  InspectResult::each_member(result, internal::Writer{json});
  return json;
}

InspectResult inspect_result(const Json& json) {
  return read_results(json, kInspectSchema, [](const Json& results) {
    InspectResult result;
    read_json(results, result);
    return result;
  });
}

}  // namespace sharpmax
