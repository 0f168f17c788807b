// Oniguruma's words in PCRE2's. Only what both understand, or what can be said otherwise, passes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/in_quotes.h"
#include "model/tokenizer/pattern.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
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

}  // namespace sharpmax::model
