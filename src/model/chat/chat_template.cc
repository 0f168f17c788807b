#include "model/chat/chat_template.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

constexpr std::size_t kLargestTemplate = 1U << 20;

std::string whole_file(const std::filesystem::path& path) {
  if (std::filesystem::file_size(path) > kLargestTemplate) return std::string(kLargestTemplate + 1, ' ');  // refused later
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

ChatTemplate::ChatTemplate(std::string_view jinja, ChatTokens tokens) : tokens_(std::move(tokens)) {
  if (jinja.size() > kLargestTemplate)
    throw Error(ErrorCode::unsupported, fmt::format("chat template: it has more than {} bytes", kLargestTemplate));
  program_ = std::make_shared<const std::vector<chat::Statement>>(chat::parse_template(jinja));
}

std::string ChatTemplate::render(std::string_view user, std::optional<std::string_view> system) const {
  std::vector<ChatMessage> messages;
  if (system) messages.push_back({"system", std::string(*system)});
  messages.push_back({"user", std::string(user)});
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return render(messages, std::chrono::duration_cast<std::chrono::seconds>(now).count());
}

std::string ChatTemplate::render(const std::vector<ChatMessage>& messages, std::int64_t now, const chat::Limits& limits) const {
  chat::List list;
  for (const ChatMessage& message : messages)
    list.emplace_back(chat::Dict{{"role", message.role}, {"content", message.content}});
  chat::Dict globals = {{"messages", std::move(list)},
                        {"add_generation_prompt", true},
                        {"tools", chat::None{}},
                        {"documents", chat::None{}}};
  if (tokens_.begin) globals.emplace_back("bos_token", *tokens_.begin);
  if (tokens_.end) globals.emplace_back("eos_token", *tokens_.end);
  return chat::Evaluation(std::move(globals), limits, now).run(*program_);
}

ChatTemplate chat_template_of(const ModelFile& file, const Tokenizer& tokenizer) {
  const std::string jinja = template_of(file);
  if (jinja.empty())
    throw Error(ErrorCode::unsupported, fmt::format("{}: has no chat template", name_of(file)));
  const auto text = [&](std::optional<Token> token) {
    return token ? std::optional<std::string>(tokenizer.text_of(*token)) : std::nullopt;
  };
  return ChatTemplate(jinja, {text(tokenizer.ends().begin), text(tokenizer.ends().end)});
}

}  // namespace sharpmax::model
