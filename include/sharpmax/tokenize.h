// tokenize(): a text as the tokens of a model, or tokens as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sharpmax/model.h"

namespace sharpmax {

inline constexpr const char* kTokenizeSchema = "sharpmax.tokenize/1";

// The model need not run here: its tokenizer is all that is read.
struct TokenizeRequest {
  ModelRequest model;  // `model` and `opened` alone
  TextRequest text;    // `text`, `text_string` and `special` alone
  std::vector<std::int64_t> decode;
  bool ends = false;
  bool chat = false;
  std::optional<std::string> system;
  std::string command;  // for the results; empty: made from the fields

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    ModelRequest::each_source(self.model, visit);
    visit(common({"text", "FILE", "Text", "Text to split, UTF-8; - is standard input", {}, Field::Kind::input}),
          self.text.text);
    visit(common({"text_string", "TEXT", "Text", "The text itself, in place of a file"}), self.text.text_string);
    visit(common({"decode", "N,N...", "Text", "Tokens to turn into text, in place of a text", range(0, (1LL << 31) - 1)}),
          self.decode);
    visit(common({"special", "", "Text", "Read <|special|> words in the text as the tokens that they name"}),
          self.text.special);
    visit({"ends", "", "Text", "Add the tokens that the model expects before and after a whole text"}, self.ends);
    visit({"chat", "", "Text", "Wrap the text as a message, as the model's own template does"}, self.chat);
    visit({"system", "TEXT", "Text", "System message of a chat"}, self.system);
  }
};

struct TokenPiece {
  std::int32_t token = 0;
  std::string spelling;  // as the vocabulary has it: "Ġthe"
  std::string text;      // " the"; empty for a control token, U+FFFD for a part of a character

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("token", self.token);
    visit("spelling", self.spelling);
    visit("text", self.text);
  }
};

struct TokenizeResult {
  Provenance provenance;
  std::string file, tokenizer;  // name of the model's file; "byte-level BPE, pre-tokenizer smollm, 49152 tokens"
  std::int64_t vocabulary = 0;
  bool decoded = false;  // from tokens to text
  bool special = false, ends = false, chat = false;
  std::string text;              // that was split, after the template; or that was decoded
  bool comes_back = false;       // the tokens give exactly this text
  std::vector<TokenPiece> tokens;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit.group("model", [&](const auto& within) {
      within("file", self.file);
      within("tokenizer", self.tokenizer);
      within("vocabulary", self.vocabulary);
    });
    visit("decoded", self.decoded);
    visit("special", self.special);
    visit("ends", self.ends);
    visit("chat", self.chat);
    visit("text", self.text);
    visit("comes_back", self.comes_back);
    visit("tokens", self.tokens);
  }
};

// Throws Error: bad_argument for no text, two texts or a token outside of the vocabulary; unsupported for a tokenizer or a
// chat template that is not known.
TokenizeResult tokenize(const TokenizeRequest& request, Listener& listener = nobody());

Json to_json(const TokenizeResult& result);        // schema sharpmax.tokenize/1
TokenizeResult tokenize_result(const Json& json);  // throws Error{bad_file}

}  // namespace sharpmax
