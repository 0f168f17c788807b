#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/in_quotes.h"
#include "model/tokenizer/json_steps.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

std::string normal_form(std::string_view text, int options) {
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &made,
                                             static_cast<utf8proc_option_t>(options | UTF8PROC_STABLE));
  if (size < 0)
    throw Error(ErrorCode::unsupported,
                fmt::format("tokenizer: a text that cannot be normalized: {}", utf8proc_errmsg(size)));
  std::string out(reinterpret_cast<const char*>(made), static_cast<std::size_t>(size));
  std::free(made);
  return out;
}

}  // namespace

std::string type_of_stage(const nlohmann::json& stage, std::string_view what) {
  const auto type = stage.find("type");
  if (!stage.is_object() || type == stage.end() || !type->is_string())
    throw Error(ErrorCode::bad_file, fmt::format("tokenizer.json: a {} without a type", what));
  return type->get<std::string>();
}

Pattern pattern_of(const nlohmann::json& stage) {
  const nlohmann::json& pattern = stage.at("pattern");
  if (const auto text = pattern.find("String"); text != pattern.end())
    return Pattern::literal(text->get_ref<const std::string&>());
  return Pattern(pattern.at("Regex").get_ref<const std::string&>());
}

JsonNormalizer::JsonNormalizer(const nlohmann::json& stage) {
  if (!stage.is_null()) add(stage);
}

void JsonNormalizer::add(const nlohmann::json& stage) {
  const std::string type = type_of_stage(stage, "normalizer");
  if (type == "Sequence") {
    for (const nlohmann::json& inner : stage.at("normalizers")) add(inner);
  } else if (type == "NFC") {
    steps_.emplace_back(Form::nfc);
  } else if (type == "NFD") {
    steps_.emplace_back(Form::nfd);
  } else if (type == "NFKC") {
    steps_.emplace_back(Form::nfkc);
  } else if (type == "NFKD") {
    steps_.emplace_back(Form::nfkd);
  } else if (type == "Prepend") {
    steps_.emplace_back(Prepend{stage.at("prepend").get<std::string>()});
  } else if (type == "Replace") {
    steps_.emplace_back(Replace{pattern_of(stage), stage.at("content").get<std::string>()});
  } else {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("tokenizer.json: normalizer {} is not supported; known are Sequence, NFC, NFD, NFKC, "
                    "NFKD, Prepend and Replace",
                    in_quotes(type)));
  }
}

bool JsonNormalizer::prepends() const noexcept {
  return std::any_of(steps_.begin(), steps_.end(),
                     [](const auto& s) { return std::holds_alternative<Prepend>(s); });
}

std::string JsonNormalizer::apply(std::string text) const {
  for (const auto& step : steps_) {
    if (text.empty()) return text;
    if (const auto* form = std::get_if<Form>(&step)) {
      constexpr int kOptions[] = {UTF8PROC_COMPOSE, UTF8PROC_DECOMPOSE, UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
                                  UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT};
      text = normal_form(text, kOptions[static_cast<int>(*form)]);
    } else if (const auto* prepend = std::get_if<Prepend>(&step)) {
      text.insert(0, prepend->text);
    } else {
      const auto& replace = std::get<Replace>(step);
      std::string out;
      out.reserve(text.size());
      for (const Piece& piece : replace.pattern.cut(text)) out += piece.matched ? replace.by : piece.text;
      text = std::move(out);
    }
  }
  return text;
}

}  // namespace sharpmax::model
