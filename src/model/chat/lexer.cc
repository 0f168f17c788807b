#include "model/chat/syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/in_quotes.h"
#include "model/chat/value.h"
#include "model/tokenizer/utf8.h"
#include "sharpmax/error.h"

namespace sharpmax::model::chat {

void refuse(std::int64_t line, std::string_view why) {
  throw Error(ErrorCode::unsupported, fmt::format("chat template, line {}: {}", line, why));
}

namespace {

using Kind = Lexeme::Kind;

// Every line end is one '\n', and the last one is left out.
std::string with_plain_lines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    const bool pair = source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n';
    if (!pair) out += source[i] == '\r' ? '\n' : source[i];
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool continues_name(char c) { return begins_name(c) || is_digit(c); }

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  std::vector<Lexeme> run() {
    while (at_ < source_.size()) {
      const std::size_t open = next_tag();
      const bool last = open == std::string::npos;
      add_data(last ? source_.size() : open, last);
      if (!last) tag();
    }
    add(Kind::end, "");
    return std::move(lexemes_);
  }

 private:
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  void add(Kind kind, std::string content) { lexemes_.push_back({kind, std::move(content), line_}); }
  void skip(std::size_t bytes) {
    line_ += std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                        source_.begin() + static_cast<std::ptrdiff_t>(at_ + bytes), '\n');
    at_ += bytes;
  }

  std::size_t next_tag() const {
    for (std::size_t open = source_.find('{', at_); open != std::string::npos; open = source_.find('{', open + 1)) {
      const char kind = open + 1 < source_.size() ? source_[open + 1] : '\0';
      if (kind == '{' || kind == '%' || kind == '#') return open;
    }
    return std::string::npos;
  }

  // The text before a tag, or before the end.
  void add_data(std::size_t end, bool last) {
    std::string_view text = std::string_view(source_).substr(at_, end - at_);
    if (!last) {
      const char kind = source_[end + 1], sign = end + 2 < source_.size() ? source_[end + 2] : '\0';
      if (sign == '-') {
        text = stripped_right(text);
      } else if (kind != '{' && sign != '+') {
        const std::size_t line = text.rfind('\n') + 1;  // 0 if there is none
        if ((line > 0 || line_starts_) && stripped_left(text.substr(line)).empty()) text = text.substr(0, line);
      }
    }
    if (!text.empty()) add(Kind::data, std::string(text));
    skip(end - at_);
  }

  void tag() {
    const char kind = peek(1);
    const std::int64_t opened = line_;
    skip(2);
    if (peek() == '-' || (peek() == '+' && kind != '{')) skip(1);
    if (kind == '#') return comment(opened);
    add(kind == '{' ? Kind::variable_begin : Kind::block_begin, "");
    const std::string_view close = kind == '{' ? "}}" : "%}";
    brackets_.clear();
    while (true) {
      while (at_ < source_.size() && is_blank(peek())) skip(1);
      if (at_ >= source_.size()) refuse(opened, fmt::format("a {} has no {}", kind == '{' ? "{{" : "{%", close));
      if (brackets_.empty() && ends_tag(close)) break;
      word();
    }
    add(kind == '{' ? Kind::variable_end : Kind::block_end, "");
    leave_tag(close, kind != '{');
  }

  static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  bool ends_tag(std::string_view close) const {
    const bool signed_end = (peek() == '-' || peek() == '+') && rest().substr(1).starts_with(close);
    return rest().starts_with(close) || (signed_end && (peek() == '-' || close == "%}"));
  }

  void leave_tag(std::string_view close, bool trims_line) {
    const char sign = rest().starts_with(close) ? '\0' : peek();
    skip(close.size() + (sign == '\0' ? 0 : 1));
    const std::size_t from = at_;
    if (sign == '-')
      skip(rest().size() - stripped_left(rest()).size());
    else if (sign == '\0' && trims_line && peek() == '\n')
      skip(1);
    line_starts_ = at_ > from && source_[at_ - 1] == '\n';
  }

  void comment(std::int64_t opened) {
    const std::size_t close = source_.find("#}", at_);
    if (close == std::string::npos) refuse(opened, "a {# has no #}");
    const bool sign = close > at_ && (source_[close - 1] == '-' || source_[close - 1] == '+');
    skip(close - at_ - (sign ? 1 : 0));
    leave_tag("#}", true);
  }

