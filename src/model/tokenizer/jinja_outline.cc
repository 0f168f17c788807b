#include "model/tokenizer/jinja_outline.h"

#include <algorithm>

#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

struct Scanner {
  std::string_view source;
  std::vector<OutlinePart> parts;
  bool trim_left = false;     // the tag before said so: "-%}"
  bool drop_newline = false;  // a tag before drops one line end

  void add(OutlinePart::Kind kind, std::string content) {
    const bool text = kind == OutlinePart::Kind::text;
    if (text && content.empty()) return;
    if (text && !parts.empty() && parts.back().kind == kind)
      parts.back().content += content;
    else
      parts.push_back({kind, std::move(content)});
  }
};

// A literal in quotes at the start of `code`, its escapes undone. Returns the bytes it takes; 0: not closed.
std::size_t read_literal(std::string_view code, std::string& out) {
  const char quote = code[0];
  for (std::size_t i = 1; i < code.size(); ++i) {
    if (code[i] == quote) return i + 1;
    if (code[i] != '\\' || i + 1 == code.size()) {
      out += code[i];
      continue;
    }
    const char c = code[++i];
    if (c == 'n' || c == 't' || c == 'r')
      out += c == 'n' ? '\n' : c == 't' ? '\t' : '\r';
    else
      out += c;
  }
  return 0;
}

[[noreturn]] void not_closed() {
  throw Error(ErrorCode::unsupported, "chat template: not a Jinja template that is understood");
}

// Without blanks outside of literals, every quote a single one.
std::string tightened(std::string_view code) {
  std::string out;
  for (std::size_t i = 0; i < code.size();) {
    if (code[i] == '\'' || code[i] == '"') {
      std::string literal;
      const std::size_t bytes = read_literal(code.substr(i), literal);
      if (bytes == 0) not_closed();
      out += "'" + literal + "'";
      i += bytes;
      continue;
    }
    if (kBlank.find(code[i]) == std::string_view::npos) out += code[i];
    ++i;
  }
  return out;
}

// {{ 'a' + b + 'c' }}: literals are text, the rest are values. A '+' within brackets joins nothing here.
void add_expression(Scanner& scanner, std::string_view code) {
  std::size_t begin = 0;
  int depth = 0;
  const auto finish = [&](std::size_t end) {
    std::string_view term = code.substr(begin, end - begin);
    const std::size_t first = term.find_first_not_of(kBlank);
    if (first == std::string_view::npos) return;
    term = term.substr(first, term.find_last_not_of(kBlank) - first + 1);
    std::string literal;
    if ((term[0] == '\'' || term[0] == '"') && read_literal(term, literal) == term.size())
      scanner.add(OutlinePart::Kind::text, literal);
    else
      scanner.add(OutlinePart::Kind::value, tightened(term));
  };
  for (std::size_t i = 0; i < code.size();) {
    const char c = code[i];
    if (c == '\'' || c == '"') {
      std::string ignored;
      const std::size_t bytes = read_literal(code.substr(i), ignored);
      if (bytes == 0) not_closed();
      i += bytes;
      continue;
    }
    depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    if ((c == '+' || c == '~') && depth == 0) {
      finish(i);
      begin = i + 1;
    }
    ++i;
  }
  finish(code.size());
}

// Where the closing mark stands, past literals.
std::size_t find_close(std::string_view source, std::size_t from, std::string_view mark) {
  for (std::size_t i = from; i + 1 < source.size();) {
    if (source.substr(i).starts_with(mark)) return i;
    if (mark != "#}" && (source[i] == '\'' || source[i] == '"')) {
      std::string ignored;
      const std::size_t bytes = read_literal(source.substr(i), ignored);
      if (bytes == 0) not_closed();
      i += bytes;
    } else {
      ++i;
    }
  }
  not_closed();
}

void add_text(Scanner& scanner, std::string_view text, bool before_tag, bool trim_right) {
  if (scanner.trim_left)
    text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  else if (scanner.drop_newline && text.starts_with('\n'))
    text.remove_prefix(1);
  if (trim_right) {
    text = text.substr(0, text.find_last_not_of(kBlank) + 1);
  } else if (before_tag) {
    const std::size_t last = text.find_last_not_of(" \t");
    const bool line_start = last == std::string_view::npos ? true : text[last] == '\n';
    if (line_start) text = text.substr(0, last + 1);
  }
  scanner.add(OutlinePart::Kind::text, std::string(text));
}

}  // namespace

std::vector<OutlinePart> outline_of_jinja(std::string_view source) {
  Scanner scanner{source, {}};
  for (std::size_t at = 0; at <= source.size();) {
    std::size_t open = at;
    do open = source.find('{', open);
    while (open != std::string_view::npos &&
           (open + 1 >= source.size() ||
            std::string_view("{%#").find(source[open + 1]) == std::string_view::npos) &&
           ++open);
    if (open == std::string_view::npos) {
      add_text(scanner, source.substr(at), false, false);
      break;
    }
    const char kind = source[open + 1];
    std::size_t inner = open + 2;
    const bool trims_before = inner < source.size() && source[inner] == '-';
    if (trims_before) ++inner;
    add_text(scanner, source.substr(at, open - at), kind != '{', trims_before);
    const std::string mark = {kind == '{' ? '}' : kind, '}'};
    const std::size_t close = find_close(source, inner, mark);
    const bool trims_after = close > inner && source[close - 1] == '-';
    const std::string_view code = source.substr(inner, close - inner - (trims_after ? 1 : 0));
    if (kind == '{') add_expression(scanner, code);
    if (kind == '%') scanner.add(OutlinePart::Kind::tag, tightened(code));
    scanner.trim_left = trims_after;
    scanner.drop_newline = kind != '{';
    at = close + 2;
  }
  return std::move(scanner.parts);
}

}  // namespace sharpmax::model
