// Parsing of expressions, for the parser of statements.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/chat/lexer.h"
#include "model/chat/syntax.h"

namespace sharpmax::model::chat {

// Counts how deep a tree is while it is made, so that running and freeing it never runs out of stack.
inline constexpr int kDeepestTree = 100;

class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Lexeme> lexemes) : lexemes_(std::move(lexemes)) {}

 protected:
  using Kind = Expression::Kind;
  using Made = std::unique_ptr<Expression>;

  const Lexeme& here() const { return lexemes_[at_]; }
  const Lexeme& ahead() const { return lexemes_[std::min(at_ + 1, lexemes_.size() - 1)]; }
  Lexeme take() { return lexemes_[at_ + 1 < lexemes_.size() ? at_++ : at_]; }
  bool take_if(std::string_view sign);
  bool take_name_if(std::string_view name);
  void expect(std::string_view sign);
  std::string expect_name(std::string_view what);
  [[noreturn]] void unexpected(std::string_view expected) const;

  Part expression();            // with "a if b else c"
  Part without_choice();        // without, as the list of a loop has it
  Part list_of_expressions();   // "a, b" is a list

 private:
  class Nesting;

  Made node(Kind kind, std::int64_t line) const;
  static Part done(Made made);
  Part either();
  Part both();
  Part inverse();
  Part compare();
  Part sum();
  Part joined();
  Part product();
  Part unary(bool with_filters);
  Part primary();
  Part postfix(Part left);
  Part filters(Part left);
  Part subscript(Part left);
  Part test(Part left);
  Part in_parentheses();
  Part dict();
  std::vector<Part> items_until(std::string_view close);
  void arguments(Expression& call);

  std::vector<Lexeme> lexemes_;
  std::size_t at_ = 0;
  int nested_ = 0;
};

}  // namespace sharpmax::model::chat