  void word() {
    const char c = peek();
    if (begins_name(c)) {
      std::size_t size = 1;
      while (continues_name(peek(size))) ++size;
      add(Kind::name, source_.substr(at_, size));
      skip(size);
    } else if (is_digit(c)) {
      number();
    } else if (c == '\'' || c == '"') {
      text(c);
    } else {
      sign();
    }
  }

  void number() {
    std::size_t size = 1;
    while (is_digit(peek(size)) || (peek(size) == '_' && is_digit(peek(size + 1)))) ++size;
    Kind kind = Kind::integer;
    if (peek(size) == '.' && is_digit(peek(size + 1))) {
      kind = Kind::real;
      ++size;
      while (is_digit(peek(size))) ++size;
    }
    if (continues_name(peek(size))) refuse(line_, "a number with an exponent or of another base is not supported");
    std::string digits = source_.substr(at_, size);
    std::erase(digits, '_');
    if (digits.size() > 18) refuse(line_, "a number of more than 18 digits is not supported");
    add(kind, digits);
    skip(size);
  }

  void sign() {
    constexpr std::array<std::string_view, 24> kSigns = {"==", "!=", "<=", ">=", "//", "**", "(", ")", "[", "]", "{", "}",
                                                         ",",  ".",  ":",  "|",  "+",  "-",  "*", "/", "%", "~", "=", "<"};
    const auto* found = std::find_if(kSigns.begin(), kSigns.end(), [&](std::string_view s) { return rest().starts_with(s); });
    if (found == kSigns.end() && peek() != '>') {
      const std::size_t size = std::max<std::size_t>(character_length(rest()), 1);
      refuse(line_, fmt::format("{} has no meaning in a tag", in_quotes(rest().substr(0, size))));
    }
    const std::string_view sign = found == kSigns.end() ? ">" : *found;
    if (sign == "(" || sign == "[" || sign == "{") brackets_ += sign == "(" ? ')' : sign == "[" ? ']' : '}';
    if (sign == ")" || sign == "]" || sign == "}") {
      if (brackets_.empty() || brackets_.back() != sign[0]) refuse(line_, fmt::format("a '{}' closes nothing", sign));
      brackets_.pop_back();
    }
    add(Kind::sign, std::string(sign));
    skip(sign.size());
  }

  void text(char quote) {
    const std::int64_t opened = line_;
    std::string out;
    skip(1);
    while (peek() != quote) {
      if (at_ >= source_.size()) refuse(opened, "a text in quotes has no end");
      if (peek() == '\\' && at_ + 1 < source_.size()) {
        escape(out);
      } else {
        out += peek();
        skip(1);
      }
    }
    skip(1);
    lexemes_.push_back({Kind::text, std::move(out), opened});
  }

  // As Python's "unicode-escape".
  void escape(std::string& out) {
    constexpr std::string_view kLetters = "ntrabfv\\'\"", kMeanings = "\n\t\r\a\b\f\v\\'\"";
    const char c = peek(1);
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (const std::size_t known = kLetters.find(c); known != std::string_view::npos) {
      out += kMeanings[known];
      skip(2);
    } else if (digits > 0) {
      append_code_point(out, number_at(2, digits, 16));
      skip(2 + digits);
    } else if (c >= '0' && c <= '7') {
      std::size_t size = 1;
      while (size < 3 && peek(1 + size) >= '0' && peek(1 + size) <= '7') ++size;
      append_code_point(out, number_at(1, size, 8));
      skip(1 + size);
    } else if (c == 'N') {
      refuse(line_, "a character by its name, \\N{...}, is not supported");
    } else {
      if (c != '\n') out += '\\';  // a line that goes on, or a backslash of no meaning, which stays
      skip(c == '\n' ? 2 : 1);
    }
  }

  char32_t number_at(std::size_t ahead, std::size_t digits, int base) const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(peek(ahead + i))));
      const std::size_t digit = c == '\0' ? std::string_view::npos : kDigits.find(c);
      if (digit == std::string_view::npos || value > 0x110000) refuse(line_, "an escape in a text is not a character");
      value = value * static_cast<char32_t>(base) + static_cast<char32_t>(digit);
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) refuse(line_, "an escape in a text is not a character");
    return value;
  }

  std::string source_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  bool line_starts_ = true;  // nothing but the start or a line end stands before the text at `at_`
  std::string brackets_;     // that wait to be closed
  std::vector<Lexeme> lexemes_;
};

}  // namespace

std::vector<Lexeme> lexemes_of(std::string_view source) { return Lexer(with_plain_lines(source)).run(); }

}  // namespace sharpmax::model::chat
