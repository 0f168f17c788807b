// Statements of Jinja: what stands between {% and %}.
#include <fmt/format.h>

#include <algorithm>

#include "base/in_quotes.h"
#include "model/chat/syntax.h"

namespace sharpmax::model::chat {
namespace {

constexpr int kDeepestBlocks = 64;

class TemplateParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  std::vector<Statement> run() {
    std::vector<Statement> all = statements();
    if (here().kind != Lexeme::Kind::end) stray_end();
    return all;
  }

 private:
  using Is = Statement::Kind;

  [[noreturn]] void stray_end() const { refuse(here().line, fmt::format("{{% {} %}} closes nothing", ahead().content)); }

  // Up to a tag that closes or divides the block around them, or the end.
  std::vector<Statement> statements() {
    if (++blocks_ > kDeepestBlocks) refuse(here().line, fmt::format("blocks are more than {} levels deep", kDeepestBlocks));
    std::vector<Statement> all;
    while (here().kind != Lexeme::Kind::end) {
      if (here().kind == Lexeme::Kind::data) {
        Statement text{.kind = Is::text, .line = here().line};
        text.text = take().content;
        all.push_back(std::move(text));
      } else if (here().kind == Lexeme::Kind::variable_begin) {
        Statement output{.kind = Is::output, .line = take().line};
        output.expression = list_of_expressions();
        close(Lexeme::Kind::variable_end);
        all.push_back(std::move(output));
      } else if (divides(ahead())) {
        break;
      } else {
        take();
        all.push_back(block());
      }
    }
    --blocks_;
    return all;
  }

  static bool divides(const Lexeme& word) {
    return word.kind == Lexeme::Kind::name && (word.content.starts_with("end") || word.content == "else" || word.content == "elif");
  }

  void close(Lexeme::Kind end) {
    if (here().kind != end) unexpected("the end of the tag");
    take();
  }
  void close() { close(Lexeme::Kind::block_end); }

  // {% endfor %} and its like.
  void end_of(std::string_view name, std::int64_t opened) {
    if (here().kind == Lexeme::Kind::end) refuse(opened, fmt::format("a block has no {{% {} %}}", name));
    if (!ahead().is_name(name)) refuse(here().line, fmt::format("found {{% {} %}}; expected {{% {} %}}", ahead().content, name));
    take();
    take();
    close();
  }

  Statement block() {
    const std::int64_t line = here().line;
    const std::string name = expect_name("the name of a tag");
    if (name == "if") return branch(line);
    if (name == "for") return loop(line);
    if (name == "set") return set(line);
    if (name == "macro") return macro(line);
    if (name == "generation") {  // marks the answer for training; writes what is in it
      Statement plain{.kind = Is::plain_block, .line = line};
      close();
      plain.body = statements();
      end_of("endgeneration", line);
      return plain;
    }
    if (name == "break" || name == "continue") {
      if (loops_ == 0) refuse(line, fmt::format("{{% {} %}} stands outside of a loop", name));
      close();
      return {.kind = name == "break" ? Is::leave : Is::next, .line = line};
    }
    refuse(line, fmt::format("the tag {} is not supported", in_quotes(name)));
  }

  Statement branch(std::int64_t line) {
    Statement made{.kind = Is::branch, .line = line};
    bool last = false;
    do {
      Statement::Branch one;
      if (!last) one.condition = list_of_expressions();
      close();
      one.body = statements();
      made.branches.push_back(std::move(one));
      if (last || !(ahead().is_name("elif") || ahead().is_name("else"))) break;
      take();
      last = take().content == "else";
    } while (true);
    end_of("endif", line);
    return made;
  }

  std::vector<std::string> names() {
    const bool bracket = take_if("(");
    std::vector<std::string> all = {expect_name("the name of a variable")};
    while (take_if(",")) all.push_back(expect_name("the name of a variable"));
    if (bracket) expect(")");
    return all;
  }

  Statement loop(std::int64_t line) {
    Statement made{.kind = Is::loop, .line = line};
    made.targets = names();
    if (!take_name_if("in")) unexpected("'in'");
    made.expression = without_choice();
    if (take_name_if("if")) made.condition = expression();
    if (here().is_name("recursive")) refuse(line, "a recursive loop is not supported");
    close();
    ++loops_;
    made.body = statements();
    --loops_;
    if (ahead().is_name("else") && here().kind == Lexeme::Kind::block_begin) {
      take();
      take();
      close();
      made.branches.push_back({nullptr, statements()});
    }
    end_of("endfor", line);
    return made;
  }

  Statement set(std::int64_t line) {
    Statement made{.kind = Is::set, .line = line};
    made.targets = names();
    if (take_if(".")) made.member = expect_name("the name of a member");
    if (take_if("=")) {
      made.expression = list_of_expressions();
      close();
      return made;
    }
    if (here().is("|")) refuse(line, "a filter on a block of 'set' is not supported");
    if (made.targets.size() > 1) unexpected("'='");
    made.kind = Is::set_block;
    close();
    made.body = statements();
    end_of("endset", line);
    return made;
  }

  Statement macro(std::int64_t line) {
    Statement made{.kind = Is::macro, .line = line};
    if (blocks_ > 1) refuse(line, "a macro within another block is not supported");
    made.text = expect_name("the name of a macro");
    expect("(");
    while (!take_if(")")) {
      made.targets.push_back(expect_name("the name of a parameter"));
      if (take_if("="))
        made.defaults.push_back(expression());
      else if (!made.defaults.empty())
        refuse(line, "a parameter without a default follows one with a default");
      if (!here().is(")")) expect(",");
    }
    close();
    const int loops = std::exchange(loops_, 0);
    made.body = statements();
    loops_ = loops;
    end_of("endmacro", line);
    return made;
  }

  int blocks_ = 0, loops_ = 0;
};

}  // namespace

std::vector<Statement> parse_template(std::string_view source) { return TemplateParser(lexemes_of(source)).run(); }

}  // namespace sharpmax::model::chat
