// Values of a chat template, which is a program in a part of Jinja: what Python's values would be.
//
// A template comes with a model file, so it is not trusted. Texts, lists and mappings never change once made, nothing can hold
// itself, and every value counts how deep it is: no template makes a value that runs in circles or out of stack.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sharpmax::model::chat {

struct Statement;
class Value;

using List = std::vector<Value>;
using Dict = std::vector<std::pair<std::string, Value>>;  // in order; keys are texts
struct Space;                                             // namespace(): the one value that changes

struct Undefined {
  std::string name;  // for messages
};
struct None {};
// A function of the library or of the template.
struct Function {
  std::string name;
  const Statement* macro = nullptr;
};

class Value {
 public:
  Value() : held_(Undefined{}) {}
  Value(Undefined undefined) : held_(std::move(undefined)) {}
  Value(None none) : held_(none) {}
  Value(bool value) : held_(value) {}
  Value(std::int64_t value) : held_(value) {}
  Value(double value) : held_(value) {}
  Value(std::string text) : held_(std::make_shared<const std::string>(std::move(text))) {}
  Value(std::string_view text) : Value(std::string(text)) {}
  Value(const char* text) : Value(std::string(text)) {}
  Value(List items);  // throws Error{unsupported} if they are too deep or too large, or hold a namespace
  Value(Dict members);
  Value(std::shared_ptr<Space> space) : held_(std::move(space)) {}
  Value(Function function) : held_(std::move(function)) {}

  bool is_undefined() const { return std::holds_alternative<Undefined>(held_); }
  bool is_none() const { return std::holds_alternative<None>(held_); }
  bool is_bool() const { return std::holds_alternative<bool>(held_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(held_); }
  bool is_real() const { return std::holds_alternative<double>(held_); }
  bool is_number() const { return is_bool() || is_integer() || is_real(); }  // as in Python, where True is 1

  // Pointers are null for values of another kind.
  const std::string* text() const;
  const List* list() const;
  const Dict* dict() const;
  Space* space() const;
  const Function* function() const { return std::get_if<Function>(&held_); }
  const std::string& undefined_name() const { return std::get<Undefined>(held_).name; }

  double number() const;                        // of a number
  std::optional<std::int64_t> integer() const;  // a whole number or a truth value
  bool truth() const;
  int depth() const;
  std::int64_t weight() const;  // bytes to go through, counting a part as often as it is held: the cost of comparing

  // "text", "list", "mapping" ...: for messages.
  std::string_view kind() const;

 private:
  struct Size {
    int depth = 1;
    std::int64_t weight = 1;
    void add(const Value& part);
  };
  struct Items {
    List items;
    Size size;
  };
  struct Members {
    Dict members;
    Size size;
  };
  const Size* size() const;
  std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const std::string>,
               std::shared_ptr<const Items>, std::shared_ptr<const Members>, std::shared_ptr<Space>, Function>
      held_;
};

struct Space {
  Dict members;
};

const Value* find(const Dict& dict, std::string_view key);
void assign(Dict& dict, std::string_view key, Value value);

bool equal(const Value& a, const Value& b);
// Below 0, 0 or above 0; nothing if Python cannot order the two.
std::optional<int> ordered(const Value& a, const Value& b);
// str() of Python; nothing for lists, mappings and functions, whose spelling no template should depend on.
std::optional<std::string> printed(const Value& value);
// json.dumps(value, ensure_ascii=False, indent=indent) of Python. Nothing for what JSON does not have.
std::optional<std::string> json_of(const Value& value, std::optional<std::int64_t> indent);

// Where `part` begins in `whole`; npos: nowhere. Takes time that grows with their sizes, not with their product.
std::size_t find_text(std::string_view whole, std::string_view part);

// Characters of a text, and what str.strip() of Python takes for a space.
std::vector<std::string_view> characters_of(std::string_view text);
std::int64_t count_of_characters(std::string_view text);
bool is_space(std::string_view character);
std::string_view stripped_left(std::string_view text);
std::string_view stripped_right(std::string_view text);

}  // namespace sharpmax::model::chat
