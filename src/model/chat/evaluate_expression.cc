#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>

#include "base/in_quotes.h"
#include "model/chat/evaluation.h"

namespace sharpmax::model::chat {
namespace {

constexpr std::array<std::string_view, 4> kFunctions = {"namespace", "raise_exception", "range", "strftime_now"};
constexpr std::array<std::string_view, 4> kDictMethods = {"items", "keys", "values", "get"};

[[noreturn]] void undefined(const Value& value, std::int64_t line) {
  refuse(line, fmt::format("{} is not defined", value.undefined_name().empty() ? "a value" : in_quotes(value.undefined_name())));
}

}  // namespace

const Value* Arguments::find(std::size_t at, std::string_view name) const {
  return at < values.size() ? &values[at] : chat::find(named, name);
}

std::string_view Arguments::text(std::size_t at, std::string_view name) const {
  const Value* value = find(at, name);
  if (!value || !value->text()) refuse(line, fmt::format("{} needs a text as argument {}", of, at + 1));
  return *value->text();
}

std::int64_t Arguments::integer(std::size_t at, std::string_view name, std::int64_t otherwise) const {
  const Value* value = find(at, name);
  if (!value) return otherwise;
  if (!value->integer()) refuse(line, fmt::format("{} needs a whole number as argument {}", of, at + 1));
  return *value->integer();
}

void Arguments::check(std::size_t most, std::initializer_list<std::string_view> names) const {
  if (values.size() > most) refuse(line, fmt::format("{} takes at most {} arguments; found {}", of, most, values.size()));
  for (const auto& [name, value] : named)
    if (std::find(names.begin(), names.end(), name) == names.end())
      refuse(line, fmt::format("{} with the argument {} is not supported", of, in_quotes(name)));
}

std::string Evaluation::spelled(const Value& value, std::int64_t line) {
  charge(value.text() ? value.weight() : 0, line);
  auto made = printed(value);
  if (!made) refuse(line, fmt::format("a {} written as text is not supported", value.kind()));
  return std::move(*made);
}

List Evaluation::items_of(const Value& value, std::int64_t line) {
  constexpr std::int64_t kBytesOfItem = 32;
  const std::size_t count = value.text() ? value.text()->size() : value.list() ? value.list()->size() : value.dict() ? value.dict()->size() : 0;
  charge(static_cast<std::int64_t>(count) * kBytesOfItem, line);
  List items;
  if (value.list()) items = *value.list();
  if (value.dict())
    for (const auto& [key, member] : *value.dict()) items.emplace_back(key);
  if (value.text())
    for (const std::string_view character : characters_of(*value.text())) items.emplace_back(character);
  if (!value.list() && !value.dict() && !value.text() && !value.is_undefined())
    refuse(line, fmt::format("a {} has no items to go through", value.kind()));
  return items;
}

Value Evaluation::value_of(const Expression& e) {
  using Is = Expression::Kind;
  charge(0, e.line);
  switch (e.kind) {
    case Is::constant:
      return e.value;
    case Is::name:
      return name(e);
    case Is::attribute:
      return attribute(value_of(*e.parts[0]), e.name, e.line);
    case Is::item:
      return item(e);
    case Is::slice:
      return slice(e);
    case Is::call:
      return call(e);
    case Is::filter: {
      const Value value = value_of(*e.parts[0]);
      return apply_filter(*this, e.name, value, arguments_of(e, fmt::format("filter {}", in_quotes(e.name))));
    }
    case Is::test: {
      const Value value = value_of(*e.parts[0]);
      return passes_test(*this, e.name, value, arguments_of(e, fmt::format("test {}", in_quotes(e.name))));
    }
    case Is::list: {
      List items;
      for (const Part& part : e.parts) items.push_back(value_of(*part));
      return items;
    }
    case Is::dict: {
      Dict members;
      for (std::size_t i = 0; i < e.parts.size(); i += 2) {
        const Value key = value_of(*e.parts[i]);
        if (!key.text()) refuse(e.line, fmt::format("a {} as the key of a mapping is not supported", key.kind()));
        charge(static_cast<std::int64_t>(members.size()) + key.weight(), e.line);
        assign(members, *key.text(), value_of(*e.parts[i + 1]));
      }
      return members;
    }
    case Is::negative: {
      const Value value = value_of(*e.parts[0]);
      if (value.integer()) return -*value.integer();  // at most 10^18 in size, as every whole number here
      if (value.is_real()) return -value.number();
      refuse(e.line, fmt::format("a {} has no negative", value.kind()));
    }
    case Is::inverse:
      return !value_of(*e.parts[0]).truth();
    case Is::both: {
      Value left = value_of(*e.parts[0]);
      return left.truth() ? value_of(*e.parts[1]) : left;
    }
    case Is::either: {
      Value left = value_of(*e.parts[0]);
      return left.truth() ? left : value_of(*e.parts[1]);
    }
    case Is::compare: {
      Value left = value_of(*e.parts[0]);
      for (std::size_t i = 0; i < e.words.size(); ++i) {
        Value right = value_of(*e.parts[i + 1]);
        if (!compares(e.words[i], left, right, e.line)) return false;
        left = std::move(right);
      }
      return true;
    }
    case Is::arithmetic:
      return arithmetic(e);
    case Is::choice:
      if (value_of(*e.parts[1]).truth()) return value_of(*e.parts[0]);
      return e.parts[2] ? value_of(*e.parts[2]) : Value();
  }
  return {};
}

Value Evaluation::name(const Expression& e) {
  for (std::size_t at = scopes_.size(); at-- > 0;) {
    charge(static_cast<std::int64_t>(scopes_[at].variables.size()) * 4, e.line);
    if (const Value* found = find(scopes_[at].variables, e.name)) return *found;
    if (scopes_[at].wall) at = std::min<std::size_t>(at, 1);
  }
  const bool known = std::find(kFunctions.begin(), kFunctions.end(), e.name) != kFunctions.end();
  return known ? Value(Function{e.name}) : Value(Undefined{e.name});
}

Value Evaluation::attribute(const Value& of, std::string_view name, std::int64_t line) {
  if (of.is_undefined()) undefined(of, line);
  const Dict* members = of.dict() ? of.dict() : of.space() ? &of.space()->members : nullptr;
  if (!members) return Undefined{std::string(name)};
  charge(static_cast<std::int64_t>(members->size()) * 4, line);
  if (const Value* found = find(*members, name)) return *found;
  return Undefined{std::string(name)};
}

Value Evaluation::item(const Expression& e) {
  const Value of = value_of(*e.parts[0]), key = value_of(*e.parts[1]);
  if (of.is_undefined()) undefined(of, e.line);
  if (key.text()) return attribute(of, *key.text(), e.line);
  if (!key.integer() || !(of.list() || of.text())) return Undefined{};
  if (of.text()) charge(of.weight() * 16, e.line);
  const std::vector<std::string_view> characters = of.text() ? characters_of(*of.text()) : std::vector<std::string_view>();
  const auto size = static_cast<std::int64_t>(of.list() ? of.list()->size() : characters.size());
  const std::int64_t at = *key.integer() < 0 ? *key.integer() + size : *key.integer();
  if (at < 0 || at >= size) return Undefined{};
  return of.list() ? (*of.list())[static_cast<std::size_t>(at)] : Value(characters[static_cast<std::size_t>(at)]);
}

std::vector<std::size_t> sliced(std::size_t size, const Value& begin, const Value& end, const Value& step, std::int64_t line) {
  const auto number = [&](const Value& value, std::int64_t otherwise) {
    if (value.is_none()) return otherwise;
    if (!value.integer()) refuse(line, fmt::format("a slice needs whole numbers; found a {}", value.kind()));
    return *value.integer();
  };
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t by = number(step, 1);
  if (by == 0) refuse(line, "a slice has step 0");
  const std::int64_t lowest = by > 0 ? 0 : -1, highest = by > 0 ? count : count - 1;
  const auto place = [&](const Value& value, std::int64_t otherwise) {
    const std::int64_t at = number(value, otherwise);
    if (value.is_none()) return otherwise;
    return std::clamp(at < 0 ? at + count : at, lowest, highest);
  };
  std::vector<std::size_t> indices;
  const std::int64_t last = place(end, by > 0 ? count : -1);
  for (std::int64_t at = place(begin, by > 0 ? 0 : count - 1); by > 0 ? at < last : at > last; at += by)
    indices.push_back(static_cast<std::size_t>(at));
  return indices;
}

Value Evaluation::slice(const Expression& e) {
  const Value of = value_of(*e.parts[0]);
  std::array<Value, 3> at = {None{}, None{}, None{}};
  for (std::size_t i = 0; i < 3; ++i)
    if (e.parts[i + 1]) at[i] = value_of(*e.parts[i + 1]);
  if (of.is_undefined()) undefined(of, e.line);
  if (!of.list() && !of.text()) refuse(e.line, fmt::format("a {} cannot be cut", of.kind()));
  const List items = items_of(of, e.line);
  List kept;
  for (const std::size_t i : sliced(items.size(), at[0], at[1], at[2], e.line)) kept.push_back(items[i]);
  if (of.list()) return kept;
  std::string joined;
  for (const Value& character : kept) joined += *character.text();
  return text(std::move(joined), e.line);
}

Arguments Evaluation::arguments_of(const Expression& e, std::string of) {
  Arguments made{.of = std::move(of), .line = e.line, .values = {}, .named = {}};
  for (std::size_t i = 1; i < e.parts.size(); ++i) made.values.push_back(value_of(*e.parts[i]));
  for (const auto& [name, part] : e.named) assign(made.named, name, value_of(*part));
  return made;
}

Value Evaluation::call(const Expression& e) {
  const Expression& callee = *e.parts[0];
  if (callee.kind == Expression::Kind::attribute) {
    const Value of = value_of(*callee.parts[0]);
    if (of.is_undefined()) undefined(of, e.line);
    const bool method = !of.space() && (!of.dict() || std::find(kDictMethods.begin(), kDictMethods.end(), callee.name) != kDictMethods.end());
    if (!method) refuse(e.line, fmt::format("the method {} of a {} is not supported", in_quotes(callee.name), of.kind()));
    return call_method(*this, of, callee.name, arguments_of(e, fmt::format("method {}", in_quotes(callee.name))));
  }
  const Value function = value_of(callee);
  if (function.is_undefined()) undefined(function, e.line);
  if (!function.function()) refuse(e.line, fmt::format("a {} cannot be called", function.kind()));
  return call_function(*function.function(), arguments_of(e, fmt::format("function {}", in_quotes(function.function()->name))));
}

Value Evaluation::call_function(const Function& function, const Arguments& arguments) {
  if (function.macro) return call_macro(*function.macro, arguments);
  if (function.name == "namespace") {
    if (!arguments.values.empty()) refuse(arguments.line, "a namespace takes members by name alone");
    const Value checked(arguments.named);  // holds no namespace
    return std::make_shared<Space>(Space{arguments.named});
  }
  if (function.name == "raise_exception")
    refuse(arguments.line, fmt::format("the template refuses this conversation: {}", arguments.text(0, "message")));
  if (function.name == "strftime_now") {
    const std::string format(arguments.text(0, "format"));
    const auto seconds = static_cast<std::time_t>(now_);
    std::tm parts{};
    localtime_r(&seconds, &parts);
    std::array<char, 256> buffer{};
    const std::size_t size = std::strftime(buffer.data(), buffer.size(), format.c_str(), &parts);
    if (size == 0 && !format.empty()) refuse(arguments.line, "strftime_now writes nothing, or too much");
    return text(std::string(buffer.data(), size), arguments.line);
  }
  arguments.check(3);
  const bool one = arguments.values.size() == 1;
  const std::int64_t begin = one ? 0 : arguments.integer(0, "", 0), end = arguments.integer(one ? 0 : 1, "", 0);
  const std::int64_t step = arguments.integer(2, "", 1);
  constexpr std::int64_t kMost = 100'000;  // as Jinja's sandbox has it
  if (step == 0 || arguments.values.empty()) refuse(arguments.line, "range needs an end, and a step other than 0");
  List items;
  for (std::int64_t at = begin; step > 0 ? at < end : at > end; at += step) {
    if (static_cast<std::int64_t>(items.size()) == kMost) refuse(arguments.line, fmt::format("range has more than {} numbers", kMost));
    items.emplace_back(at);
  }
  charge(static_cast<std::int64_t>(items.size()) * 16, arguments.line);
  return items;
}

Value Evaluation::arithmetic(const Expression& e) {
  const Value a = value_of(*e.parts[0]), b = value_of(*e.parts[1]);
  if (e.name == "~") return text(spelled(a, e.line) + spelled(b, e.line), e.line);
  if (a.is_undefined()) undefined(a, e.line);
  if (b.is_undefined()) undefined(b, e.line);
  if (e.name == "+" && a.text() && b.text()) {
    if (a.text()->size() + b.text()->size() > limits_.bytes) refuse(e.line, fmt::format("it makes a text of more than {} bytes", limits_.bytes));
    return text(*a.text() + *b.text(), e.line);
  }
  if (e.name == "+" && a.list() && b.list()) {
    List joined = items_of(a, e.line);
    const List more = items_of(b, e.line);
    joined.insert(joined.end(), more.begin(), more.end());
    return joined;
  }
  if (!a.is_number() || !b.is_number())
    refuse(e.line, fmt::format("'{}' between a {} and a {} is not supported", e.name, a.kind(), b.kind()));
  const double x = a.number(), y = b.number();
  const bool divides = e.name == "/" || e.name == "//" || e.name == "%";
  if (divides && y == 0) refuse(e.line, "a number is divided by 0");
  if (e.name == "/") return x / y;
  const double exact = e.name == "+" ? x + y : e.name == "-" ? x - y : e.name == "*" ? x * y : e.name == "//" ? std::floor(x / y) : 0;
  if (!a.integer() || !b.integer()) {
    if (e.name == "%") return x - y * std::floor(x / y);
    return exact;
  }
  constexpr double kLargest = 1e18;
  if (std::abs(exact) > kLargest) refuse(e.line, "a whole number has more than 18 digits");
  const std::int64_t i = *a.integer(), j = *b.integer();
  if (e.name == "+") return i + j;
  if (e.name == "-") return i - j;
  if (e.name == "*") return i * j;
  const std::int64_t rest = i % j, floor = i / j - ((rest != 0 && (rest < 0) != (j < 0)) ? 1 : 0);
  return e.name == "//" ? floor : i - floor * j;
}

bool Evaluation::contains(const Value& whole, const Value& part, std::int64_t line) {
  charge(whole.weight(), line);
  if (whole.text()) {
    if (!part.text()) refuse(line, fmt::format("'in' looks for a {} in a text", part.kind()));
    return find_text(*whole.text(), *part.text()) != std::string_view::npos;
  }
  if (whole.dict()) return part.text() && find(*whole.dict(), *part.text());
  if (whole.is_undefined()) return false;
  if (!whole.list()) refuse(line, fmt::format("'in' looks into a {}", whole.kind()));
  return std::any_of(whole.list()->begin(), whole.list()->end(), [&](const Value& item) { return equal(item, part); });
}

bool Evaluation::compares(std::string_view sign, const Value& a, const Value& b, std::int64_t line) {
  charge(std::min(a.weight(), b.weight()), line);
  if (sign == "==" || sign == "!=") return equal(a, b) == (sign == "==");
  if (sign == "in" || sign == "not in") return contains(b, a, line) == (sign == "in");
  const auto order = ordered(a, b);
  if (!order) refuse(line, fmt::format("'{}' between a {} and a {} is not supported", sign, a.kind(), b.kind()));
  return sign == "<" ? *order < 0 : sign == "<=" ? *order <= 0 : sign == ">" ? *order > 0 : *order >= 0;
}

}  // namespace sharpmax::model::chat
