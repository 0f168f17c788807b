// generate(): a model continues a prompt, under any normalizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sharpmax/model.h"

namespace sharpmax {

inline constexpr const char* kGenerateSchema = "sharpmax.run/1";

struct GenerateRequest {
  ModelRequest model;
  Texts prompt;  // one or several; each is answered as if it were alone
  std::string prompt_file;
  bool chat = false;
  std::optional<std::string> system;
  bool special = false;
  std::int64_t tokens = 256;
  double temperature = 0;
  std::int64_t top_k = 0;
  double top_p = 1;
  std::uint64_t seed = 0;
  std::string command;         // for the results; empty: made from the fields
  bool describe_model = true;  // fill in `model` of the result, which takes a checksum of the file

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    ModelRequest::each_field(self.model, visit);
    visit(common({"prompt", "TEXT", "Prompt", "Text to continue; repeatable, and each is answered as if it were alone"}), self.prompt);
    visit(common({"prompt_file", "FILE", "Prompt",
                  "File with the text to continue; - is standard input", {}, Field::Kind::input}),
          self.prompt_file);
    visit(common({"chat", "", "Prompt",
                  "Wrap the prompt as a message, as the model's own template does"}), self.chat);
    visit({"system", "TEXT", "Prompt", "System message of a chat"}, self.system);
    visit({"special", "", "Prompt", "Read <|special|> words in the prompt as the tokens that they name"}, self.special);
    visit(common({"tokens", "N", "Generation",
                  "Largest number of tokens to generate", range(1, 1 << 30)}), self.tokens);
    each_draw(self, visit);
  }
  // How tokens are drawn.
  template <class Self, class Visit>
  static void each_draw(Self& self, const Visit& visit) {
    visit(common({"temperature", "X", "Generation",
                  "Temperature of the draws; 0 always takes the likeliest token (default 0)", range(0)}),
          self.temperature);
    visit({"top_k", "N", "Generation", "Number of likeliest tokens to draw from; 0 is all (default 0)", range(0)}, self.top_k);
    visit({"top_p", "X", "Generation", "Share of probability to draw from, likeliest tokens first", range(1e-9, 1)},
          self.top_p);
    visit(common({"seed", "N", "Generation", "Seed of the draws (default 0)"}), self.seed);
  }
};

// What a model made of one prompt.
struct GenerateAnswer {
  std::vector<std::int32_t> prompt_tokens, tokens;
  std::string text;
  std::string ending;  // stop_token, tokens, context_full or interrupted
  double prompt_seconds = 0, generated_seconds = 0;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("prompt_tokens", self.prompt_tokens);
    visit("tokens", self.tokens);
    visit("text", self.text);
    visit("ending", self.ending);
    visit.group("seconds", [&](const auto& within) {
      within("prompt", self.prompt_seconds);
      within("generated", self.generated_seconds);
    });
  }
};

// The answer to the first prompt, and those to the others.
struct GenerateResult : GenerateAnswer {
  std::string command;
  std::optional<ModelSettings> model;
  double temperature = 0, top_p = 1;
  std::int64_t top_k = 0;
  std::uint64_t seed = 0;
  std::optional<std::vector<GenerateAnswer>> further;  // to the prompts after the first

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    GenerateRequest::each_draw(self, visit);
  }
  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("command", self.command);
    visit("model", self.model);
    visit.group("sampling", [&](const auto& within) { within.fields(self); });
    GenerateAnswer::each_member(self, visit);
    visit.optional("further", self.further);
  }
};

// Text goes to listener.on_text() as it comes, in whole characters. A listener that throws Interrupted ends the text: the
// result then holds what there is. A line end parts the answers to several prompts. Throws Error.
GenerateResult generate(const GenerateRequest& request, Listener& listener = nobody());

Json to_json(const GenerateResult& result);        // schema sharpmax.run/1
GenerateResult generate_result(const Json& json);  // throws Error{bad_file}

}  // namespace sharpmax
