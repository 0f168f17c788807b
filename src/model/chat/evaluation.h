// A chat template being run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/chat/syntax.h"
#include "model/chat/value.h"

namespace sharpmax::model::chat {

// A template is not trusted: it runs out of steps instead of running for ever.
struct Limits {
  std::int64_t steps = 10'000'000;          // one per value, and one per 16 bytes that are copied or compared
  std::size_t bytes = std::size_t{1} << 24;  // of any text that is made, the answer included
  int calls = 32;                            // of macros within macros
};

// Arguments of a function, a filter, a test or a method.
struct Arguments {
  std::string of;  // "filter 'join'", for messages
  std::int64_t line = 1;
  List values;
  Dict named;

  // The value at `at`, or under `name`; null if it was not given.
  const Value* find(std::size_t at, std::string_view name) const;
  // The same, which must be a text or a whole number; `otherwise` if it was not given.
  std::string_view text(std::size_t at, std::string_view name) const;
  std::int64_t integer(std::size_t at, std::string_view name, std::int64_t otherwise) const;
  // Throws if there are more of them, or other names.
  void check(std::size_t most, std::initializer_list<std::string_view> names = {}) const;
};

class Evaluation {
 public:
  Evaluation(Dict globals, const Limits& limits, std::int64_t now) : limits_(limits), now_(now), left_(limits.steps) {
    scopes_.push_back({std::move(globals), false});
  }

  // What the template writes. Throws Error{unsupported}.
  std::string run(const std::vector<Statement>& program);

  // For filters and methods.
  void charge(std::int64_t bytes, std::int64_t line);  // throws if no steps are left
  Value text(std::string made, std::int64_t line);     // charged, and checked against the limit
  std::string spelled(const Value& value, std::int64_t line);
  List items_of(const Value& value, std::int64_t line);  // what a loop over it would see
  Value attribute(const Value& of, std::string_view name, std::int64_t line);
  std::int64_t now() const { return now_; }

 private:
  enum class Flow { on, leave, next };
  struct Scope {
    Dict variables;
    bool wall = false;  // of a macro, which sees its own variables and the outermost ones
  };
  struct Inner;  // a scope as long as a block runs

  Flow run(const std::vector<Statement>& body, std::string& out);
  Flow run(const Statement& statement, std::string& out);
  Flow loop(const Statement& statement, std::string& out);
  Flow pass(const Statement& loop, const List& items, std::size_t at, std::string& out);
  void write(std::string_view text, std::string& out, std::int64_t line);
  void set(const Statement& statement);
  void bind(const std::vector<std::string>& names, const Value& value, std::int64_t line);

  Value value_of(const Expression& e);
  Value name(const Expression& e);
  Value item(const Expression& e);
  Value slice(const Expression& e);
  Value call(const Expression& e);
  Value call_function(const Function& function, const Arguments& arguments);
  Value call_macro(const Statement& macro, const Arguments& arguments);
  Value arithmetic(const Expression& e);
  bool compares(std::string_view sign, const Value& a, const Value& b, std::int64_t line);
  bool contains(const Value& whole, const Value& part, std::int64_t line);
  Arguments arguments_of(const Expression& e, std::string of);

  const Limits limits_;
  const std::int64_t now_;  // seconds since 1970
  std::int64_t left_;
  int calls_ = 0;
  std::vector<Scope> scopes_;
};

// Throw Error{unsupported} naming the unknown construct.
Value apply_filter(Evaluation& run, std::string_view name, const Value& value, const Arguments& arguments);
bool passes_test(Evaluation& run, std::string_view name, const Value& value, const Arguments& arguments);
Value call_method(Evaluation& run, const Value& of, std::string_view name, const Arguments& arguments);

// A part of a list or text as Python cuts it: indices of [begin:end:step] of `size` items.
std::vector<std::size_t> sliced(std::size_t size, const Value& begin, const Value& end, const Value& step, std::int64_t line);

}  // namespace sharpmax::model::chat
