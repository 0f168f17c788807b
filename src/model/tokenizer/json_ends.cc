// Tokens that begin and end a text: from the template in tokenizer.json, and from the files beside it.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/in_quotes.h"
#include "model/tokenizer/json_tokenizer.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

using nlohmann::json;

// "</s>", or {"content": "</s>", ...}
std::optional<std::string> named_text(const json* config, const char* name) {
  if (config == nullptr || !config->is_object()) return std::nullopt;
  auto found = config->find(name);
  if (found == config->end()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_object() && found->contains("content") && found->at("content").is_string())
    return found->at("content").get<std::string>();
  return std::nullopt;
}

// A number, or several.
std::vector<std::int64_t> named_numbers(const json* config, const char* name) {
  std::vector<std::int64_t> numbers;
  if (config == nullptr || !config->is_object() || !config->contains(name)) return numbers;
  const json& value = config->at(name);
  const json list = value.is_array() ? value : json::array({value});
  for (const json& number : list) {
    if (number.is_number_integer()) numbers.push_back(number.get<std::int64_t>());
  }
  return numbers;
}

}  // namespace

void JsonTokenizer::read_template(const json& stage) {
  if (stage.is_null()) return;
  const std::string type = type_of_stage(stage, "post-processor");
  if (type == "ByteLevel") return;  // it moves offsets only
  if (type == "Sequence") {
    for (const json& inner : stage.at("processors")) read_template(inner);
    return;
  }
  if (type != "TemplateProcessing")
    throw Error(
        ErrorCode::unsupported,
        fmt::format("tokenizer.json: post-processor {} is not supported; known are Sequence, ByteLevel and "
                    "TemplateProcessing",
                    in_quotes(type)));
  bool after = false;
  for (const json& piece : stage.at("single")) {
    if (piece.contains("Sequence")) {
      after = true;
      continue;
    }
    const auto& name = piece.at("SpecialToken").at("id").get_ref<const std::string&>();
    const json& ids = stage.at("special_tokens").at(name).at("ids");
    bool& adds = after ? ends_.add_end : ends_.add_begin;
    if (ids.size() != 1 || adds)
      throw Error(ErrorCode::unsupported, "tokenizer.json: a template with several tokens at one end");
    const auto id = ids.at(0).get<std::int64_t>();
    if (id < 0 || id >= size_)
      throw Error(ErrorCode::bad_file,
                  fmt::format("tokenizer.json: the template adds token {}; there are {}", id, size_));
    (after ? ends_.end : ends_.begin) = static_cast<Token>(id);
    adds = true;
  }
}

void JsonTokenizer::read_surroundings(const JsonSurroundings& beside) {
  const auto stop_at = [&](std::int64_t token) {
    if (token < 0 || token >= size_) return;  // of a larger vocabulary: this one can never give it
    const auto stop = static_cast<Token>(token);
    if (std::find(ends_.stops.begin(), ends_.stops.end(), stop) == ends_.stops.end())
      ends_.stops.push_back(stop);
  };
  if (!ends_.begin) {
    if (const auto text = named_text(beside.tokenizer_config, "bos_token")) ends_.begin = find(*text);
  }
  std::optional<Token> end;
  if (const auto text = named_text(beside.tokenizer_config, "eos_token")) end = find(*text);
  if (!ends_.end) ends_.end = end;
  if (end) stop_at(*end);
  if (ends_.add_end) stop_at(*ends_.end);
  for (const json* config : {beside.generation_config, beside.config}) {
    for (const std::int64_t token : named_numbers(config, "eos_token_id")) {
      stop_at(token);
      if (!ends_.end && token >= 0 && token < size_) ends_.end = static_cast<Token>(token);
    }
    for (const std::int64_t token : named_numbers(config, "bos_token_id")) {
      if (!ends_.begin && token >= 0 && token < size_) ends_.begin = static_cast<Token>(token);
    }
  }
}

}  // namespace sharpmax::model
