// Byte-level BPE as GGUF files store it: words are cut by expressions, spelt in the byte alphabet and put
// together by ranked merges. Token for token what llama.cpp gives.
#include <fmt/format.h>

#include "base/in_quotes.h"
#include "model/tokenizer/bpe_model.h"
#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/gguf_tokenizer.h"
#include "model/tokenizer/pre_tokenizers.h"
#include "model/tokenizer/utf8.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

MergeList merges_of(const GgufVocabulary& parts) {
  MergeList merges;
  merges.reserve(parts.merges.size());
  for (std::size_t i = 0; i < parts.merges.size(); ++i) {
    const std::string& both = parts.merges[i];
    const std::size_t space = both.find(' ', 1);  // in first place it would leave nothing on the left
    if (space == std::string::npos || space + 1 == both.size())
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: merge {} is {}; wanted two tokens with a space between", parts.file, i,
                              in_quotes(both)));
    merges.emplace_back(both.substr(0, space), both.substr(space + 1));
  }
  return merges;
}

class ByteLevelBpe final : public GgufTokenizer {
 public:
  ByteLevelBpe(GgufVocabulary& parts, PreTokenizer pre)
      : GgufTokenizer(parts, {.add_begin = pre.add_begin}),
        patterns_(std::move(pre.patterns)),
        model_(vocabulary_, merges_of(parts), Repeated::first_counts,
               {.unknown = BpeRules::Unknown::stays, .whole_words_first = pre.whole_words_first}, parts.file),
        pre_name_(parts.pre.empty() ? "default" : parts.pre) {}

  std::string description() const override {
    return fmt::format("byte-level BPE, pre-tokenizer {}, {} tokens", pre_name_, size());
  }

 protected:
  void encode_stretch(std::string_view text, bool, std::vector<Token>& out) const override {
    const std::string read = as_llama_cpp_reads(text);
    const std::string matchable = without_surrogates(read);  // the same length, byte for byte
    WordCache words(model_);
    for (const std::string_view word : cut_into_words(matchable, patterns_)) {
      const auto begin = static_cast<std::size_t>(word.data() - matchable.data());
      words.encode_word(spelt(std::string_view(read).substr(begin, word.size())), out);
    }
  }
  std::string bytes_of_normal(std::string_view text) const override {
    return unspelt(text).value_or(std::string(text));
  }

 private:
  std::vector<Pattern> patterns_;
  BpeModel model_;
  std::string pre_name_;
};

}  // namespace

std::unique_ptr<const Tokenizer> make_byte_level_bpe(GgufVocabulary parts) {
  PreTokenizer pre = pre_tokenizer_named(parts.pre, parts.file);
  return std::make_unique<ByteLevelBpe>(parts, std::move(pre));
}

}  // namespace sharpmax::model
