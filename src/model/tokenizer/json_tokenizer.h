// tokenizer.json, as the `tokenizers` package of Hugging Face writes it. BPE models only.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/tokenizer/bpe_model.h"
#include "model/tokenizer/json_steps.h"
#include "model/tokenizer/tokenizer.h"

namespace sharpmax::model {

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
