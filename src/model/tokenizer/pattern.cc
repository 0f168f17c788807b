// Expressions of tokenizers, run by PCRE2 after a translation from the dialect in which they are written.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/tokenizer/pattern.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/in_quotes.h"
#include "model/tokenizer/utf8.h"
#include "sharpmax/error.h"

namespace sharpmax::model {

// Oniguruma's words in PCRE2's. Only what both understand, or what can be said otherwise, passes.

namespace {

// PCRE2's \s takes U+180E for a space, Unicode does not; its \w knows neither marks nor connectors, and
// Oniguruma's takes the superscripts and fractions of Latin-1 in.
constexpr std::string_view kSpaces = R"(\x{9}-\x{d}\x{85}\p{Z})";
constexpr std::string_view kWords = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";

// PCRE2's \p{Han} also takes characters that several scripts share; \p{sc:Han} does not.
constexpr std::array<std::string_view, 12> kScripts = {"Han",    "Hiragana", "Katakana",   "Hangul",
                                                       "Latin",  "Greek",    "Cyrillic",   "Arabic",
                                                       "Hebrew", "Thai",     "Devanagari", "Bengali"};
constexpr std::string_view kPlainEscapes = "rntfdD";  // mean the same in both

class Translation {
 public:
  explicit Translation(std::string_view expression) : from_(expression) {}

  std::string run() {
    while (at_ < from_.size()) {
      const char c = from_[at_];
      if (c == '\\')
        escape();
      else if (in_class_)
        class_character(c);
      else if (c == '[')
        open_class();
      else if (c == '(')
        open_group();
      else
        copy(1);
    }
    if (in_class_) refuse("has a '[' that nothing closes");
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view why) const {
    throw Error(ErrorCode::unsupported,
                fmt::format("tokenizer: the regular expression {} {}", in_quotes(from_), why));
  }
  char next(std::size_t ahead) const { return at_ + ahead < from_.size() ? from_[at_ + ahead] : '\0'; }
  bool follows(std::string_view words) const { return from_.substr(at_).starts_with(words); }
  void copy(std::size_t bytes) {
    out_ += from_.substr(at_, bytes);
    at_ += bytes;
  }
  void put_set(std::string_view set, bool negative) {
    at_ += 2;
    if (!in_class_)
      out_ += fmt::format("[{}{}]", negative ? "^" : "", set);
    else if (!negative)
      out_ += set;
    else
      refuse("has \\S or \\W within brackets, which is not supported");
  }

  void escape() {
    const char c = next(1);
    if (c == '\0') refuse("ends in a backslash");
    if (c == 's' || c == 'S') return put_set(kSpaces, c == 'S');
    if (c == 'w' || c == 'W') return put_set(kWords, c == 'W');
    if (c == 'p' || c == 'P') return property();
    if (c == 'x' || c == 'u') return code_point();
    const bool letter =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80;
    if (letter && kPlainEscapes.find(c) == std::string_view::npos)
      refuse(fmt::format("has the escape {}, which is not supported", in_quotes(from_.substr(at_, 2))));
    copy(2);
  }

  void property() {
    const std::size_t close = from_.find('}', at_);
    if (next(2) != '{' || close == std::string_view::npos) refuse("has a \\p without a name in braces");
    std::string_view name = from_.substr(at_ + 3, close - at_ - 3);
    const bool negative = (next(1) == 'P') != name.starts_with('^');
    if (name.starts_with('^')) name.remove_prefix(1);
    const bool script = std::find(kScripts.begin(), kScripts.end(), name) != kScripts.end();
    if (name.empty() || (name.size() > 2 && !script))
      refuse(fmt::format("has the property {}, which is not supported", in_quotes(name)));
    out_ += fmt::format("\\{}{{{}{}}}", negative ? 'P' : 'p', script ? "sc:" : "", name);
    at_ = close + 1;
  }

  void code_point() {
    std::size_t begin = at_ + 2, end = begin;
    const bool braces = next(2) == '{';
    if (braces) {
      end = from_.find('}', ++begin);
      if (end == std::string_view::npos) refuse("has a code point without an end");
    } else {
      end = std::min(begin + (next(1) == 'x' ? 2 : 4), from_.size());
    }
    const std::string_view digits = from_.substr(begin, end - begin);
    if (digits.empty() || digits.size() > 6 ||
        !std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isxdigit(c) != 0; }))
      refuse("has a code point that is not hexadecimal");
    out_ += fmt::format("\\x{{{}}}", digits);
    at_ = end + (braces ? 1 : 0);
  }

