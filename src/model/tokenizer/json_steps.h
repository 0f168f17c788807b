// The stages of a Hugging Face tokenizer.json before and after its model: normalizer, pre-tokenizer, decoder.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/tokenizer/pattern.h"

namespace sharpmax::model {

// The "type" of a stage. Throws Error{bad_file} where there is none.
std::string type_of_stage(const nlohmann::json& stage, std::string_view what);
// {"String": ...} or {"Regex": ...}
Pattern pattern_of(const nlohmann::json& stage);

class JsonNormalizer {
 public:
  JsonNormalizer() = default;
  explicit JsonNormalizer(const nlohmann::json& stage);  // null: does nothing
  std::string apply(std::string text) const;             // well-formed UTF-8
  bool prepends() const noexcept;

 private:
  enum class Form { nfc, nfd, nfkc, nfkd };
  struct Prepend {
    std::string text;
  };
  struct Replace {
    Pattern pattern;
    std::string by;
  };
  void add(const nlohmann::json& stage);

  std::vector<std::variant<Form, Prepend, Replace>> steps_;
};

// A word on its way to the model.
struct JsonWord {
  std::string text;
  bool at_start = false;  // of the whole text
};

class JsonPreTokenizer {
 public:
  JsonPreTokenizer() = default;
  explicit JsonPreTokenizer(const nlohmann::json& stage);  // null: the text is one word
  std::vector<JsonWord> apply(JsonWord stretch) const;
  bool spells_bytes() const noexcept;

 private:
  enum class Behavior { isolated, removed, contiguous, merged_with_previous, merged_with_next };
  struct Split {
    Pattern pattern;
    Behavior behavior;
    bool invert;
  };
  struct ByteLevel {
    bool add_prefix_space;
    std::optional<Pattern> words;
  };
  struct Metaspace {
    enum class Prepend { always, first, never };
    std::string replacement;
    Prepend prepend;
    std::optional<Pattern> split;
  };
  void add(const nlohmann::json& stage);
  void add_split(const nlohmann::json& stage);
  void add_metaspace(const nlohmann::json& stage);
  static std::vector<std::string_view> cut(std::string_view text, const Split& split);
  static void apply_one(const Split& split, const JsonWord& word, std::vector<JsonWord>& out);
  static void apply_one(const ByteLevel& level, const JsonWord& word, std::vector<JsonWord>& out);
  static void apply_one(const Metaspace& space, const JsonWord& word, std::vector<JsonWord>& out);

  std::vector<std::variant<Split, ByteLevel, Metaspace>> steps_;
};

class JsonDecoder {
 public:
  JsonDecoder() = default;
  explicit JsonDecoder(const nlohmann::json& stage);
  std::string bytes_of(std::string_view token_text) const;
  // The text of the first token, which may lose spaces that were put before it.
  std::string bytes_of_first(std::string_view token_text) const;
  // What is done to the joined text.
  void finish(std::string& text) const;

 private:
  struct Replace {
    Pattern pattern;
    std::string by;
  };
  enum class Kind { byte_level, byte_fallback };
  void add(const nlohmann::json& stage);

  std::vector<std::variant<Replace, Kind>> steps_;
  std::string metaspace_;  // dropped from the first token
  bool fused_ = false;
  std::string strip_;  // taken away at the start, up to so often
  std::size_t strip_count_ = 0;
};

}  // namespace sharpmax::model
