// Names of fields within sentences, and the Listener that does nothing.
#include <algorithm>
#include <cstddef>

#include "sharpmax/job.h"

namespace sharpmax {
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
