// Verbs of one model: `inspect`, what a file holds, whether it runs here, and whether its weights are numbers; `run`, a
// prompt continued as it comes; `perplexity`, how well a text is predicted, by how much of it the model has seen;
// `tokenize`, a text as the tokens of a model, or tokens as text.
#include <fmt/format.h>

#include "cli/console.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "storage/files.h"
#include "sweep/shared_job.h"

namespace sharpmax::cli {
namespace {

std::string next_of(const InspectResult& result, const InspectRequest& request) {
  const std::string model = quoted_word(request.model.model);
  if (!result.architecture.runs_here) return closing("In short: it does not run here.", "To see its tensors", "inspect " + model + " --tensors");
  return closing("In short: it runs here.", "To see which heads go blunt as a text grows", "audit " + model + " --text FILE");
}

}  // namespace

const char* const InspectVerb::kSummary =
    "Show what a model file holds, and whether it runs here. Reports architecture, shape, tokenizer, types, tensors and "
    "metadata.";
const char* const InspectVerb::kFooter =
    "MODEL is a GGUF file, a .safetensors file, the index of its shards, or a folder\n"
    "as Hugging Face saves it. Files are recognized by their contents; pickles\n"
    "(.bin, .pt) are never read.\n"
    "\n"
    "Examples:\n"
    "  sharpmax inspect model.gguf\n"
    "  sharpmax inspect my-model/ --tensors\n"
    "  sharpmax inspect model.gguf --check     exit 1 if a weight is NaN or infinite\n"
    "  sharpmax inspect model.gguf --json - | jq .shape\n"
    "  sharpmax inspect model.gguf -o model.html";

void InspectVerb::check(const Given&) const {
  check_pictures(
      files_of(request, file.overwrite, kInspectSchema).writes(named("json"), file.json, results_kind(kInspectSchema)),
      pictures);
}

Outcome InspectVerb::run(const Caller& caller) {
  const InspectResult result = inspect(request, caller.listener);
  Outcome outcome{.results = to_json(result), .ok = !result.check || result.check->bad.empty(), .written = json_text};
  if (!file.json.empty()) write_text(file.json, outcome.written(outcome.results));
  write_report_files(pictures, {&outcome.results, 1}, caller.listener);
  outcome.text = shown_text(outcome.results, next_of(result, request), tensors ? Rows::all : Rows::first);
  return outcome;
}

namespace {

double rate(std::size_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }

std::string times_of(const GenerateAnswer& result) {
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

const char* const RunVerb::kSummary = "Continue prompts with a model, under any normalizer";
const char* const RunVerb::kFooter =
    "Text goes to standard output as it is generated, the rest to standard error.\n"
    "\n"
    "Examples:\n"
    "  sharpmax run SmolLM2.gguf --prompt \"The capital of France is\" --tokens 20\n"
    "  sharpmax run SmolLM2.gguf --chat --prompt \"Why is the sky blue?\" \\\n"
    "      --temperature 0.7 --top-p 0.9 --seed 1\n"
    "  sharpmax run SmolLM2.gguf --prompt-file a.txt --normalizer softmax:beta=1.2\n"
    "  sharpmax run SmolLM2.gguf --prompt \"One\" --prompt \"Two\" --json answers.json";

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
  std::vector<GenerateAnswer> answers = {result};
  if (result.further) answers.insert(answers.end(), result.further->begin(), result.further->end());
  const bool interrupted = answers.back().ending == "interrupted";
  if (caller.streams_text && !interrupted) caller.listener.on_text("\n");
  Outcome outcome{.results = keeps ? to_json(result) : Json(), .interrupted = interrupted, .written = json_text};
  if (!file.json.empty()) write_text(file.json, outcome.written(outcome.results));
  if (!quiet && !interrupted)
    for (const GenerateAnswer& answer : answers) caller.listener.narrate(times_of(answer));
  std::string text;
  if (!caller.streams_text)
    for (const GenerateAnswer& answer : answers) text += (&answer == answers.data() ? "" : "\n") + answer.text;
  outcome.text = [text](bool) { return text; };
  return outcome;
}

namespace {

std::string next_of(const PerplexityResult& result, const PerplexityRequest& request) {
  const std::vector<PositionBucket> buckets = buckets_of(result.chunks);
  std::string answer;
  if (buckets.size() > 1) {
    const PositionBucket &last = buckets.back(), &before = buckets[buckets.size() - 2];
    answer = fmt::format("In short: the loss of tokens {}-{} is {} that of tokens {}-{}.", last.from, last.to,
                         last.high < before.low   ? "below"
                         : last.low > before.high ? "above"
                                                  : "not shown to differ from",
                         before.from, before.to);
  }
  return closing(answer, "To see which heads go blunt as the text grows",
                 fmt::format("audit {} --text {}", quoted_word(request.model.model), text_word(request.text)));
}

}  // namespace

const char* const PerplexityVerb::kSummary = "Measure the loss of a model on a text, by position";
const char* const PerplexityVerb::kFooter =
    "The text is cut into chunks of --length tokens, each read from an empty cache.\n"
    "With --json FILE every finished chunk is saved immediately; after an interrupt\n"
    "or a kill, --resume goes on from there to the same answer. With --directory DIR\n"
    "any number of processes share the chunks: start them by srun, mpirun or\n"
    "torchrun, or by hand with --join.\n"
    "\n"
    "Examples:\n"
    "  sharpmax perplexity SmolLM2.gguf --text book.txt --length 2048 --tokens 8192\n"
    "  sharpmax perplexity SmolLM2.gguf --text book.txt --normalizer adaptive \\\n"
    "      -o losses.html\n"
    "  sharpmax perplexity SmolLM2.gguf --text book.txt --context 12288 \\\n"
    "      --rope-scaling ntk:1.5 --json ntk.json --resume\n"
    "  srun -n 8 sharpmax perplexity SmolLM2.gguf --text book.txt --directory run";

void PerplexityVerb::check(const Given&) const {
  if (status) return;
  check_pictures(files_of(request, request.saving.overwrite, kPerplexitySchema), pictures);
}

Outcome PerplexityVerb::run(const Caller& caller) {
  request.command = caller.command;
  if (status) return status_outcome(status_of(request));
  request = joined(request, kName);
  const PerplexityResult result = perplexity(request, caller.listener);
  Json results = to_json(result);
  write_report_files(pictures, {&results, 1}, caller.listener);
  return {results, shown_text(results, next_of(result, request))};
}

namespace {

constexpr std::size_t kShown = 40;

std::string table_of(const TokenizeResult& result, bool all, bool colour) {
  const std::size_t shown = all ? result.tokens.size() : std::min(result.tokens.size(), kShown);
  Table table({Align::right, Align::left, Align::left});
  table.add({{"token", Ink::dim}, {"text", Ink::dim}, {"in the vocabulary", Ink::dim}});
  for (std::size_t i = 0; i < shown; ++i) {
    const TokenPiece& piece = result.tokens[i];
    table.add({{std::to_string(piece.token)}, {piece.text.empty() ? "-" : Json(piece.text).dump()}, {Json(piece.spelling).dump()}});
  }
  std::string text = table.text(colour);
  if (shown < result.tokens.size())
    text += fmt::format("... and {} more; {} prints them\n", grouped(static_cast<std::int64_t>(result.tokens.size() - shown)),
                        "--all");
  return text;
}

std::string sum_of(const TokenizeResult& result) {
  const auto tokens = static_cast<std::int64_t>(result.tokens.size());
  const double each = tokens > 0 ? static_cast<double>(result.text.size()) / static_cast<double>(tokens) : 0;
  return wrapped(fmt::format("{} tokens for {} bytes, {:.2f} bytes per token; {}. Tokenizer: {}.", grouped(tokens),
                             grouped(static_cast<std::int64_t>(result.text.size())), each,
                             result.comes_back ? "the tokens give the text back" : "the tokens do not give the text back exactly",
                             result.tokenizer)) +
         "\n";
}

}  // namespace

const char* const TokenizeVerb::kSummary = "Split a text into the tokens of a model, or turn tokens back into text";
const char* const TokenizeVerb::kFooter =
    "The model need not run here: its tokenizer is all that is read.\n"
    "\n"
    "Examples:\n"
    "  sharpmax tokenize model.gguf --text-string \"Hello world\"\n"
    "  sharpmax tokenize model.gguf --text book.txt --json - | jq '.tokens | length'\n"
    "  sharpmax tokenize model.gguf --decode 19556,905\n"
    "  sharpmax tokenize model.gguf --chat --text-string \"Why is the sky blue?\"";

void TokenizeVerb::check(const Given&) const {
  files_of(request, file.overwrite, kTokenizeSchema)
      .writes(named("json"), file.json, results_kind(kTokenizeSchema))
      .check();
}

Outcome TokenizeVerb::run(const Caller& caller) {
  request.command = caller.command;
  const TokenizeResult result = tokenize(request, caller.listener);
  Outcome outcome{.results = to_json(result), .written = json_text};
  if (!file.json.empty()) write_text(file.json, outcome.written(outcome.results));
  outcome.text = [result, every = all](bool colour) {
    return result.decoded ? result.text + "\n" : table_of(result, every, colour) + sum_of(result);
  };
  return outcome;
}

}  // namespace sharpmax::cli
