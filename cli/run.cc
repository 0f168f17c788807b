// `sharpmax run`: a model continues a prompt, as it comes.
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/model_options.h"
#include "cli/outputs.h"
#include "cli/table.h"
#include "model/generation/generate.h"
#include "model/tokenizer/chat.h"
#include "model/tokenizer/tokenizer.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "Text goes to standard output as it is generated, the rest to standard error.\n"
    "\n"
    "Examples:\n"
    "  sharpmax run SmolLM2.gguf --prompt \"The capital of France is\" --tokens 20\n"
    "  sharpmax run SmolLM2.gguf --chat --prompt \"Why is the sky blue?\" \\\n"
    "      --temperature 0.7 --top-p 0.9 --seed 1\n"
    "  sharpmax run SmolLM2.gguf --prompt-file a.txt --normalizer softmax:beta=1.2";

constexpr const char* kSchema = "sharpmax.run/1";

struct RunOptions {
  ModelOptions model;
  std::optional<std::string> prompt;
  std::string prompt_file;
  bool chat = false, special = false, quiet = false, overwrite = false;
  std::string json;
  std::optional<std::string> system;
  std::int64_t tokens = 256;
  model::Sampling sampling;
};

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::bad_argument, sentence); }

std::string prompt_of(const RunOptions& o) {
  if (o.prompt && !o.prompt_file.empty())
    refuse("--prompt and --prompt-file were both given; one was wanted");
  if (o.prompt) return *o.prompt;
  if (o.prompt_file.empty()) refuse("no prompt was given; --prompt TEXT or --prompt-file FILE was wanted");
  if (o.prompt_file != "-") return read_text(o.prompt_file);
  return standard_input();
}

std::vector<model::Token> tokens_of(const model::Model& model, const RunOptions& o) {
  const std::string prompt = prompt_of(o);
  if (prompt.empty()) refuse("the prompt is empty; a model needs something to go on from");
  const model::Tokenizer& tokenizer = model.tokenizer();
  using model::SpecialText;
  if (!o.chat) {
    if (o.system) refuse("--system goes with --chat");
    const auto special = o.special ? SpecialText::as_tokens : SpecialText::as_text;
    std::vector<model::Token> tokens;
    if (tokenizer.ends().add_begin && tokenizer.ends().begin) tokens.push_back(*tokenizer.ends().begin);
    const auto rest = tokenizer.encode(prompt, special);
    tokens.insert(tokens.end(), rest.begin(), rest.end());
    return tokens;
  }
  const std::optional<std::string_view> system =
      o.system ? std::optional<std::string_view>(*o.system) : std::nullopt;
  return tokenizer.encode(model::chat_template_of(model.file()).render(prompt, system),
                          SpecialText::as_tokens);
}

