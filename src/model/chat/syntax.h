// A chat template: its words, the tree that they make, and the parser between the two.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/chat/value.h"

namespace sharpmax::model::chat {

struct Lexeme {
  enum class Kind { data, variable_begin, variable_end, block_begin, block_end, name, text, integer, real, sign, end };
  Kind kind = Kind::end;
  std::string content;  // escapes of a text are undone
  std::int64_t line = 1;

  bool is(std::string_view sign) const { return kind == Kind::sign && content == sign; }
  bool is_name(std::string_view name) const { return kind == Kind::name && content == name; }
};

// Error{unsupported}: "chat template, line 3: ..." 
[[noreturn]] void refuse(std::int64_t line, std::string_view why);

// As Hugging Face sets Jinja up: the line end after a tag and blanks before one at the start of a line are dropped. Ends in a
// lexeme of kind `end`. Throws Error{unsupported} for a tag, a comment or a text without an end.
std::vector<Lexeme> lexemes_of(std::string_view source);

// The tree.

struct Expression;
using Part = std::unique_ptr<const Expression>;

struct Expression {
  enum class Kind {
    constant,
    name,
    attribute,  // parts[0].name
    item,       // parts[0][parts[1]]
    slice,      // parts[0][parts[1]:parts[2]:parts[3]]; parts that were left out are null
    call,       // parts[0](parts[1..], named)
    filter,     // parts[0] | name(parts[1..], named)
    test,       // parts[0] is name(parts[1..])
    list,
    dict,       // parts are key, value, key, value
    negative,
    inverse,    // not
    both,       // and
    either,     // or
    compare,    // parts[0] words[0] parts[1] words[1] parts[2] ...
    arithmetic, // parts[0] name parts[1]
    choice,     // parts[0] if parts[1] else parts[2], which may be null
  };
  Kind kind = Kind::constant;
  std::int64_t line = 1;
  int depth = 1;
  Value value;       // constant
  std::string name;  // of a variable, attribute, filter, test, operator
  std::vector<Part> parts;
  std::vector<std::pair<std::string, Part>> named;  // arguments given by name
  std::vector<std::string> words;
};

struct Statement {
  enum class Kind { text, output, branch, loop, set, set_block, macro, plain_block, leave, next };
  struct Branch {
    Part condition;  // null: else
    std::vector<Statement> body;
  };
  Kind kind = Kind::text;
  std::int64_t line = 1;
  std::string text;                   // text; macro: its name
  std::vector<std::string> targets;   // names of loop and set; parameters of a macro
  std::string member;                 // set targets[0].member
  Part expression;                    // output, loop, set
  Part condition;                     // loop: its filter
  std::vector<Branch> branches;       // branch; loop: its else
  std::vector<Statement> body;
  std::vector<Part> defaults;         // macro: those of the last parameters
};

// Throws Error{unsupported} naming the construct for a template outside of the part of Jinja that is known here.
std::vector<Statement> parse_template(std::string_view source);

// Parsing of expressions, for the parser of statements.

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
