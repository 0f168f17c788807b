#include "model/tokenizer/chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/file/json_file.h"
#include "model/tokenizer/jinja_outline.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
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
