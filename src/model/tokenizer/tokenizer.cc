#include "model/tokenizer/tokenizer.h"

#include <utility>

#include "model/tokenizer/gguf_tokenizer.h"
#include "model/tokenizer/json_tokenizer.h"
#include "model/tokenizer/utf8.h"

namespace sharpmax::model {

std::vector<Token> Tokenizer::encode_whole(std::string_view text, SpecialText special) const {
  std::vector<Token> tokens;
  if (ends_.add_begin && ends_.begin) tokens.push_back(*ends_.begin);
  const std::vector<Token> inner = encode(text, special);
  tokens.insert(tokens.end(), inner.begin(), inner.end());
  if (ends_.add_end && ends_.end) tokens.push_back(*ends_.end);
  return tokens;
}

std::unique_ptr<const Tokenizer> make_tokenizer(const ModelFile& file) {
  if (const auto* gguf = std::get_if<GgufFile>(&file)) return make_gguf_tokenizer(vocabulary_of(*gguf));
  const auto& folder = std::get<SafetensorsFolder>(file);
  return make_json_tokenizer(folder.folder(), folder.configuration());
}

std::string TextStream::push(Token token) {
  waiting_ += tokenizer_.bytes_of(token);
  std::string ready = waiting_.substr(0, waiting_.size() - unfinished_bytes(waiting_));
  waiting_.erase(0, ready.size());
  return ready;
}

std::string TextStream::flush() { return std::exchange(waiting_, {}); }

}  // namespace sharpmax::model
