// `run`: a model continues a prompt, as it comes.
#include <fmt/format.h>

#include "cli/console.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "sharpmax/generate.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

double rate(std::size_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }

std::string times_of(const GenerateResult& result) {
  const char* const why = result.ending == "stop_token"     ? "the model ended its text"
                          : result.ending == "context_full" ? "the context is full"
                                                            : "as many as were asked for";
  return fmt::format(
      "prompt: {} tokens in {:.2f} s ({:.0f} tokens/s); generated: {} in {:.2f} s ({:.1f} tokens/s), {}",
      grouped(static_cast<std::int64_t>(result.prompt_tokens.size())), result.prompt_seconds,
      rate(result.prompt_tokens.size(), result.prompt_seconds), grouped(static_cast<std::int64_t>(result.tokens.size())),
      result.generated_seconds, rate(result.tokens.size(), result.generated_seconds), why);
}

}  // namespace

const char* const RunVerb::kSummary = "Continue a prompt with a model, under any normalizer";
const char* const RunVerb::kFooter =
    "Text goes to standard output as it is generated, the rest to standard error.\n"
    "\n"
    "Examples:\n"
    "  sharpmax run SmolLM2.gguf --prompt \"The capital of France is\" --tokens 20\n"
    "  sharpmax run SmolLM2.gguf --chat --prompt \"Why is the sky blue?\" \\\n"
    "      --temperature 0.7 --top-p 0.9 --seed 1\n"
    "  sharpmax run SmolLM2.gguf --prompt-file a.txt --normalizer softmax:beta=1.2";

void RunVerb::check(const Given&) const {
  files_of(request, file.overwrite, kGenerateSchema)
      .writes(named("json"), file.json, results_kind(kGenerateSchema))
      .check();
}

Outcome RunVerb::run(const Caller& caller) {
  const bool keeps = !file.json.empty() || caller.reads_results;
  request.command = caller.command;
  request.describe_model = keeps;
  const char* const so_far = keeps ? "is in the JSON" : "was printed";
  caller.listener.on_resumption(
      {false, fmt::format("the text so far {}; run has no {}", so_far, named("resume")), ""});
  const GenerateResult result = generate(request, caller.listener);
  const bool interrupted = result.ending == "interrupted";
  if (caller.streams_text && !interrupted) caller.listener.on_text("\n");
  Outcome outcome{.results = keeps ? to_json(result) : Json(), .interrupted = interrupted, .written = json_text};
  if (!file.json.empty()) write_text(file.json, outcome.written(outcome.results));
  if (!quiet && !interrupted) caller.listener.narrate(times_of(result));
  outcome.text = [text = caller.streams_text ? std::string() : result.text](bool) { return text; };
  return outcome;
}

}  // namespace sharpmax::cli
