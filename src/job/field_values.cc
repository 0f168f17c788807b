#include "job/field_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "base/in_quotes.h"
#include "sharpmax/job.h"

namespace sharpmax {
namespace {

[[noreturn]] void refuse(const Field& field, const std::string& rest) {
  throw RequestError(ErrorCode::bad_argument, named(field.name) + rest);
}

template <class Number>
void read_number(const Field& field, std::string_view text, Number& value, const char* kind) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    refuse(field, fmt::format(": {} is not {}", in_quotes(text), kind));
}

std::string shown(double value) { return fmt::format("{:.15g}", value); }

std::string words_of(const std::vector<std::string_view>& choices) {
  std::string words;
  for (std::size_t i = 0; i < choices.size(); ++i)
    words += std::string(i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + std::string(choices[i]);
  return words;
}

}  // namespace

std::string words_of(const Domain& domain) {
  if (!domain.choices.empty()) return words_of(domain.choices);
  if (std::isinf(domain.least) && std::isinf(domain.most)) return "";
  if (std::isinf(domain.most)) return "at least " + shown(domain.least);
  if (std::isinf(domain.least)) return "at most " + shown(domain.most);
  return fmt::format("from {} to {}", shown(domain.least), shown(domain.most));
}

Domain range(double least, double most) { return {least, most, {}}; }
Domain one_of(std::vector<std::string_view> choices) {
  Domain domain;
  domain.choices = std::move(choices);
  return domain;
}

Field common(Field field) {
  field.common = true;
  return field;
}

std::string field_text(bool value) { return value ? "true" : "false"; }
std::string field_text(std::int64_t value) { return fmt::format("{}", value); }
std::string field_text(std::uint64_t value) { return fmt::format("{}", value); }
std::string field_text(int value) { return fmt::format("{}", value); }
std::string field_text(double value) { return fmt::format("{}", value); }
std::string field_text(const std::string& value) { return value; }

void read_field(const Field& field, std::string_view text, bool& value) {
  if (text != "true" && text != "false") refuse(field, fmt::format(": {} is neither true nor false", in_quotes(text)));
  value = text == "true";
}
void read_field(const Field& field, std::string_view text, std::int64_t& value) {
  read_number(field, text, value, "a whole number");
}
void read_field(const Field& field, std::string_view text, std::uint64_t& value) {
  read_number(field, text, value, "a whole number, 0 or more");
}
void read_field(const Field& field, std::string_view text, int& value) {
  read_number(field, text, value, "a whole number");
}
void read_field(const Field& field, std::string_view text, double& value) {
  read_number(field, text, value, "a number");
}
void read_field(const Field&, std::string_view text, std::string& value) { value = text; }

std::vector<std::string_view> pieces_of(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    pieces.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return pieces;
}

void check_number(const Field& field, double value) {
  const bool any = std::isinf(field.domain.least) && std::isinf(field.domain.most);
  if (any || (value >= field.domain.least && value <= field.domain.most)) return;
  refuse(field, fmt::format(" is {}; it must be {}", shown(value), words_of(field.domain)));
}

void check_text(const Field& field, const std::string& value) {
  if (field.kind == Field::Kind::memory) return;  // contents may hold anything
  const auto& choices = field.domain.choices;
  if (value.find('\0') != std::string::npos)
    refuse(field, fmt::format(" is {}, which holds a null character; it must not", in_quotes(value)));
  if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  refuse(field, fmt::format(" is {}; it must be {}", in_quotes(value), words_of(field.domain)));
}

std::string quoted_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,.:/@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

namespace {

AnyNormalizer parsed(const Field& field, std::string_view text, std::string_view hint = "") {
  try {
    return AnyNormalizer::parse(text);
  } catch (const Error& error) {
    throw RequestError(error.code(), named(field.name) + ": " + error.what() + std::string(hint));
  }
}

}  // namespace

std::string field_text(const AnyNormalizer& value) { return value.text(); }

void read_field(const Field& field, std::string_view text, AnyNormalizer& value) { value = parsed(field, text); }
void read_field(const Field& field, std::string_view text, std::optional<AnyNormalizer>& value) {
  value = parsed(field, text);
}
void read_field(const Field& field, std::string_view text, std::vector<AnyNormalizer>& values) {
  values.clear();
  for (const std::string_view piece : pieces_of(text, kSeparator<AnyNormalizer>)) {
    const bool commas = piece.find(',') != std::string_view::npos;
    values.push_back(parsed(field, piece, commas ? " (normalizers are separated by ';')" : ""));
  }
}

// Names of fields within sentences, and the Listener that does nothing.

namespace {

// A name is kBorder, a letter for its kind, the field, kBorder; before the last border there may be kBetween and a value.
// Text from outside is escaped before it comes into a sentence, so it holds neither.
constexpr char kBorder = '\x1f', kBetween = '\x1e';

std::string marked(char kind, std::string_view field, std::string_view value) {
  std::string mark{kBorder, kind};
  mark += field;
  mark += kBetween;
  mark += value;
  mark += kBorder;
  return mark;
}

std::string in_python(char kind, std::string_view field, std::string_view value) {
  const std::string name(field);
  const bool is_number = !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
  if (kind == 'v') return name + "=" + (is_number ? std::string(value) : "'" + std::string(value) + "'");
  if (kind == 'f') return name + "=True";
  return kind == 'g' ? name + "=" : name;
}

std::string in_capitals(std::string_view field) {
  std::string capitals(field);
  for (char& c : capitals)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return capitals;
}

std::string on_the_command_line(char kind, std::string_view field, std::string_view value) {
  if (kind == 'o') return in_capitals(field);
  const std::string option = option_of(field);
  return kind == 'v' || kind == 'g' ? option + " " + std::string(value) : option;
}

std::string in_cpp(char kind, std::string_view field, std::string_view value) {
  return kind == 'v' ? std::string(field) + " = " + std::string(value) : std::string(field);
}

}  // namespace

std::string named(std::string_view field) { return marked('n', field, ""); }
std::string named(std::string_view field, std::string_view value) { return marked('v', field, value); }
std::string flagged(std::string_view field) { return marked('f', field, ""); }
std::string given(std::string_view field, std::string_view shape) { return marked('g', field, shape); }
std::string operand(std::string_view field) { return marked('o', field, ""); }

std::string option_of(std::string_view field) {
  if (field == "model") return "MODEL";
  if (field == "report") return "-o";
  if (field == "text_string") return "standard input (--text -)";
  while (field.ends_with('_')) field.remove_suffix(1);
  std::string option = "--" + std::string(field);
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

std::string option_of(const Field& field) {
  if (field.name == "text_string" && field.kind != Field::Kind::memory) return "--text-string";  // a text typed as a word
  return field.operand ? in_capitals(field.name) : option_of(field.name);
}

std::string spoken(std::string_view sentence, Speech speech) {
  std::string out;
  while (!sentence.empty()) {
    const std::size_t begin = std::min(sentence.find(kBorder), sentence.size());
    out += sentence.substr(0, begin);
    const std::size_t end = sentence.find(kBorder, begin + 1);
    if (end == std::string_view::npos) return out += sentence.substr(begin);
    const char kind = sentence[begin + 1];
    const std::size_t between = sentence.find(kBetween, begin);
    const std::string_view field = sentence.substr(begin + 2, between - begin - 2);
    const std::string_view value = sentence.substr(between + 1, end - between - 1);
    out += speech == Speech::cpp      ? in_cpp(kind, field, value)
           : speech == Speech::python ? in_python(kind, field, value)
                                      : on_the_command_line(kind, field, value);
    sentence.remove_prefix(end + 1);
  }
  return out;
}

void Listener::on_progress(std::string_view) {}
void Listener::on_pause() {}
void Listener::on_narration(std::string_view) {}
void Listener::on_text(std::string_view) {}
void Listener::on_resumption(const Resumption&) {}

Listener& nobody() {
  static Listener silent;  // without state
  return silent;
}

}  // namespace sharpmax