  void open_class() {
    in_class_ = true;
    copy(next(1) == '^' ? 2 : 1);
    if (next(0) == ']') {  // a bracket in first place stands for itself in both
      out_ += "\\]";
      ++at_;
    }
  }

  void class_character(char c) {
    if (c == ']') in_class_ = false;
    if (c == '[') refuse("has brackets within brackets, which is not supported");
    if (follows("&&")) refuse("has an intersection of classes, which is not supported");
    copy(1);
  }

  void open_group() {
    if (next(1) == '*') refuse("has a verb, which is not supported");
    if (next(1) != '?') return copy(1);
    for (const std::string_view kind :
         {"(?:", "(?i:", "(?-i:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i)"}) {
      if (follows(kind)) return copy(kind.size());
    }
    refuse(fmt::format("has the group {}, which is not supported", in_quotes(from_.substr(at_, 4))));
  }

  std::string_view from_;
  std::size_t at_ = 0;
  std::string out_;
  bool in_class_ = false;
};

}  // namespace

std::string in_pcre2(std::string_view expression) { return Translation(expression).run(); }

namespace {

constexpr std::size_t kJitStackBytes = 8U << 20;
// PCRE2's own default. The expressions of our models stay below it on a megabyte of one letter, digit or space
// (tests/laws/tokenizer_laws.cc).
constexpr std::uint32_t kMatchLimit = 10'000'000;
constexpr std::uint32_t kHeapKilobytes = 64 * 1024;
constexpr std::size_t kMaxExpression = 16 * 1024;

std::string words_of(int error) {
  std::array<PCRE2_UCHAR, 200> words{};
  pcre2_get_error_message(error, words.data(), words.size());
  return reinterpret_cast<const char*>(words.data());
}

// What one thread needs to match, kept from call to call.
struct MatchSpace {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 * 1024, kJitStackBytes, nullptr);

  MatchSpace() {
    if (data == nullptr || context == nullptr) throw std::bad_alloc();
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_heap_limit(context, kHeapKilobytes);
    if (stack != nullptr) pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~MatchSpace() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
  MatchSpace(const MatchSpace&) = delete;
  MatchSpace& operator=(const MatchSpace&) = delete;
};

}  // namespace

struct Pattern::Code {
  std::string expression;
  pcre2_code* code = nullptr;

  Code(std::string_view shown, std::string_view expression_in_pcre2, std::uint32_t options)
      : expression(shown) {
    int error = 0;
    PCRE2_SIZE at = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression_in_pcre2.data()), expression_in_pcre2.size(),
                         PCRE2_UTF | options, &error, &at, nullptr);
    if (code == nullptr)
      throw Error(ErrorCode::bad_file, fmt::format("tokenizer: the regular expression {} is not one: {}",
                                                   in_quotes(shown), words_of(error)));
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without it the interpreter runs: slower, the same answers
  }
  ~Code() { pcre2_code_free(code); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
};

Pattern::Pattern(std::string_view expression) {
  if (expression.size() > kMaxExpression)
    throw Error(ErrorCode::unsupported, fmt::format("tokenizer: a regular expression of {} bytes; at most {}",
                                                    expression.size(), kMaxExpression));
  code_ = std::make_shared<Code>(expression, in_pcre2(expression),
                                 PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C);
}

Pattern Pattern::literal(std::string_view text) {
  return Pattern(std::make_shared<Code>(text, text, PCRE2_LITERAL));
}

std::vector<Piece> Pattern::cut(std::string_view text) const {
  thread_local MatchSpace space;
  std::vector<Piece> pieces;
  std::size_t done = 0;  // up to here the text is in pieces
  std::size_t from = 0;  // from here we look for a match
  while (from < text.size()) {
    // No check of the UTF-8: it would read the rest of the text for every word.
    const int found = pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                  PCRE2_NO_UTF_CHECK, space.data, space.context);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0)
      throw Error(ErrorCode::unsupported,
                  fmt::format("tokenizer: the regular expression {} gives up on this text: {}",
                              in_quotes(code_->expression), words_of(found)));
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(space.data);
    const std::size_t begin = ends[0], end = ends[1];
    if (end <= begin) {  // an empty match: nothing to cut off
      from = std::max(from, begin) +
             std::max<std::size_t>(1, character_length(text.substr(std::max(from, begin))));
      continue;
    }
    if (begin > done) pieces.push_back({text.substr(done, begin - done), false});
    pieces.push_back({text.substr(begin, end - begin), true});
    done = from = end;
  }
  if (done < text.size()) pieces.push_back({text.substr(done), false});
  return pieces;
}

}  // namespace sharpmax::model
