#include <fmt/format.h>

#include "base/in_quotes.h"
#include "model/chat/evaluation.h"

namespace sharpmax::model::chat {

struct Evaluation::Inner {
  Inner(Evaluation& run, bool wall) : scopes(run.scopes_) { scopes.push_back({{}, wall}); }
  ~Inner() { scopes.pop_back(); }
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;
  std::vector<Scope>& scopes;
};

void Evaluation::charge(std::int64_t bytes, std::int64_t line) {
  constexpr std::int64_t kBytesPerStep = 16;
  left_ -= 1 + bytes / kBytesPerStep;
  if (left_ < 0) refuse(line, fmt::format("it takes more than {} steps", limits_.steps));
}

Value Evaluation::text(std::string made, std::int64_t line) {
  charge(static_cast<std::int64_t>(made.size()), line);
  if (made.size() > limits_.bytes) refuse(line, fmt::format("it makes a text of more than {} bytes", limits_.bytes));
  return made;
}

void Evaluation::write(std::string_view text, std::string& out, std::int64_t line) {
  charge(static_cast<std::int64_t>(text.size()), line);
  if (out.size() + text.size() > limits_.bytes) refuse(line, fmt::format("it writes more than {} bytes", limits_.bytes));
  out += text;
}

std::string Evaluation::run(const std::vector<Statement>& program) {
  std::string out;
  run(program, out);
  return out;
}

Evaluation::Flow Evaluation::run(const std::vector<Statement>& body, std::string& out) {
  for (const Statement& statement : body)
    if (const Flow flow = run(statement, out); flow != Flow::on) return flow;
  return Flow::on;
}

Evaluation::Flow Evaluation::run(const Statement& statement, std::string& out) {
  using Is = Statement::Kind;
  charge(0, statement.line);
  switch (statement.kind) {
    case Is::text:
      write(statement.text, out, statement.line);
      break;
    case Is::output:
      write(spelled(value_of(*statement.expression), statement.line), out, statement.line);
      break;
    case Is::branch:
      for (const Statement::Branch& branch : statement.branches)
        if (!branch.condition || value_of(*branch.condition).truth()) return run(branch.body, out);
      break;
    case Is::loop:
      return loop(statement, out);
    case Is::set:
    case Is::set_block:
      set(statement);
      break;
    case Is::macro:
      assign(scopes_.back().variables, statement.text, Function{statement.text, &statement});
      break;
    case Is::plain_block:
      return run(statement.body, out);
    case Is::leave:
      return Flow::leave;
    case Is::next:
      return Flow::next;
  }
  return Flow::on;
}

// Every pass has variables of its own: what a loop sets is gone after it.
Evaluation::Flow Evaluation::loop(const Statement& statement, std::string& out) {
  List items = items_of(value_of(*statement.expression), statement.line);
  if (statement.condition) {
    List kept;
    for (const Value& item : items) {
      const Inner inner(*this, false);
      bind(statement.targets, item, statement.line);
      if (value_of(*statement.condition).truth()) kept.push_back(item);
    }
    items = std::move(kept);
  }
  if (items.empty() && !statement.branches.empty()) return run(statement.branches[0].body, out);
  for (std::size_t at = 0; at < items.size(); ++at)
    if (pass(statement, items, at, out) == Flow::leave) break;
  return Flow::on;
}

Evaluation::Flow Evaluation::pass(const Statement& loop, const List& items, std::size_t at, std::string& out) {
  const Inner inner(*this, false);
  const auto whole = [](std::size_t n) { return Value(static_cast<std::int64_t>(n)); };
  const std::size_t count = items.size();
  Dict facts = {{"index", whole(at + 1)},
                {"index0", whole(at)},
                {"revindex", whole(count - at)},
                {"revindex0", whole(count - at - 1)},
                {"first", at == 0},
                {"last", at + 1 == count},
                {"length", whole(count)},
                {"previtem", at > 0 ? items[at - 1] : Value(Undefined{"loop.previtem"})},
                {"nextitem", at + 1 < count ? items[at + 1] : Value(Undefined{"loop.nextitem"})}};
  assign(scopes_.back().variables, "loop", std::move(facts));
  bind(loop.targets, items[at], loop.line);
  return run(loop.body, out);
}

void Evaluation::bind(const std::vector<std::string>& names, const Value& value, std::int64_t line) {
  Dict& variables = scopes_.back().variables;
  charge(static_cast<std::int64_t>(variables.size()), line);
  if (names.size() == 1) return assign(variables, names[0], value);
  if (!value.list() || value.list()->size() != names.size())
    refuse(line, fmt::format("{} names cannot share a {}; it must be a list of {}", names.size(), value.kind(), names.size()));
  for (std::size_t i = 0; i < names.size(); ++i) assign(variables, names[i], (*value.list())[i]);
}

void Evaluation::set(const Statement& statement) {
  Value value;
  if (statement.kind == Statement::Kind::set) {
    value = value_of(*statement.expression);
  } else {
    std::string made;
    const Inner inner(*this, false);
    run(statement.body, made);
    value = text(std::move(made), statement.line);
  }
  if (statement.member.empty()) return bind(statement.targets, value, statement.line);
  Expression variable;
  variable.line = statement.line;
  variable.name = statement.targets[0];
  Space* const space = name(variable).space();
  if (!space) refuse(statement.line, fmt::format("{} is not a namespace; only namespaces have members that can be set",
                                                 in_quotes(statement.targets[0])));
  if (value.space()) refuse(statement.line, "a namespace within another value is not supported");
  charge(static_cast<std::int64_t>(space->members.size()), statement.line);
  assign(space->members, statement.member, std::move(value));
}

Value Evaluation::call_macro(const Statement& macro, const Arguments& arguments) {
  if (++calls_ > limits_.calls) refuse(arguments.line, fmt::format("macros call each other more than {} deep", limits_.calls));
  if (arguments.values.size() > macro.targets.size())
    refuse(arguments.line, fmt::format("macro {} takes {} arguments; found {}", in_quotes(macro.text), macro.targets.size(),
                                       arguments.values.size()));
  const Inner inner(*this, true);
  const std::size_t plain = macro.targets.size() - macro.defaults.size();
  for (std::size_t i = 0; i < macro.targets.size(); ++i) {
    const Value* given = arguments.find(i, macro.targets[i]);
    Value value = given ? *given : i >= plain ? value_of(*macro.defaults[i - plain]) : Value(Undefined{macro.targets[i]});
    assign(scopes_.back().variables, macro.targets[i], std::move(value));
  }
  std::string made;
  run(macro.body, made);
  --calls_;
  return text(std::move(made), arguments.line);
}

}  // namespace sharpmax::model::chat
