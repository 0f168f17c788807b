// tokenize_tool: one JSON object a line in, one out. Bytes go as hexadecimal digits.
//
//   {"open": PATH}                          a model file or folder    -> {"size", "description", "ends"}
//   {"encode": HEX, "special": BOOL}                                  -> {"tokens": [...]}
//   {"whole": HEX, "special": BOOL}         with bos and eos          -> {"tokens": [...]}
//   {"decode": [...]}                                                 -> {"text": HEX}
//   {"bytes": [...]}                        each token by itself      -> {"texts": [HEX, ...]}
//   {"template": TEXT, "messages": [[ROLE, CONTENT], ...], "now": SECONDS, "bos": TEXT, "eos": TEXT} -> {"chat": TEXT}
//   {"chat_of": PATH}                       the template of a model   -> {"chat": TEXT} with the user "hello"
//
// A refusal is {"error": SENTENCE, "code": "bad_file"}.
#include <iostream>
#include <nlohmann/json.hpp>

#include "model/chat/chat_template.h"
#include "model/tokenizer/tokenizer.h"
#include "sharpmax/error.h"

namespace {

using namespace sharpmax::model;
using nlohmann::json;

std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

std::string to_hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    digits += kDigits[byte >> 4];
    digits += kDigits[byte & 15];
  }
  return digits;
}

json number_or_null(std::optional<Token> token) { return token ? json(*token) : json(); }

class Tool {
 public:
  json answer(const json& wish) {
    const SpecialText special = wish.value("special", false) ? SpecialText::as_tokens : SpecialText::as_text;
    if (wish.contains("open")) return open(wish["open"]);
    if (wish.contains("encode")) return {{"tokens", tokenizer_->encode(from_hex(wish["encode"]), special)}};
    if (wish.contains("whole"))
      return {{"tokens", tokenizer_->encode_whole(from_hex(wish["whole"]), special)}};
    if (wish.contains("decode"))
      return {{"text", to_hex(tokenizer_->decode(wish["decode"].get<std::vector<Token>>()))}};
    if (wish.contains("template")) return chat(wish);
    if (wish.contains("chat_of")) {
      const ModelFile file = open_model_file(wish["chat_of"].get<std::string>());
      return {{"chat", chat_template_of(file, *make_tokenizer(file)).render("hello", {})}};
    }
    json texts = json::array();
    for (const Token token : wish.at("bytes")) texts.push_back(to_hex(tokenizer_->bytes_of(token)));
    return {{"texts", texts}};
  }

 private:
  json open(const std::string& path) {
    tokenizer_ = make_tokenizer(open_model_file(path));
    const Tokenizer::Ends& ends = tokenizer_->ends();
    return {{"size", tokenizer_->size()},
            {"description", tokenizer_->description()},
            {"ends",
             {{"begin", number_or_null(ends.begin)},
              {"end", number_or_null(ends.end)},
              {"add_begin", ends.add_begin},
              {"add_end", ends.add_end},
              {"stops", ends.stops}}}};
  }
  static json chat(const json& wish) {
    std::vector<ChatMessage> messages;
    for (const json& message : wish.at("messages")) messages.push_back({message.at(0), message.at(1)});
    const ChatTemplate chat(wish["template"].get<std::string>(), {wish.value("bos", "<s>"), wish.value("eos", "</s>")});
    return {{"chat", chat.render(messages, wish.value("now", std::int64_t{0}))}};
  }

  std::unique_ptr<const Tokenizer> tokenizer_;
};

}  // namespace

int main() {
  Tool tool;
  for (std::string line; std::getline(std::cin, line);) {
    json answer;
    try {
      answer = tool.answer(json::parse(line));
    } catch (const sharpmax::Error& error) {
      constexpr const char* kCodes[] = {"bad_argument", "bad_file", "unsupported", "io"};
      answer = {{"error", error.what()}, {"code", kCodes[static_cast<int>(error.code())]}};
    }
    std::cout << answer.dump() << std::endl;
  }
}
