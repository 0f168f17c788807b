#include "job/field_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/in_quotes.h"

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

}  // namespace sharpmax
