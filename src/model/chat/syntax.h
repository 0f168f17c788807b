// A chat template as a tree.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/chat/value.h"

namespace sharpmax::model::chat {

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

}  // namespace sharpmax::model::chat
