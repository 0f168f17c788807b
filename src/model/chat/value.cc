#include "model/chat/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "model/tokenizer/utf8.h"
#include "sharpmax/error.h"

namespace sharpmax::model::chat {
namespace {

constexpr int kDeepest = 64;
constexpr std::int64_t kHeaviest = std::int64_t{1} << 24;

[[noreturn]] void refuse_value(std::string_view why) { throw Error(ErrorCode::unsupported, fmt::format("chat template: {}", why)); }

}  // namespace

void Value::Size::add(const Value& part) {
  if (part.space()) refuse_value("a namespace within another value is not supported");
  depth = std::max(depth, part.depth() + 1);
  weight += part.weight();
  if (depth > kDeepest) refuse_value(fmt::format("a value is more than {} lists or mappings deep", kDeepest));
  if (weight > kHeaviest) refuse_value(fmt::format("a list or mapping holds more than {} bytes", kHeaviest));
}

Value::Value(List items) {
  Size size;
  for (const Value& item : items) size.add(item);
  held_ = std::make_shared<const Items>(Items{std::move(items), size});
}

Value::Value(Dict members) {
  Size size;
  for (const auto& [key, value] : members) {
    size.add(value);
    size.weight += static_cast<std::int64_t>(key.size());
  }
  held_ = std::make_shared<const Members>(Members{std::move(members), size});
}

const std::string* Value::text() const {
  const auto* held = std::get_if<std::shared_ptr<const std::string>>(&held_);
  return held ? held->get() : nullptr;
}
const List* Value::list() const {
  const auto* held = std::get_if<std::shared_ptr<const Items>>(&held_);
  return held ? &(*held)->items : nullptr;
}
const Dict* Value::dict() const {
  const auto* held = std::get_if<std::shared_ptr<const Members>>(&held_);
  return held ? &(*held)->members : nullptr;
}
Space* Value::space() const {
  const auto* held = std::get_if<std::shared_ptr<Space>>(&held_);
  return held ? held->get() : nullptr;
}

const Value::Size* Value::size() const {
  if (const auto* items = std::get_if<std::shared_ptr<const Items>>(&held_)) return &(*items)->size;
  if (const auto* members = std::get_if<std::shared_ptr<const Members>>(&held_)) return &(*members)->size;
  return nullptr;
}

int Value::depth() const { return size() ? size()->depth : 0; }

std::int64_t Value::weight() const {
  if (text()) return static_cast<std::int64_t>(text()->size()) + 1;
  return size() ? size()->weight : 1;
}

double Value::number() const {
  if (is_bool()) return std::get<bool>(held_) ? 1 : 0;
  return is_integer() ? static_cast<double>(std::get<std::int64_t>(held_)) : std::get<double>(held_);
}

std::optional<std::int64_t> Value::integer() const {
  if (is_bool()) return std::get<bool>(held_) ? 1 : 0;
  return is_integer() ? std::optional(std::get<std::int64_t>(held_)) : std::nullopt;
}

bool Value::truth() const {
  if (is_number()) return number() != 0;
  if (text()) return !text()->empty();
  if (list()) return !list()->empty();
  if (dict()) return !dict()->empty();
  return space() || function();
}

std::string_view Value::kind() const {
  constexpr std::array<std::string_view, 10> kNames = {"undefined value", "none",    "truth value", "whole number", "number",
                                                       "text",            "list",    "mapping",     "namespace",    "function"};
  return kNames[held_.index()];
}

const Value* find(const Dict& dict, std::string_view key) {
  const auto found = std::find_if(dict.begin(), dict.end(), [&](const auto& member) { return member.first == key; });
  return found == dict.end() ? nullptr : &found->second;
}

void assign(Dict& dict, std::string_view key, Value value) {
  const auto found = std::find_if(dict.begin(), dict.end(), [&](const auto& member) { return member.first == key; });
  if (found == dict.end())
    dict.emplace_back(key, std::move(value));
  else
    found->second = std::move(value);
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.integer() && b.integer()) return *a.integer() == *b.integer();
    return a.number() == b.number();
  }
  if (a.text() && b.text()) return *a.text() == *b.text();
  if (a.list() && b.list()) return std::equal(a.list()->begin(), a.list()->end(), b.list()->begin(), b.list()->end(), equal);
  if (a.dict() && b.dict()) {
    if (a.dict()->size() != b.dict()->size()) return false;
    return std::all_of(a.dict()->begin(), a.dict()->end(), [&](const auto& member) {
      const Value* other = find(*b.dict(), member.first);
      return other && equal(member.second, *other);
    });
  }
  if (a.space() || b.space()) return a.space() == b.space();
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

