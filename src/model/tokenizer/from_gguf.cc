// The tokenizer's entries of a GGUF file, as plain values.
#include <fmt/format.h>

#include "base/in_quotes.h"
#include "model/tokenizer/gguf_tokenizer.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";

std::string key(std::string_view name) { return std::string(kPrefix) + std::string(name); }

std::vector<std::string> owned(const std::optional<std::vector<std::string_view>>& texts) {
  if (!texts) return {};
  return {texts->begin(), texts->end()};
}

// Older converters wrote scores as whole numbers.
std::vector<float> scores_of(const GgufFile& file) {
  const GgufEntry* entry = file.find(key("scores"));
  if (entry != nullptr && entry->value.type == GgufType::array && entry->value.element == GgufType::int32) {
    const auto whole = file.integers(key("scores"));
    return {whole->begin(), whole->end()};
  }
  return file.numbers(key("scores")).value_or(std::vector<float>());
}

}  // namespace

GgufVocabulary vocabulary_of(const GgufFile& file) {
  const auto model = file.text(key("model"));
  if (!model)
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: has no {}, so no tokenizer", file.name(), key("model")));
  GgufVocabulary parts;
  parts.file = file.name();
  parts.model = *model;
  parts.pre = file.text(key("pre")).value_or("");
  parts.texts = owned(file.texts(key("tokens")));
  parts.types = file.integers(key("token_type")).value_or(std::vector<std::int64_t>());
  parts.scores = scores_of(file);
  parts.merges = owned(file.texts(key("merges")));
  parts.begin = file.integer(key("bos_token_id"));
  parts.end = file.integer(key("eos_token_id"));
  parts.end_of_turn = file.integer(key("eot_token_id"));
  parts.end_of_message = file.integer(key("eom_token_id"));
  parts.unknown = file.integer(key("unknown_token_id"));
  parts.add_begin = file.boolean(key("add_bos_token"));
  parts.add_end = file.boolean(key("add_eos_token"));
  parts.add_space_prefix = file.boolean(key("add_space_prefix"));
  return parts;
}

std::unique_ptr<const Tokenizer> make_gguf_tokenizer(GgufVocabulary parts) {
  if (parts.model == "gpt2") return make_byte_level_bpe(std::move(parts));
  if (parts.model == "llama") return make_sentencepiece_bpe(std::move(parts));
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: tokenizer {} is not supported; known are gpt2 and llama", parts.file,
                          in_quotes(parts.model)));
}

}  // namespace sharpmax::model
