// tokenizer.json, as the `tokenizers` package of Hugging Face writes it. BPE models only.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "model/tokenizer/bpe_model.h"
#include "model/tokenizer/pattern.h"
#include "model/tokenizer/tokenizer.h"

namespace sharpmax::model {

// The stages of a Hugging Face tokenizer.json before and after its model: normalizer, pre-tokenizer, decoder.

// The "type" of a stage. Throws Error{bad_file} if there is none.
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
  // Steps on the joined text.
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

// What lies beside tokenizer.json and says which tokens begin and end a text; objects, or null.
struct JsonSurroundings {
  const nlohmann::json* tokenizer_config = nullptr;   // tokenizer_config.json
  const nlohmann::json* generation_config = nullptr;  // generation_config.json
  const nlohmann::json* config = nullptr;             // config.json
};

std::unique_ptr<const Tokenizer> make_json_tokenizer(const nlohmann::json& file,
                                                     const JsonSurroundings& beside);
std::unique_ptr<const Tokenizer> make_json_tokenizer(const std::filesystem::path& folder,
                                                     const nlohmann::json* config);

// A token that is found in a text before the model sees it.
struct AddedToken {
  std::string text;
  Token token = 0;
  bool special = false, lstrip = false, rstrip = false, single_word = false, normalized = false;
};

// Texts of added tokens, found the way `tokenizers` finds them.
class AddedTexts {
 public:
  AddedTexts() = default;
  // `texts` are those to look for: as they are, or normalized.
  AddedTexts(std::vector<AddedToken> tokens, const std::vector<std::string>& texts);
  std::vector<Fragment> cut(std::string_view text, SpecialText special) const;

 private:
  std::vector<AddedToken> tokens_;
  SpecialTexts texts_;
};

class JsonTokenizer final : public Tokenizer {
 public:
  JsonTokenizer(const nlohmann::json& file, const JsonSurroundings& beside);

  std::vector<Token> encode(std::string_view text, SpecialText special) const override;
  std::string bytes_of(Token token) const override;
  std::int64_t size() const noexcept override { return size_; }
  std::string_view text_of(Token token) const override;
  std::optional<Token> find(std::string_view vocabulary_text) const override;
  std::string description() const override;
  std::string decode(std::span<const Token> tokens) const override;

 private:
  void read_added(const nlohmann::json& file);
  void read_template(const nlohmann::json& stage);
  void read_surroundings(const JsonSurroundings& beside);
  void check(Token token) const;
  bool hidden(Token token) const;

  Vocabulary vocabulary_;  // of the model, without added tokens of its own
  BpeModel model_;
  JsonNormalizer normalizer_;
  JsonPreTokenizer pre_tokenizer_;
  JsonDecoder decoder_;
  std::unordered_map<Token, AddedToken> added_;
  std::unordered_map<std::string, Token> added_by_text_;
  AddedTexts as_written_, normalized_;
  std::int64_t size_ = 0;
};

}  // namespace sharpmax::model
