// `sharpmax run`: a model continues a prompt, as it comes.
#include <fmt/format.h>

#include "cli/door.h"
#include "cli/fields.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/outputs.h"
#include "cli/table.h"
#include "sharpmax/generate.h"

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

struct RunWords {
  GenerateRequest request;
  std::string json;
  bool quiet = false, overwrite = false;
};

// Silent where the text itself goes to standard output as JSON.
class TextListener : public ConsoleListener {
 public:
  explicit TextListener(bool prints) : ConsoleListener(Progress::Elsewhere::silent), prints_(prints) {}
  void on_text(std::string_view text) override {
    if (prints_) ConsoleListener::on_text(text);
  }

 private:
  bool prints_;
};

double rate(std::size_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }

void narrate_times(const GenerateResult& result) {
  const char* const why = result.ending == "stop_token"     ? "the model ended its text"
                          : result.ending == "context_full" ? "the context is full"
                                                            : "as many as were asked for";
  narrate(fmt::format(
      "prompt: {} tokens in {:.2f} s ({:.0f} tokens/s); generated: {} in {:.2f} s ({:.1f} tokens/s), {}",
      grouped(static_cast<std::int64_t>(result.prompt_tokens.size())), result.prompt_seconds,
      rate(result.prompt_tokens.size(), result.prompt_seconds), grouped(static_cast<std::int64_t>(result.tokens.size())),
      result.generated_seconds, rate(result.tokens.size(), result.generated_seconds), why));
}

int run(RunWords& words) {
  GenerateRequest& request = words.request;
  files_of(request, words.overwrite, kGenerateSchema)
      .writes("--json", words.json, results_kind(kGenerateSchema))
      .check();
  if (request.prompt_file == "-" && !request.prompt) {
    request.prompt_file.clear();
    request.prompt = standard_input();
  }
  request.command = command_line();
  request.describe_model = !words.json.empty();
  cannot_resume(words.json.empty() ? "the text so far was printed; run has no --resume"
                                   : "the text so far is in the JSON; run has no --resume");
  TextListener listener(words.json != "-");
  const GenerateResult result = generate(request, listener);
  const bool interrupted = result.ending == "interrupted";
  if (words.json != "-" && !interrupted) print_stream("\n");
  if (!words.json.empty()) deliver(words.json, json_text(to_json(result)));
  if (interrupted) throw Interrupted{};
  if (!words.quiet) narrate_times(result);
  return kOk;
}

}  // namespace

Command add_run(CLI::App& program) {
  const auto words = std::make_shared<RunWords>();
  CLI::App* app = program.add_subcommand("run", "Continue a prompt with a model, under any normalizer");
  app->footer(kFooter);
  add_fields(*app, words->request);
  add_json_option(*app, words->json, kGenerateSchema, "Results");
  add_overwrite_option(*app, words->overwrite, "Results");
  app->add_flag("--quiet", words->quiet, "Leave out the line of times at the end")->group("Results");
  mark_common(*app, {"--json", "--quiet"});
  return {app, [words] { return run(*words); }};
}

}  // namespace sharpmax::cli
