#include "sharpmax/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/numbers.h"
#include "job/call_files.h"
#include "job/field_values.h"
#include "job/json_members.h"
#include "model/chat/chat_template.h"
#include "model/generation/generate.h"
#include "model/job/model_request.h"
#include "model/tokenizer/tokenizer.h"
#include "storage/files.h"

namespace sharpmax {
namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw RequestError(ErrorCode::bad_argument, sentence); }

std::vector<std::string> prompts_of(const GenerateRequest& request) {
  if (!request.prompt.empty() && !request.prompt_file.empty())
    refuse(fmt::format("{} and {} were both given; one must be left out", named("prompt"), named("prompt_file")));
  if (request.prompt.empty() && request.prompt_file.empty())
    refuse(fmt::format("no prompt was given; give {} or {}", given("prompt", "TEXT"), given("prompt_file", "FILE")));
  std::vector<std::string> prompts = request.prompt;
  if (prompts.empty()) prompts.push_back(read_text(request.prompt_file));
  for (const std::string& prompt : prompts)
    if (prompt.empty()) refuse("the prompt is empty; a model needs something to continue");
  return prompts;
}

std::vector<model::Token> tokens_of(const model::Model& model, const GenerateRequest& request, const std::string& prompt) {
  const model::Tokenizer& tokenizer = model.tokenizer();
  using model::SpecialText;
  if (!request.chat) {
    if (request.system) refuse(fmt::format("{} goes with {}", named("system"), flagged("chat")));
    const auto text = tokenizer.encode(prompt, request.special ? SpecialText::as_tokens : SpecialText::as_text);
    return model::with_beginning(model, text);
  }
  std::optional<std::string_view> system;
  if (request.system) system = *request.system;
  return tokenizer.encode(model::chat_template_of(model.file(), tokenizer).render(prompt, system), SpecialText::as_tokens);
}

void check_length(std::int64_t prompt, std::int64_t context) {
  if (prompt <= context) return;
  throw RequestError(ErrorCode::limit,
                     fmt::format("the prompt has {} tokens, and the context has room for {}; shorten the prompt or give a "
                                 "larger {}",
                                 grouped(prompt), grouped(context), named("context")));
}

const char* name_of(model::Ending ending) {
  switch (ending) {
    case model::Ending::stop_token:
      return "stop_token";
    case model::Ending::as_many_as_wanted:
      return "tokens";
    case model::Ending::context_full:
      break;
  }
  return "context_full";
}

// Continues the prompt of `result`, where its text and tokens go, as if nothing had been read before.
void run(model::Session& session, const GenerateRequest& request, GenerateAnswer& result, Listener& listener) {
  session.rewind(0);
  const model::Tokenizer& tokenizer = session.model().tokenizer();
  model::Sampler sampler({request.temperature, request.top_k, request.top_p, request.seed});
  model::TextStream stream(tokenizer);
  const auto length = static_cast<std::int64_t>(result.prompt_tokens.size());
  const auto start = std::chrono::steady_clock::now();
  model::Generation wish{.most = request.tokens, .stops = tokenizer.ends().stops, .known = tokenizer.size()};
  wish.on_token = [&](model::Token token) {
    if (result.tokens.empty()) listener.on_progress("");
    result.tokens.push_back(token);
    listener.on_text(stream.push(token));
  };
  wish.on_prompt = [&](std::int64_t done) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    listener.proceed(fmt::format("reading the prompt: {} of {} tokens, {} left", grouped(done), grouped(length),
                                     duration(seconds * static_cast<double>(length - done) / static_cast<double>(done))));
  };
  model::GenerationTimes times;
  try {
    result.ending = name_of(model::generate(session, result.prompt_tokens, sampler, wish, times));
    listener.on_text(stream.flush());
  } catch (const Interrupted&) {
    result.ending = "interrupted";
  }
  result.text = tokenizer.decode(result.tokens);
  result.prompt_seconds = times.prompt_seconds;
  result.generated_seconds = times.generated_seconds;
}

}  // namespace

GenerateResult generate(const GenerateRequest& request, Listener& listener) {
  check_fields(request);
  model::Sampler({request.temperature, request.top_k, request.top_p, request.seed});  // throws before the model is read
  const auto model = model::shared_model(request.model);
  const std::int64_t context = model::context_of(*model, request.model);
  std::vector<GenerateAnswer> answers;
  std::int64_t longest = 0;
  for (const std::string& prompt : prompts_of(request)) {
    answers.push_back({.prompt_tokens = tokens_of(*model, request, prompt)});
    const auto length = static_cast<std::int64_t>(answers.back().prompt_tokens.size());
    check_length(length, context);
    longest = std::max(longest, length);
  }
  GenerateResult result;
  result.command = request.command.empty() ? command_of("run", request) : request.command;
  result.temperature = request.temperature;
  result.top_p = request.top_p;
  result.top_k = request.top_k;
  result.seed = request.seed;
  if (request.describe_model) result.model = model::settings_of(*model, request.model, listener);
  const auto session = model::open_session(*model, request.model, std::min(context, longest + request.tokens), listener);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (i > 0) listener.on_text("\n");
    run(*session, request, answers[i], listener);
    if (answers[i].ending == "interrupted") answers.resize(i + 1);
  }
  static_cast<GenerateAnswer&>(result) = std::move(answers[0]);
  if (answers.size() > 1) result.further.emplace(std::make_move_iterator(answers.begin() + 1), std::make_move_iterator(answers.end()));
  return result;
}

Json to_json(const GenerateResult& result) {
  Json json{{"schema", kGenerateSchema}};
  GenerateResult::each_member(result, internal::Writer{json});
  return json;
}

GenerateResult generate_result(const Json& json) {
  return read_results(json, kGenerateSchema, [](const Json& results) {
    GenerateResult result;
    read_json(results, result);
    return result;
  });
}

}  // namespace sharpmax
