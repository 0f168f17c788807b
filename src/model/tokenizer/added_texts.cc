#include <algorithm>

#include "model/tokenizer/json_tokenizer.h"
#include "model/tokenizer/pattern.h"
#include "model/tokenizer/utf8.h"

namespace sharpmax::model {
namespace {

// The well-formed character that ends the text; "" where the text is empty.
std::string_view last_character(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0) {
    --begin;
    if ((static_cast<unsigned char>(text[begin]) & 0xc0) != 0x80) break;
  }
  return text.substr(begin);
}

std::string_view first_character(std::string_view text) { return text.substr(0, character_length(text)); }

bool is_of(const Pattern& pattern, std::string_view character) {
  const auto pieces = pattern.cut(character);
  return pieces.size() == 1 && pieces[0].matched;
}

bool is_word(std::string_view character) {
  // Rust's \w, which differs from Oniguruma's in these.
  static const Pattern word(R"((?![\x{b2}\x{b3}\x{b9}\x{bc}-\x{be}])[\w\x{200c}\x{200d}])");
  return is_of(word, character);
}

bool is_space(std::string_view character) {
  static const Pattern space(R"(\s)");
  return is_of(space, character);
}

}  // namespace

AddedTexts::AddedTexts(std::vector<AddedToken> tokens, const std::vector<std::string>& texts)
    : tokens_(std::move(tokens)) {
  std::vector<SpecialToken> specials;
  for (std::size_t i = 0; i < tokens_.size(); ++i) specials.push_back({texts[i], tokens_[i].token});
  texts_ = SpecialTexts(std::move(specials));
}

std::vector<Fragment> AddedTexts::cut(std::string_view text, SpecialText special) const {
  std::vector<SpecialTexts::Match> kept;
  std::size_t done = 0;
  for (SpecialTexts::Match match : texts_.leftmost_longest(text)) {
    const AddedToken& token = tokens_[match.index];
    // A special text that is to be text still hides others that overlap it: so it is in `tokenizers`.
    if (token.special && special == SpecialText::as_text) continue;
    if (token.single_word && (is_word(last_character(text.substr(0, match.begin))) ||
                              is_word(first_character(text.substr(match.end)))))
      continue;
    if (token.lstrip) {
      while (match.begin > done && is_space(last_character(text.substr(0, match.begin))))
        match.begin -= last_character(text.substr(0, match.begin)).size();
    }
    if (token.rstrip) {
      while (match.end < text.size() && is_space(first_character(text.substr(match.end))))
        match.end += first_character(text.substr(match.end)).size();
    }
    match.begin = std::max(match.begin, done);
    match.end = std::max(match.end, match.begin);
    done = match.end;
    kept.push_back(match);
  }
  return fragments_of(text, kept, texts_);
}

}  // namespace sharpmax::model
