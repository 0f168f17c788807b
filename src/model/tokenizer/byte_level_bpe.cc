// Byte-level BPE as GGUF files store it: words are cut by expressions, spelt in the byte alphabet and put
// together by ranked merges. Token for token what llama.cpp gives.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/in_quotes.h"
#include "model/tokenizer/bpe_model.h"
#include "model/tokenizer/gguf_tokenizer.h"
#include "model/tokenizer/pattern.h"
#include "model/tokenizer/utf8.h"
#include "sharpmax/error.h"

namespace sharpmax::model {

// The pre-tokenizers that GGUF files name: expressions that cut a text into words, one after the other.
struct PreTokenizer {
  std::vector<Pattern> patterns;
  bool whole_words_first = false;  // words that are tokens are not put together by merges
  bool add_begin = false;          // where the file does not say
};

namespace {

using Expressions = std::span<const std::string_view>;

// What no expression matches stays a word of its own, so "\s+" at the end need not be written.
constexpr std::string_view kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))";

constexpr std::array<std::string_view, 1> kGpt2 = {kGpt2Words};
constexpr std::array<std::string_view, 2> kSmolLm = {R"(\p{N})", kGpt2Words};
constexpr std::array<std::string_view, 4> kDefault = {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Words, R"(\p{N}+)",
                                                      "[0-9][0-9][0-9]"};
constexpr std::array<std::string_view, 3> kFalcon = {R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2Words,
                                                     "[0-9][0-9][0-9]"};
// Contractions of either case are spelt out: "(?i:'s)" would match 'ſ as well, and llama.cpp does not.
constexpr std::array<std::string_view, 1> kLlama3 = {
    R"('[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::array<std::string_view, 1> kQwen2 = {
    R"('[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::array<std::string_view, 1> kQwen35 = {
    R"('[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
    R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

// Words end where capitals follow small letters ("HelloWorld" is two). Only A to Z and a to z have a case here:
// llama.cpp sees no other.
constexpr std::array<std::string_view, 1> kTekken = {
    R"([^\r\n\p{L}\p{N}]?(?:(?![a-z])\p{L})*(?:(?![A-Z])\p{L})+|)"
    R"([^\r\n\p{L}\p{N}]?(?:(?![a-z])\p{L})+(?:(?![A-Z])\p{L})*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::array<std::string_view, 1> kGpt4o = {
    R"([^\r\n\p{L}\p{N}]?(?:(?![a-z])\p{L})*(?:(?![A-Z])\p{L})+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|)"
    R"([^\r\n\p{L}\p{N}]?(?:(?![a-z])\p{L})+(?:(?![A-Z])\p{L})*(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::array<std::string_view, 3> kDeepSeek3 = {
    R"(\p{N}{1,3})", R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)",
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

// llama.cpp keeps the spaces of these ranges out of them: U+3000 and those of U+2000.
constexpr std::string_view kEasternWords = R"((?:(?!\s)[\x{800}-\x{9fa5}\x{ac00}-\x{d7ff}])+)";
// The letters with a case that Unicode had when the expression was made: later ones are left out by their blocks.
constexpr std::array<std::string_view, 6> kDeepSeekLlm = {
    R"([\r\n])",
    R"(\s?(?:(?![\x{560}-\x{588}\x{10c7}-\x{10ff}\x{1c80}-\x{1c88}\x{2d00}-\x{2d2d}\x{a790}-\x{a7fa}\x{ab30}-\x{ab68})"
    R"(\x{10570}-\x{105bc}\x{16e40}-\x{16e7f}\x{1d400}-\x{1d7cb}\x{1df00}-\x{1df1e}])[\p{Lu}\p{Ll}\p{Lt}])+)",
    R"(\s?(?:(?!\s)[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}])+)",
    R"(\s+$)",
    kEasternWords,
    R"(\p{N}+)"};
constexpr std::array<std::string_view, 5> kDeepSeekCoder = {
    R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kEasternWords, R"(\p{N})"};

struct Row {
  std::string_view name;
  Expressions expressions;
  bool whole_words_first = false, add_begin = false;
};

// As llama.cpp maps names to expressions.
constexpr Row kRows[] = {
    {"default", kDefault},
    {"gpt-2", kGpt2},
    {"phi-2", kGpt2},
    {"mpt", kGpt2},
    {"olmo", kGpt2},
    {"jais", kGpt2},
    {"gigachat", kGpt2},
    {"exaone4", kGpt2},
    {"trillion", kGpt2},
    {"granite-docling", kGpt2},
    {"smollm", kSmolLm},
    {"starcoder", kSmolLm},
    {"refact", kSmolLm},
    {"command-r", kSmolLm},
    {"codeshell", kSmolLm},
    {"exaone", kSmolLm},
    {"minerva-7b", kSmolLm},
    {"falcon", kFalcon},
    {"llama-bpe", kLlama3, true, true},
    {"llama3", kLlama3, true, true},
    {"llama-v3", kLlama3, true, true},
    {"falcon3", kLlama3, true, true},
    {"dbrx", kLlama3},
    {"smaug-bpe", kLlama3},
    {"glm4", kLlama3},
    {"chatglm-bpe", kLlama3},
    {"qwen2", kQwen2},
    {"deepseek-r1-qwen", kQwen2},
    {"stablelm2", kQwen2},
    {"hunyuan", kQwen2},
    {"megrez", kQwen2},
    {"qwen35", kQwen35},
    {"tekken", kTekken, true, true},
    {"gpt-4o", kGpt4o},
    {"llama4", kGpt4o},
    {"deepseek-v3", kDeepSeek3},
    {"deepseek-llm", kDeepSeekLlm},
    {"deepseek-coder", kDeepSeekCoder},
};

// Compiled once a process: it takes milliseconds, and patterns never change.
const std::vector<Pattern>& compiled(Expressions expressions) {
  static std::mutex mutex;
  static std::map<const std::string_view*, std::vector<Pattern>> known;
  const std::lock_guard lock(mutex);
  std::vector<Pattern>& patterns = known[expressions.data()];
  while (patterns.size() < expressions.size()) patterns.emplace_back(expressions[patterns.size()]);
  return patterns;
}

}  // namespace

