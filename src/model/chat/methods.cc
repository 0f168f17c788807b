// Methods of texts and mappings, as Python has them.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/in_quotes.h"
#include "model/chat/evaluation.h"
#include "model/tokenizer/utf8.h"

namespace sharpmax::model::chat {
namespace {

enum class Side { left, right, both };

std::string_view stripped(std::string_view text, const Arguments& arguments, Side side) {
  const Value* chars = arguments.find(0, "chars");
  if (!chars || chars->is_none()) {
    if (side != Side::right) text = stripped_left(text);
    return side != Side::left ? stripped_right(text) : text;
  }
  const std::vector<std::string_view> list = characters_of(arguments.text(0, "chars"));
  const std::set<std::string_view> dropped(list.begin(), list.end());
  if (side != Side::right) {
    while (!text.empty()) {
      const std::size_t size = std::max<std::size_t>(character_length(text), 1);
      if (!dropped.contains(text.substr(0, size))) break;
      text.remove_prefix(size);
    }
  }
  if (side != Side::left) {
    while (!text.empty()) {
      std::size_t size = 1;
      while (size < 4 && size < text.size() && (static_cast<unsigned char>(text[text.size() - size]) & 0xC0) == 0x80) ++size;
      if (!dropped.contains(text.substr(text.size() - size))) break;
      text.remove_suffix(size);
    }
  }
  return text;
}

// Every piece is a value of its own, and charged before it is made.
constexpr std::int64_t kBytesOfPiece = 128;

List split_at_spaces(Evaluation& run, std::string_view text, std::int64_t most, std::int64_t line) {
  List pieces;
  for (text = stripped_left(text); !text.empty(); text = stripped_left(text)) {
    run.charge(kBytesOfPiece, line);
    if (most >= 0 && static_cast<std::int64_t>(pieces.size()) == most) {
      pieces.emplace_back(text);
      break;
    }
    std::size_t end = 0;
    while (end < text.size()) {
      const std::size_t size = std::max<std::size_t>(character_length(text.substr(end)), 1);
      if (is_space(text.substr(end, size))) break;
      end += size;
    }
    pieces.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return pieces;
}

List split(Evaluation& run, std::string_view text, const Arguments& arguments) {
  arguments.check(2, {"sep", "maxsplit"});
  const std::int64_t most = arguments.integer(1, "maxsplit", -1);
  const Value* separator = arguments.find(0, "sep");
  if (!separator || separator->is_none()) return split_at_spaces(run, text, most, arguments.line);
  const std::string_view at = arguments.text(0, "sep");
  if (at.empty()) refuse(arguments.line, "method 'split' has an empty separator");
  List pieces;
  while (most < 0 || static_cast<std::int64_t>(pieces.size()) < most) {
    const std::size_t found = find_text(text, at);
    if (found == std::string_view::npos) break;
    run.charge(kBytesOfPiece, arguments.line);
    pieces.emplace_back(text.substr(0, found));
    text.remove_prefix(found + at.size());
  }
  pieces.emplace_back(text);
  return pieces;
}

Value replaced(Evaluation& run, std::string_view text, const Arguments& arguments) {
  arguments.check(3, {"count"});
  const std::string_view old = arguments.text(0, "old"), by = arguments.text(1, "new");
  const Value* limit = arguments.find(2, "count");
  std::int64_t left = limit && !limit->is_none() ? arguments.integer(2, "count", -1) : -1;
  if (old.empty()) refuse(arguments.line, "method 'replace' of an empty text is not supported");
  std::string made;
  while (left-- != 0) {
    const std::size_t found = find_text(text, old);
    if (found == std::string_view::npos) break;
    made.append(text.substr(0, found)).append(by);
    text.remove_prefix(found + old.size());
    run.charge(static_cast<std::int64_t>(found + by.size()), arguments.line);
  }
  return run.text(made.append(text), arguments.line);
}

// Letters beyond ASCII change case by tables that no template should depend on. "title" is Python's method, "words" Jinja's
// filter of that name, for which "it's" is one word.
Value with_case(Evaluation& run, std::string_view text, std::string_view how, const Arguments& arguments) {
  arguments.check(0);
  std::string made;
  bool inside = false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80)
      refuse(arguments.line, fmt::format("{} on letters other than A to Z is not supported", arguments.of));
    const bool small = c >= 'a' && c <= 'z', large = c >= 'A' && c <= 'Z';
    const bool raise = how == "upper" || (!inside && how != "lower");
    made += raise && small ? static_cast<char>(c - 32) : !raise && large ? static_cast<char>(c + 32) : c;
    const bool parts = is_space(std::string_view(&c, 1)) || std::string_view("-({[<").find(c) != std::string_view::npos;
    inside = how == "capitalize" || (how == "words" ? !parts : small || large);
  }
  return run.text(std::move(made), arguments.line);
}

bool begins_or_ends(std::string_view text, std::string_view name, const Arguments& arguments) {
  const auto fits = [&](const Value& part) {
    if (!part.text()) refuse(arguments.line, fmt::format("{} needs a text", arguments.of));
    return name == "startswith" ? text.starts_with(*part.text()) : text.ends_with(*part.text());
  };
  if (arguments.values.size() != 1) refuse(arguments.line, fmt::format("{} takes one argument", arguments.of));
  const Value& wanted = arguments.values[0];
  return wanted.list() ? std::any_of(wanted.list()->begin(), wanted.list()->end(), fits) : fits(wanted);
}

Value method_of_text(Evaluation& run, std::string_view text, std::string_view name, const Arguments& arguments) {
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    arguments.check(1, {"chars"});
    return run.text(std::string(stripped(text, arguments, name == "strip" ? Side::both : name == "lstrip" ? Side::left : Side::right)),
                    arguments.line);
  }
  if (name == "split") {
    run.charge(static_cast<std::int64_t>(text.size()), arguments.line);
    return split(run, text, arguments);
  }
  if (name == "replace") return replaced(run, text, arguments);
  if (name == "startswith" || name == "endswith") return begins_or_ends(text, name, arguments);
  if (name == "upper" || name == "lower" || name == "title" || name == "words" || name == "capitalize")
    return with_case(run, text, name, arguments);
  if (name == "find") {
    arguments.check(1);
    const std::size_t found = find_text(text, arguments.text(0, ""));
    run.charge(static_cast<std::int64_t>(text.size()), arguments.line);
    return found == std::string_view::npos ? std::int64_t{-1} : count_of_characters(text.substr(0, found));
  }
  if (name == "join") {
    arguments.check(1);
    if (arguments.values.size() != 1) refuse(arguments.line, "method 'join' takes one argument");
    Arguments between{.of = arguments.of, .line = arguments.line, .values = {Value(text)}, .named = {}};
    return apply_filter(run, "join", arguments.values[0], between);
  }
  refuse(arguments.line, fmt::format("the method {} of a text is not supported", in_quotes(name)));
}

Value method_of_dict(Evaluation& run, const Dict& dict, std::string_view name, const Arguments& arguments) {
  run.charge(static_cast<std::int64_t>(dict.size()) * 16, arguments.line);
  if (name == "get") {
    arguments.check(2);
    const Value* found = find(dict, arguments.text(0, ""));
    return found ? *found : arguments.values.size() > 1 ? arguments.values[1] : Value(None{});
  }
  arguments.check(0);
  List made;
  for (const auto& [key, value] : dict) {
    if (name == "items")
      made.emplace_back(List{key, value});
    else
      made.push_back(name == "keys" ? Value(key) : value);
  }
  return made;
}

}  // namespace

Value call_method(Evaluation& run, const Value& of, std::string_view name, const Arguments& arguments) {
  run.charge(0, arguments.line);
  if (of.text()) return method_of_text(run, *of.text(), name, arguments);
  if (of.dict()) return method_of_dict(run, *of.dict(), name, arguments);
  refuse(arguments.line, fmt::format("the method {} of a {} is not supported", in_quotes(name), of.kind()));
}

}  // namespace sharpmax::model::chat
