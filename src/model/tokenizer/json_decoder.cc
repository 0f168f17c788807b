#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/in_quotes.h"
#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/json_steps.h"
#include "model/tokenizer/vocabulary.h"
#include "sharpmax/error.h"

namespace sharpmax::model {

JsonDecoder::JsonDecoder(const nlohmann::json& stage) {
  if (stage.is_null()) throw Error(ErrorCode::unsupported, "tokenizer.json: has no decoder");
  add(stage);
}

void JsonDecoder::add(const nlohmann::json& stage) {
  const std::string type = type_of_stage(stage, "decoder");
  const auto refuse_after_fuse = [&] {
    if (fused_)
      throw Error(ErrorCode::unsupported,
                  fmt::format("tokenizer.json: decoder {} after Fuse", in_quotes(type)));
  };
  if (type == "Sequence") {
    for (const nlohmann::json& inner : stage.at("decoders")) add(inner);
  } else if (type == "Fuse") {
    fused_ = true;
  } else if (type == "Strip") {
    if (!fused_ || stage.at("stop").get<int>() != 0 || strip_count_ != 0)
      throw Error(ErrorCode::unsupported,
                  "tokenizer.json: decoder Strip other than one at the start, after Fuse");
    strip_ = stage.at("content").get<std::string>();
    strip_count_ = stage.at("start").get<std::size_t>();
  } else if (type == "ByteLevel") {
    refuse_after_fuse();
    steps_.emplace_back(Kind::byte_level);
  } else if (type == "ByteFallback") {
    refuse_after_fuse();
    steps_.emplace_back(Kind::byte_fallback);
  } else if (type == "Replace") {
    refuse_after_fuse();
    steps_.emplace_back(Replace{pattern_of(stage), stage.at("content").get<std::string>()});
  } else if (type == "Metaspace") {
    refuse_after_fuse();
    const auto replacement = stage.at("replacement").get<std::string>();
    steps_.emplace_back(Replace{Pattern::literal(replacement), " "});
    if (stage.value("prepend_scheme", "always") != "never") metaspace_ = replacement;
  } else {
    throw Error(ErrorCode::unsupported,
                fmt::format("tokenizer.json: decoder {} is not supported; known are Sequence, ByteLevel, "
                            "ByteFallback, Replace, Metaspace, Fuse and Strip",
                            in_quotes(type)));
  }
}

std::string JsonDecoder::bytes_of(std::string_view token_text) const {
  std::string text(token_text);
  for (const auto& step : steps_) {
    if (const auto* replace = std::get_if<Replace>(&step)) {
      std::string out;
      for (const Piece& piece : replace->pattern.cut(text)) out += piece.matched ? replace->by : piece.text;
      text = std::move(out);
    } else if (std::get<Kind>(step) == Kind::byte_level) {
      if (auto bytes = unspelt(text)) text = std::move(*bytes);
    } else if (const auto byte = byte_named(text)) {
      return std::string(1, static_cast<char>(*byte));
    }
  }
  return text;
}

std::string JsonDecoder::bytes_of_first(std::string_view token_text) const {
  if (metaspace_.empty()) return bytes_of(token_text);
  std::string text(token_text);
  for (std::size_t at = text.find(metaspace_); at != std::string::npos; at = text.find(metaspace_, at))
    text.erase(at, metaspace_.size());
  return bytes_of(text);
}

void JsonDecoder::finish(std::string& text) const {
  for (std::size_t i = 0; i < strip_count_ && !strip_.empty() && text.starts_with(strip_); ++i)
    text.erase(0, strip_.size());
}

}  // namespace sharpmax::model
