#include "model/tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/file/model_file.h"
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

namespace {

using Kind = OutlinePart::Kind;
using Parts = std::vector<OutlinePart>;

constexpr std::string_view kStart = "<|im_start|>", kEnd = "<|im_end|>";

[[noreturn]] void refuse(std::string_view why) {
  throw Error(ErrorCode::unsupported, fmt::format("chat template: only ChatML is supported; {}", why));
}

bool is_role(const OutlinePart& part) {
  return part.kind == Kind::value && (part.content == "message['role']" || part.content == "message.role");
}

bool is_content(const OutlinePart& part) {
  if (part.kind != Kind::value) return false;
  for (const std::string_view known : {"message['content']", "message.content", "content",
                                       "message['content']|trim", "message.content|trim"}) {
    if (part.content == known) return true;
  }
  return false;
}

// "...<|im_start|>" role "\n" content "<|im_end|>\n...", whatever stands around it.
bool writes_messages(const Parts& parts) {
  for (std::size_t i = 0; i + 4 < parts.size(); ++i) {
    const bool opens =
        parts[i].kind == Kind::text && parts[i].content.ends_with(kStart) && is_role(parts[i + 1]);
    if (!opens || parts[i + 2] != OutlinePart{Kind::text, "\n"} || !is_content(parts[i + 3])) continue;
    const OutlinePart& close = parts[i + 4];
    if (close.kind == Kind::text && close.content == std::string(kEnd) + "\n") return true;
  }
  return false;
}

// Below {% if add_generation_prompt %}.
bool opens_the_answer(const Parts& parts) {
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (parts[i].kind == Kind::tag && parts[i].content == "ifadd_generation_prompt" &&
        parts[i + 1] == OutlinePart{Kind::text, std::string(kStart) + "assistant\n"})
      return true;
  }
  return false;
}

bool asks_for_a_missing_system(const std::string& tag) {
  return tag.find("messages[0]['role']!='system'") != std::string::npos ||
         tag.find("messages[0].role!='system'") != std::string::npos;
}

bool asks_for_a_system(const std::string& tag) {
  return tag == "ifmessages[0]['role']=='system'" || tag == "ifmessages[0].role=='system'";
}

// Whether what stands at `at` is written when the first message is not a system message, and only then.
bool stands_for_a_missing_system(const Parts& parts, std::size_t at) {
  if (at == 0 || parts[at - 1].kind != Kind::tag) return false;
  if (asks_for_a_missing_system(parts[at - 1].content)) return true;
  if (parts[at - 1].content != "else") return false;
  int depth = 0;  // back to the tag that this "else" belongs to
  for (std::size_t i = at - 1; i-- > 0;) {
    if (parts[i].kind != Kind::tag) continue;
    if (parts[i].content == "endif") ++depth;
    if (parts[i].content.starts_with("if") && depth-- == 0) return asks_for_a_system(parts[i].content);
  }
  return false;
}

// A system message written out in the template.
std::optional<std::string> default_system_of(const Parts& parts) {
  const std::string open = std::string(kStart) + "system\n", close = std::string(kEnd) + "\n";
  std::optional<std::string> found;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& text = parts[i].content;
    if (parts[i].kind != Kind::text || !text.starts_with(open) || !text.ends_with(close)) continue;
    const std::string message = text.substr(open.size(), text.size() - open.size() - close.size());
    if (!stands_for_a_missing_system(parts, i) || (found && *found != message) ||
        message.find(kStart) != std::string::npos)
      refuse("this one writes a system message on terms that are not understood");
    found = message;
  }
  return found;
}

std::string whole_file(const std::filesystem::path& path) {
  constexpr std::uintmax_t kMost = 1U << 20;
  if (std::filesystem::file_size(path) > kMost) refuse("this one has more than a megabyte");
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw Error(ErrorCode::io, fmt::format("{}: cannot be read", path.string()));
  return text.str();
}

// A template, or several by name of which "default" is the one.
std::string template_in(const nlohmann::json& config) {
  const auto found = config.find("chat_template");
  if (found == config.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  if (found->is_array()) {
    for (const nlohmann::json& entry : *found) {
      if (entry.is_object() && entry.value("name", "") == "default") return entry.value("template", "");
    }
  }
  return {};
}

std::string template_of(const ModelFile& file) {
  if (const auto* gguf = std::get_if<GgufFile>(&file))
    return std::string(gguf->text("tokenizer.chat_template").value_or(""));
  const std::filesystem::path& folder = std::get<SafetensorsFolder>(file).folder();
  if (std::filesystem::exists(folder / "chat_template.jinja"))
    return whole_file(folder / "chat_template.jinja");
  if (!std::filesystem::exists(folder / "tokenizer_config.json")) return {};
  return template_in(read_json_object(folder / "tokenizer_config.json"));
}

}  // namespace

std::string ChatTemplate::render(std::string_view user, std::optional<std::string_view> system) const {
  if (!system && default_system) system = *default_system;
  std::string out;
  if (system) out += fmt::format("{}system\n{}{}\n", kStart, *system, kEnd);
  return out + fmt::format("{}user\n{}{}\n{}assistant\n", kStart, user, kEnd, kStart);
}

ChatTemplate chat_template_of(std::string_view jinja) {
  if (jinja.find(kStart) == std::string_view::npos) refuse("this one does not write <|im_start|>");
  const Parts parts = outline_of_jinja(jinja);
  if (!writes_messages(parts)) refuse("this one writes messages in another way");
  if (!opens_the_answer(parts)) refuse("this one opens the answer in another way");
  return {default_system_of(parts)};
}

ChatTemplate chat_template_of(const ModelFile& file) {
  const std::string jinja = template_of(file);
  if (jinja.empty())
    throw Error(ErrorCode::unsupported, fmt::format("{}: has no chat template", name_of(file)));
  return chat_template_of(jinja);
}

}  // namespace sharpmax::model
