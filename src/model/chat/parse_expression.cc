// Expressions of Jinja. Operators bind as in Jinja: choice, or, and, not, comparisons, + -, ~, * / // %, signs, then
// attributes, calls, filters and tests.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "base/in_quotes.h"
#include "model/chat/syntax.h"

namespace sharpmax::model::chat {

class ExpressionParser::Nesting {
 public:
  Nesting(int& count, std::int64_t line) : count_(count) {
    if (++count_ > kDeepestTree) {
      --count_;
      refuse(line, fmt::format("an expression is more than {} levels deep", kDeepestTree));
    }
  }
  ~Nesting() { --count_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& count_;
};

bool ExpressionParser::take_if(std::string_view sign) {
  if (!here().is(sign)) return false;
  take();
  return true;
}

bool ExpressionParser::take_name_if(std::string_view name) {
  if (!here().is_name(name)) return false;
  take();
  return true;
}

void ExpressionParser::unexpected(std::string_view expected) const {
  using Word = Lexeme::Kind;
  const Lexeme& found = here();
  const bool shown = found.kind == Word::name || found.kind == Word::sign || found.kind == Word::text ||
                     found.kind == Word::integer || found.kind == Word::real;
  refuse(found.line, fmt::format("found {}; expected {}", shown ? in_quotes(found.content) : "the end of a tag", expected));
}

void ExpressionParser::expect(std::string_view sign) {
  if (!take_if(sign)) unexpected(in_quotes(sign));
}

std::string ExpressionParser::expect_name(std::string_view what) {
  if (here().kind != Lexeme::Kind::name) unexpected(what);
  return take().content;
}

ExpressionParser::Made ExpressionParser::node(Kind kind, std::int64_t line) const {
  auto made = std::make_unique<Expression>();
  made->kind = kind;
  made->line = line;
  return made;
}

// A chain such as a + b + c is a tree as deep as it is long.
Part ExpressionParser::done(Made made) {
  for (const Part& part : made->parts)
    if (part) made->depth = std::max(made->depth, part->depth + 1);
  for (const auto& [name, part] : made->named) made->depth = std::max(made->depth, part->depth + 1);
  if (made->depth > kDeepestTree)
    refuse(made->line, fmt::format("an expression is more than {} levels deep", kDeepestTree));
  return made;
}

Part ExpressionParser::expression() {
  const Nesting deeper(nested_, here().line);
  Part left = either();
  while (here().is_name("if")) {
    Made choice = node(Kind::choice, take().line);
    choice->parts.push_back(std::move(left));
    choice->parts.push_back(either());
    choice->parts.push_back(take_name_if("else") ? expression() : nullptr);
    left = done(std::move(choice));
  }
  return left;
}

Part ExpressionParser::without_choice() { return either(); }

Part ExpressionParser::list_of_expressions() {
  const std::int64_t line = here().line;
  Part first = expression();
  if (!here().is(",")) return first;
  Made list = node(Kind::list, line);
  list->parts.push_back(std::move(first));
  while (take_if(","))
    if (here().kind != Lexeme::Kind::block_end && here().kind != Lexeme::Kind::variable_end)
      list->parts.push_back(expression());
  return done(std::move(list));
}

Part ExpressionParser::either() {
  Part left = both();
  while (here().is_name("or")) {
    Made made = node(Kind::either, take().line);
    made->parts.push_back(std::move(left));
    made->parts.push_back(both());
    left = done(std::move(made));
  }
  return left;
}

Part ExpressionParser::both() {
  Part left = inverse();
  while (here().is_name("and")) {
    Made made = node(Kind::both, take().line);
    made->parts.push_back(std::move(left));
    made->parts.push_back(inverse());
    left = done(std::move(made));
  }
  return left;
}

Part ExpressionParser::inverse() {
  if (!here().is_name("not")) return compare();
  const Nesting deeper(nested_, here().line);
  Made made = node(Kind::inverse, take().line);
  made->parts.push_back(inverse());
  return done(std::move(made));
}

Part ExpressionParser::compare() {
  Made made = node(Kind::compare, here().line);
  made->parts.push_back(sum());
  while (true) {
    const Lexeme& word = here();
    const bool sign = word.is("==") || word.is("!=") || word.is("<") || word.is("<=") || word.is(">") || word.is(">=");
    const bool not_in = word.is_name("not") && ahead().is_name("in");
    if (!sign && !not_in && !word.is_name("in")) break;
    made->words.push_back(not_in ? "not in" : word.content);
    take();
    if (not_in) take();
    made->parts.push_back(sum());
  }
  if (made->words.empty()) return std::move(made->parts[0]);
  return done(std::move(made));
}

Part ExpressionParser::sum() {
  Part left = joined();
  while (here().is("+") || here().is("-")) {
    Made made = node(Kind::arithmetic, here().line);
    made->name = take().content;
    made->parts.push_back(std::move(left));
    made->parts.push_back(joined());
    left = done(std::move(made));
  }
  return left;
}

Part ExpressionParser::joined() {
  Part left = product();
  while (here().is("~")) {
    Made made = node(Kind::arithmetic, here().line);
    made->name = take().content;
    made->parts.push_back(std::move(left));
    made->parts.push_back(product());
    left = done(std::move(made));
  }
  return left;
}

Part ExpressionParser::product() {
  Part left = unary(true);
  while (here().is("*") || here().is("/") || here().is("//") || here().is("%")) {
    Made made = node(Kind::arithmetic, here().line);
    made->name = take().content;
    made->parts.push_back(std::move(left));
    made->parts.push_back(unary(true));
    left = done(std::move(made));
  }
  if (here().is("**")) refuse(here().line, "the operator '**' is not supported");
  return left;
}

Part ExpressionParser::unary(bool with_filters) {
  Part left;
  if (here().is("-") || here().is("+")) {
    const Nesting deeper(nested_, here().line);
    const Lexeme sign = take();
    Part inner = unary(false);
    if (sign.content == "-") {
      Made made = node(Kind::negative, sign.line);
      made->parts.push_back(std::move(inner));
      inner = done(std::move(made));
    }
    left = std::move(inner);
  } else {
    left = primary();
  }
  left = postfix(std::move(left));
  return with_filters ? filters(std::move(left)) : std::move(left);
}

Part ExpressionParser::primary() {
  using Word = Lexeme::Kind;
  Made made = node(Kind::constant, here().line);
  switch (here().kind) {
    case Word::name: {
      made->name = take().content;
      if (made->name == "true" || made->name == "True" || made->name == "false" || made->name == "False")
        made->value = made->name == "true" || made->name == "True";
      else if (made->name == "none" || made->name == "None")
        made->value = None{};
      else
        made->kind = Kind::name;
      return done(std::move(made));
    }
    case Word::text: {
      std::string text = take().content;
      while (here().kind == Word::text) text += take().content;
      made->value = std::move(text);
      return done(std::move(made));
    }
    case Word::integer:
      made->value = static_cast<std::int64_t>(std::stoll(take().content));
      return done(std::move(made));
    case Word::real: {
      const std::string digits = take().content;
      double value = 0;
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
      made->value = value;
      return done(std::move(made));
    }
    default:
      break;
  }
  if (here().is("(")) return in_parentheses();
  if (take_if("[")) {
    made->kind = Kind::list;
    made->parts = items_until("]");
    return done(std::move(made));
  }
  if (here().is("{")) return dict();
  unexpected("a value");
}

Part ExpressionParser::in_parentheses() {
  Made list = node(Kind::list, take().line);
  if (take_if(")")) return done(std::move(list));
  Part first = expression();
  if (take_if(")")) return first;
  expect(",");
  list->parts = items_until(")");
  list->parts.insert(list->parts.begin(), std::move(first));
  return done(std::move(list));
}

std::vector<Part> ExpressionParser::items_until(std::string_view close) {
  std::vector<Part> items;
  while (!take_if(close)) {
    items.push_back(expression());
    if (!here().is(close)) expect(",");
  }
  return items;
}

Part ExpressionParser::dict() {
  Made made = node(Kind::dict, take().line);
  while (!take_if("}")) {
    made->parts.push_back(expression());
    expect(":");
    made->parts.push_back(expression());
    if (!here().is("}")) expect(",");
  }
  return done(std::move(made));
}

Part ExpressionParser::postfix(Part left) {
  while (true) {
    if (here().is(".")) {
      Made made = node(Kind::attribute, take().line);
      made->name = expect_name("the name of an attribute");
      made->parts.push_back(std::move(left));
      left = done(std::move(made));
    } else if (here().is("[")) {
      left = subscript(std::move(left));
    } else if (here().is("(")) {
      Made made = node(Kind::call, here().line);
      made->parts.push_back(std::move(left));
      arguments(*made);
      left = done(std::move(made));
    } else {
      return left;
    }
  }
}

Part ExpressionParser::subscript(Part left) {
  Made made = node(Kind::item, take().line);
  made->parts.push_back(std::move(left));
  bool colons = false;
  Part part;
  while (!take_if("]")) {
    if (take_if(":")) {
      colons = true;
      made->parts.push_back(std::move(part));
      part = nullptr;
    } else if (part) {
      unexpected("']'");
    } else {
      part = expression();
    }
  }
  if (!colons && !part) refuse(made->line, "'[]' names no item");
  made->parts.push_back(std::move(part));
  if (colons) {
    if (made->parts.size() > 4) refuse(made->line, "a slice has more than three parts");
    made->kind = Kind::slice;
    made->parts.resize(4);
  }
  return done(std::move(made));
}

void ExpressionParser::arguments(Expression& call) {
  expect("(");
  while (!take_if(")")) {
    if (here().is("*") || here().is("**")) refuse(here().line, "arguments with '*' are not supported");
    if (here().kind == Lexeme::Kind::name && ahead().is("=")) {
      std::string name = take().content;
      take();
      call.named.emplace_back(std::move(name), expression());
    } else {
      if (!call.named.empty()) refuse(here().line, "an argument without a name follows one with a name");
      call.parts.push_back(expression());
    }
    if (!here().is(")")) expect(",");
  }
}

Part ExpressionParser::filters(Part left) {
  while (true) {
    if (here().is("|")) {
      Made made = node(Kind::filter, take().line);
      made->name = expect_name("the name of a filter");
      made->parts.push_back(std::move(left));
      if (here().is("(")) arguments(*made);
      left = done(std::move(made));
    } else if (here().is_name("is")) {
      left = test(std::move(left));
    } else if (here().is("(")) {
      unexpected("an operator or the end of the tag");
    } else {
      return left;
    }
  }
}

Part ExpressionParser::test(Part left) {
  using Word = Lexeme::Kind;
  Made made = node(Kind::test, take().line);
  const bool inverted = take_name_if("not");
  made->name = expect_name("the name of a test");
  made->parts.push_back(std::move(left));
  const Word kind = here().kind;
  const bool word = kind == Word::name && !here().is_name("else") && !here().is_name("or") && !here().is_name("and") &&
                    !here().is_name("if") && !here().is_name("is") && !here().is_name("in") && !here().is_name("not");
  if (here().is("("))
    arguments(*made);
  else if (word || kind == Word::text || kind == Word::integer || kind == Word::real || here().is("["))
    made->parts.push_back(postfix(primary()));
  Part test = done(std::move(made));
  if (!inverted) return test;
  Made opposite = node(Kind::inverse, test->line);
  opposite->parts.push_back(std::move(test));
  return done(std::move(opposite));
}

}  // namespace sharpmax::model::chat