// Throws Error{unsupported} for a name we do not know, and says which we do. The empty name is "default".
PreTokenizer pre_tokenizer_named(std::string_view name, std::string_view file) {
  if (name.empty()) name = "default";
  const auto* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.name == name; });
  if (row == std::end(kRows)) {
    std::string known;
    for (const Row& r : kRows) known += fmt::format("{}{}", known.empty() ? "" : ", ", r.name);
    throw Error(ErrorCode::unsupported, fmt::format("{}: pre-tokenizer {} is not supported; known are {}",
                                                    file, in_quotes(name), known));
  }
  return {compiled(row->expressions), row->whole_words_first, row->add_begin};
}

std::vector<std::string_view> cut_into_words(std::string_view text, const std::vector<Pattern>& patterns) {
  std::vector<std::string_view> words = {text};
  for (const Pattern& pattern : patterns) {
    std::vector<std::string_view> smaller;
    for (const std::string_view word : words) {
      for (const Piece& piece : pattern.cut(word)) smaller.push_back(piece.text);
    }
    words = std::move(smaller);
  }
  return words;
}

namespace {

MergeList merges_of(const GgufVocabulary& parts) {
  MergeList merges;
  merges.reserve(parts.merges.size());
  for (std::size_t i = 0; i < parts.merges.size(); ++i) {
    const std::string& both = parts.merges[i];
    const std::size_t space = both.find(' ', 1);  // in first place it would leave nothing on the left
    if (space == std::string::npos || space + 1 == both.size())
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: merge {} is {}; expected two tokens with a space between", parts.file, i,
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