void check_length(std::int64_t prompt, std::int64_t context) {
  if (prompt <= context) return;
  throw Limit(
      fmt::format("the prompt has {} tokens, and the context has room for {}; a shorter prompt or a larger "
                  "--context was wanted",
                  grouped(prompt), grouped(context)));
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

double rate(std::int64_t tokens, double seconds) {
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

void narrate_times(const model::GenerationTimes& times, model::Ending ending) {
  const char* const why = ending == model::Ending::stop_token     ? "the model ended its text"
                          : ending == model::Ending::context_full ? "the context is full"
                                                                  : "as many as were asked for";
  narrate(fmt::format(
      "prompt: {} tokens in {:.2f} s ({:.0f} tokens/s); generated: {} in {:.2f} s ({:.1f} tokens/s), {}",
      grouped(times.prompt_tokens), times.prompt_seconds, rate(times.prompt_tokens, times.prompt_seconds),
      grouped(times.generated_tokens), times.generated_seconds,
      rate(times.generated_tokens, times.generated_seconds), why));
}

// about: model_json(), made before the work, since an interrupt must not meet its pauses again.
Json to_json(const model::Model& model, const Json& about, const RunOptions& o,
             std::span<const model::Token> prompt, std::span<const model::Token> generated,
             const model::GenerationTimes& times, const char* ending) {
  return {{"schema", kSchema},
          {"command", command_line()},
          {"model", about},
          {"sampling",
           {{"temperature", o.sampling.temperature},
            {"top_k", o.sampling.top_k},
            {"top_p", o.sampling.top_p},
            {"seed", o.sampling.seed}}},
          {"prompt_tokens", std::vector<model::Token>(prompt.begin(), prompt.end())},
          {"tokens", std::vector<model::Token>(generated.begin(), generated.end())},
          {"text", model.tokenizer().decode(generated)},
          {"ending", ending},
          {"seconds", {{"prompt", times.prompt_seconds}, {"generated", times.generated_seconds}}}};
}

void check_files(const RunOptions& o) {
  CallFiles call(o.overwrite);
  call.reads_model(o.model.model).reads("--prompt-file", o.prompt_file);
  call.reads("--normalizers", o.model.normalizers);
  call.writes("--json", o.json, results_kind(kSchema)).check();
}

int run(const RunOptions& o) {
  check_files(o);
  model::Sampler sampler(o.sampling);
  const model::Model model = open_model(o.model);
  const std::vector<model::Token> prompt = tokens_of(model, o);
  const std::int64_t context = context_of(model, o.model), length = static_cast<std::int64_t>(prompt.size());
  check_length(length, context);
  const auto session = open_session(model, o.model, std::min(context, length + o.tokens));

  cannot_resume(o.json.empty() ? "the text so far was printed; run has no --resume"
                               : "the text so far is in the JSON; run has no --resume");
  Progress progress;
  model::TextStream stream(model.tokenizer());
  std::vector<model::Token> generated;
  model::Generation wish{
      .most = o.tokens, .stops = model.tokenizer().ends().stops, .known = model.tokenizer().size()};
  wish.on_token = [&](model::Token token) {
    if (generated.empty()) progress.show("");
    generated.push_back(token);
    if (o.json != "-") print_stream(stream.push(token));
  };
  wish.on_prompt = [&, start = std::chrono::steady_clock::now()](std::int64_t done) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    progress.show(
        fmt::format("reading the prompt: {} of {} tokens, {} left", grouped(done), grouped(length),
                    duration(seconds * static_cast<double>(length - done) / static_cast<double>(done))));
  };
  model::GenerationTimes times;
  const Json about = o.json.empty() ? Json() : model_json(model, o.model);
  model::Ending ending{};
  try {
    ending = model::generate(*session, prompt, sampler, wish, times);
  } catch (const Interrupted&) {  // JSON of an interrupted run holds the text so far
    if (!o.json.empty())
      deliver(o.json, json_text(to_json(model, about, o, prompt, generated, times, "interrupted")));
    throw;
  }
  if (o.json != "-") print_stream(stream.flush() + "\n");
  if (!o.json.empty())
    deliver(o.json, json_text(to_json(model, about, o, prompt, generated, times, name_of(ending))));
  if (!o.quiet) narrate_times(times, ending);
  return kOk;
}

void add_prompt(CLI::App& words, RunOptions& o) {
  constexpr const char* kGroup = "Prompt";
  words.add_option("--prompt", o.prompt, "The text to go on from")->option_text("TEXT")->group(kGroup);
  words.add_option("--prompt-file", o.prompt_file, "The same, from a file; -: standard input")
      ->option_text("FILE")
      ->group(kGroup);
  words
      .add_flag("--chat", o.chat,
                "The prompt is a message: wrap it as the model's own template does (ChatML only)")
      ->group(kGroup);
  words.add_option("--system", o.system, "With --chat: the system message")
      ->option_text("TEXT")
      ->group(kGroup);
  words.add_flag("--special", o.special, "Read <|special|> words in the prompt as the tokens that they name")
      ->group(kGroup);
}

void add_sampling(CLI::App& words, RunOptions& o) {
  constexpr const char* kGroup = "Generation";
  words.add_option("--tokens", o.tokens, "At most so many (default 256)")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->group(kGroup);
  words.add_option("--temperature", o.sampling.temperature, "0 (default): always the likeliest token")
      ->option_text("X")
      ->group(kGroup);
  words.add_option("--top-k", o.sampling.top_k, "Draw from the k likeliest; 0 (default): from all")
      ->option_text("N")
      ->group(kGroup);
  words.add_option("--top-p", o.sampling.top_p, "Draw from the likeliest that together reach p (default 1)")
      ->option_text("X")
      ->group(kGroup);
  words.add_option("--seed", o.sampling.seed, "Of the draws (default 0)")->option_text("N")->group(kGroup);
}

}  // namespace

Command add_run(CLI::App& program) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* words =
      program.add_subcommand("run", "Let a real model go on from a prompt, under any normalizer");
  words->footer(kFooter);
  add_model_options(*words, options->model);
  add_prompt(*words, *options);
  add_sampling(*words, *options);
  add_json_option(*words, options->json, kSchema, "Results");
  add_overwrite_option(*words, options->overwrite, "Results");
  words->add_flag("--quiet", options->quiet, "No line of times at the end")->group("Results");
  return {words, [options] { return run(*options); }};
}

}  // namespace sharpmax::cli