std::optional<int> ordered(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.integer() && b.integer()) return *a.integer() < *b.integer() ? -1 : *a.integer() > *b.integer();
    return a.number() < b.number() ? -1 : a.number() > b.number();
  }
  if (a.text() && b.text()) return a.text()->compare(*b.text());  // UTF-8 sorts as its characters do
  return std::nullopt;
}

std::optional<std::string> printed(const Value& value) {
  if (value.text()) return *value.text();
  if (value.is_undefined()) return "";
  if (value.is_none()) return "None";
  if (value.is_bool()) return value.truth() ? "True" : "False";
  if (value.integer()) return fmt::format("{}", *value.integer());
  if (!value.is_real()) return std::nullopt;
  // Python writes exponents in another form, so numbers that need one are left alone.
  const double size = std::abs(value.number());
  if (!(size == 0 || (size >= 1e-4 && size < 1e16))) return std::nullopt;
  std::string digits = fmt::format("{}", value.number());
  if (digits.find('.') == std::string::npos) digits += ".0";
  return digits;
}

namespace {

bool write_json(const Value& value, std::optional<std::int64_t> indent, std::int64_t level, std::string& out) {
  const auto line = [&](std::int64_t deep) {
    if (indent) out.append(1, '\n').append(static_cast<std::size_t>(*indent * deep), ' ');
  };
  const auto separate = [&](bool first) {
    if (!first) out += indent ? "," : ", ";
    line(level + 1);
  };
  if (value.text()) {
    out += nlohmann::json(*value.text()).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  } else if (value.is_none() || value.is_bool()) {
    out += value.is_none() ? "null" : value.truth() ? "true" : "false";
  } else if (value.is_number()) {
    const auto digits = printed(value);
    if (!digits) return false;
    out += *digits;
  } else if (value.list()) {
    out += '[';
    for (const Value& item : *value.list()) {
      separate(&item == value.list()->data());
      if (!write_json(item, indent, level + 1, out)) return false;
    }
    if (!value.list()->empty()) line(level);
    out += ']';
  } else if (value.dict()) {
    out += '{';
    for (const auto& member : *value.dict()) {
      separate(&member == value.dict()->data());
      out += nlohmann::json(member.first).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + ": ";
      if (!write_json(member.second, indent, level + 1, out)) return false;
    }
    if (!value.dict()->empty()) line(level);
    out += '}';
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> json_of(const Value& value, std::optional<std::int64_t> indent) {
  std::string out;
  if (!write_json(value, indent, 0, out)) return std::nullopt;
  return out;
}

std::size_t find_text(std::string_view whole, std::string_view part) {
  if (part.empty()) return 0;
  const void* found = whole.empty() ? nullptr : memmem(whole.data(), whole.size(), part.data(), part.size());
  return found ? static_cast<std::size_t>(static_cast<const char*>(found) - whole.data()) : std::string_view::npos;
}

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> characters;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = std::max<std::size_t>(character_length(text.substr(at)), 1);
    characters.push_back(text.substr(at, size));
    at += size;
  }
  return characters;
}

std::int64_t count_of_characters(std::string_view text) {
  std::int64_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at += std::max<std::size_t>(character_length(text.substr(at)), 1);
  return count;
}

bool is_space(std::string_view character) {
  if (character.size() == 1) {
    const char c = character[0];
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f');
  }
  constexpr std::array<std::string_view, 19> kSpaces = {
      "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
      "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
  return std::find(kSpaces.begin(), kSpaces.end(), character) != kSpaces.end();
}

std::string_view stripped_left(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = std::max<std::size_t>(character_length(text), 1);
    if (!is_space(text.substr(0, size))) break;
    text.remove_prefix(size);
  }
  return text;
}

std::string_view stripped_right(std::string_view text) {
  while (!text.empty()) {
    std::size_t size = 1;
    while (size < 3 && size < text.size() && (static_cast<unsigned char>(text[text.size() - size]) & 0xC0) == 0x80) ++size;
    if (!is_space(text.substr(text.size() - size))) break;
    text.remove_suffix(size);
  }
  return text;
}

}  // namespace sharpmax::model::chat
