// What inspect() found, as JSON and back.
#include <nlohmann/json.hpp>

#include "job/json_members.h"
#include "sharpmax/inspect.h"

namespace sharpmax {
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
