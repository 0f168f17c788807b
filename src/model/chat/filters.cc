// Filters and tests that chat templates use. Others are refused by name.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/in_quotes.h"
#include "model/chat/evaluation.h"

namespace sharpmax::model::chat {
namespace {

using Filter = Value (*)(Evaluation&, const Value&, const Arguments&);

Value length(Evaluation& run, const Value& value, const Arguments& arguments) {
  arguments.check(0);
  if (value.is_undefined()) return std::int64_t{0};
  run.charge(value.weight(), arguments.line);
  if (value.text()) return count_of_characters(*value.text());
  const std::size_t size = value.list() ? value.list()->size()
                           : value.dict() ? value.dict()->size()
                                          : std::string::npos;
  if (size == std::string::npos) refuse(arguments.line, fmt::format("a {} has no length", value.kind()));
  return static_cast<std::int64_t>(size);
}

Value to_json(Evaluation& run, const Value& value, const Arguments& arguments) {
  arguments.check(1, {"indent", "ensure_ascii"});
  run.charge(value.weight() * 4, arguments.line);
  const Value *indent = arguments.find(0, "indent"), *ascii = find(arguments.named, "ensure_ascii");
  if (ascii && ascii->truth()) refuse(arguments.line, "filter 'tojson' with ensure_ascii is not supported");
  std::optional<std::int64_t> spaces;
  if (indent && !indent->is_none()) spaces = arguments.integer(0, "indent", 0);
  if (spaces && (*spaces < 0 || *spaces > 16)) refuse(arguments.line, "filter 'tojson' indents by 0 to 16 spaces");
  auto made = json_of(value, spaces);
  if (!made) refuse(arguments.line, fmt::format("filter 'tojson' on a {} is not supported", value.kind()));
  return run.text(std::move(*made), arguments.line);
}

Value join(Evaluation& run, const Value& value, const Arguments& arguments) {
  arguments.check(2, {"d", "attribute"});
  const std::string_view between = arguments.find(0, "d") ? arguments.text(0, "d") : "";
  const bool picks = arguments.find(1, "attribute") != nullptr;
  std::string joined;
  bool first = true;
  for (const Value& item : run.items_of(value, arguments.line)) {
    if (!std::exchange(first, false)) joined += between;
    joined += run.spelled(picks ? run.attribute(item, arguments.text(1, "attribute"), arguments.line) : item, arguments.line);
    run.text(std::string(between), arguments.line);
    if (joined.size() > (std::size_t{1} << 24)) break;  // refused below
  }
  return run.text(std::move(joined), arguments.line);
}

Value whole_number(Evaluation&, const Value& value, const Arguments& arguments) {
  arguments.check(1, {"default"});
  const std::int64_t otherwise = arguments.integer(0, "default", 0);
  if (value.integer()) return *value.integer();
  if (value.is_real()) {
    if (!(value.number() > -1e18 && value.number() < 1e18)) refuse(arguments.line, "a whole number has more than 18 digits");
    return static_cast<std::int64_t>(value.number());
  }
  if (!value.text()) return otherwise;
  std::string_view digits = stripped_right(stripped_left(*value.text()));
  std::int64_t number = 0;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.size() > 18) refuse(arguments.line, "a whole number has more than 18 digits");
  return error == std::errc() && end == digits.data() + digits.size() ? number : otherwise;
}

Value otherwise(Evaluation&, const Value& value, const Arguments& arguments) {
  arguments.check(2, {"default_value", "boolean"});
  const Value *given = arguments.find(0, "default_value"), *falsy = arguments.find(1, "boolean");
  const bool replaced = value.is_undefined() || (falsy && falsy->truth() && !value.truth());
  return replaced ? (given ? *given : Value("")) : value;
}

Value first(Evaluation& run, const Value& value, const Arguments& arguments) {
  const List items = run.items_of(value, arguments.line);
  return items.empty() ? Value(Undefined{"the first of no items"}) : items.front();
}
Value last(Evaluation& run, const Value& value, const Arguments& arguments) {
  const List items = run.items_of(value, arguments.line);
  return items.empty() ? Value(Undefined{"the last of no items"}) : items.back();
}

Value reversed(Evaluation& run, const Value& value, const Arguments& arguments) {
  List items = run.items_of(value, arguments.line);
  std::reverse(items.begin(), items.end());
  if (!value.text()) return items;
  std::string joined;
  for (const Value& character : items) joined += *character.text();
  return run.text(std::move(joined), arguments.line);
}

Value unique(Evaluation& run, const Value& value, const Arguments& arguments) {
  arguments.check(0);
  List kept;
  for (const Value& item : run.items_of(value, arguments.line)) {
    if (item.text()) refuse(arguments.line, "filter 'unique' on texts, which ignores case, is not supported");
    run.charge(static_cast<std::int64_t>(kept.size()) * item.weight() * 16, arguments.line);
    if (std::none_of(kept.begin(), kept.end(), [&](const Value& other) { return equal(other, item); })) kept.push_back(item);
  }
  return kept;
}

// select, reject, selectattr and rejectattr: items that pass a test, or whose attribute does.
List chosen(Evaluation& run, const Value& value, const Arguments& arguments, bool attribute, bool passing) {
  const std::size_t skip = attribute ? 1 : 0;
  const bool tested = arguments.values.size() > skip;
  Arguments rest{.of = arguments.of, .line = arguments.line, .values = {}, .named = {}};
  if (tested)
    rest.values.assign(arguments.values.begin() + static_cast<std::ptrdiff_t>(skip) + 1, arguments.values.end());
  List kept;
  for (const Value& item : run.items_of(value, arguments.line)) {
    const Value looked_at = attribute ? run.attribute(item, arguments.text(0, ""), arguments.line) : item;
    const bool passed = tested ? passes_test(run, arguments.text(skip, ""), looked_at, rest) : looked_at.truth();
    if (passed == passing) kept.push_back(item);
  }
  return kept;
}

Value map(Evaluation& run, const Value& value, const Arguments& arguments) {
  List made;
  const bool picks = find(arguments.named, "attribute") != nullptr;
  Arguments rest{.of = arguments.of, .line = arguments.line, .values = {}, .named = {}};
  if (arguments.values.size() > 1) rest.values.assign(arguments.values.begin() + 1, arguments.values.end());
  if (picks) arguments.check(0, {"attribute"});
  for (const Value& item : run.items_of(value, arguments.line)) {
    if (picks)
      made.push_back(run.attribute(item, arguments.text(0, "attribute"), arguments.line));
    else
      made.push_back(apply_filter(run, arguments.text(0, ""), item, rest));
  }
  return made;
}

Value items(Evaluation& run, const Value& value, const Arguments& arguments) {
  if (value.is_undefined()) return List{};
  if (!value.dict()) refuse(arguments.line, fmt::format("filter 'items' on a {} is not supported", value.kind()));
  return call_method(run, value, "items", arguments);
}

struct NamedFilter {
  std::string_view name;
  Filter apply;
};

constexpr NamedFilter kFilters[] = {
    {"length", length},
    {"count", length},
    {"tojson", to_json},
    {"join", join},
    {"int", whole_number},
    {"default", otherwise},
    {"d", otherwise},
    {"first", first},
    {"last", last},
    {"reverse", reversed},
    {"unique", unique},
    {"map", map},
    {"items", items},
    {"string", [](Evaluation& run, const Value& v, const Arguments& a) { return Value(run.spelled(v, a.line)); }},
    {"safe", [](Evaluation& run, const Value& v, const Arguments& a) { return Value(run.spelled(v, a.line)); }},
    {"list", [](Evaluation& run, const Value& v, const Arguments& a) { return Value(run.items_of(v, a.line)); }},
    {"select", [](Evaluation& run, const Value& v, const Arguments& a) { return Value(chosen(run, v, a, false, true)); }},
    {"reject", [](Evaluation& run, const Value& v, const Arguments& a) { return Value(chosen(run, v, a, false, false)); }},
    {"selectattr", [](Evaluation& run, const Value& v, const Arguments& a) { return Value(chosen(run, v, a, true, true)); }},
    {"rejectattr", [](Evaluation& run, const Value& v, const Arguments& a) { return Value(chosen(run, v, a, true, false)); }},
};

// Filters that are methods of texts by another name.
std::string_view method_named(std::string_view filter) {
  if (filter == "trim") return "strip";
  if (filter == "title") return "words";
  for (const std::string_view same : {"upper", "lower", "capitalize", "replace"})
    if (filter == same) return same;
  return "";
}

}  // namespace

Value apply_filter(Evaluation& run, std::string_view name, const Value& value, const Arguments& arguments) {
  run.charge(0, arguments.line);
  for (const NamedFilter& filter : kFilters)
    if (filter.name == name) return filter.apply(run, value, arguments);
  if (const std::string_view method = method_named(name); !method.empty())
    return call_method(run, Value(run.spelled(value, arguments.line)), method, arguments);
  refuse(arguments.line, fmt::format("the filter {} is not supported", in_quotes(name)));
}

bool passes_test(Evaluation& run, std::string_view name, const Value& value, const Arguments& arguments) {
  run.charge(value.weight(), arguments.line);
  const auto other = [&]() -> const Value& {
    if (arguments.values.size() != 1) refuse(arguments.line, fmt::format("{} takes one argument", arguments.of));
    return arguments.values[0];
  };
  const auto order = [&] {
    const auto found = ordered(value, other());
    if (!found) refuse(arguments.line, fmt::format("a {} and a {} have no order", value.kind(), other().kind()));
    return *found;
  };
  const auto rest_by = [&](std::int64_t divisor) {
    if (!value.integer() || divisor == 0) refuse(arguments.line, fmt::format("{} needs whole numbers", arguments.of));
    return *value.integer() % divisor;
  };
  if (name == "defined") return !value.is_undefined();
  if (name == "undefined") return value.is_undefined();
  if (name == "none") return value.is_none();
  if (name == "string") return value.text() != nullptr;
  if (name == "mapping") return value.dict() != nullptr;
  if (name == "number") return value.is_number();
  if (name == "integer") return value.is_integer();
  if (name == "float") return value.is_real();
  if (name == "boolean") return value.is_bool();
  if (name == "true") return value.is_bool() && value.truth();
  if (name == "false") return value.is_bool() && !value.truth();
  if (name == "iterable") return value.text() || value.list() || value.dict() || value.is_undefined();
  if (name == "sequence") return value.text() || value.list() || value.dict() || value.is_undefined();
  if (name == "equalto" || name == "eq" || name == "==") return equal(value, other());
  if (name == "ne" || name == "!=") return !equal(value, other());
  if (name == "lt" || name == "lessthan") return order() < 0;
  if (name == "le") return order() <= 0;
  if (name == "gt" || name == "greaterthan") return order() > 0;
  if (name == "ge") return order() >= 0;
  if (name == "even") return rest_by(2) == 0;
  if (name == "odd") return rest_by(2) != 0;
  if (name == "divisibleby") return rest_by(other().integer().value_or(0)) == 0;
  if (name == "in") {
    run.charge(other().weight(), arguments.line);
    if (other().list())
      return std::any_of(other().list()->begin(), other().list()->end(), [&](const Value& item) { return equal(item, value); });
    if (other().text() && value.text()) return find_text(*other().text(), *value.text()) != std::string_view::npos;
    if (other().dict() && value.text()) return find(*other().dict(), *value.text()) != nullptr;
  }
  refuse(arguments.line, fmt::format("the test {} is not supported", in_quotes(name)));
}

}  // namespace sharpmax::model::chat
