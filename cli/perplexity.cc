// `sharpmax perplexity`: how well a model predicts a text, by how much of it it has seen.
#include "cli/perplexity.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/outputs.h"
#include "cli/table.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "The text is cut into chunks of --length tokens, each read from an empty cache.\n"
    "With --json FILE every finished chunk is saved immediately; after an interrupt\n"
    "or a kill, --resume goes on from there to the same answer.\n"
    "\n"
    "Examples:\n"
    "  sharpmax perplexity SmolLM2.gguf --text book.txt --length 2048 --tokens 8192\n"
    "  sharpmax perplexity SmolLM2.gguf --text book.txt --normalizer adaptive \\\n"
    "      -o losses.html\n"
    "  sharpmax perplexity SmolLM2.gguf --text book.txt --context 12288 \\\n"
    "      --rope-scaling ntk:1.5 --json ntk.json --resume";

using Clock = std::chrono::steady_clock;

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::bad_argument, sentence); }

std::int64_t length_of(const model::Model& model, const PerplexityOptions& o, std::size_t tokens) {
  const std::int64_t context = context_of(model, o.model);
  const std::int64_t begin = tokens_before_text(model);
  if (o.length && *o.length + begin > context)
    throw Limit(fmt::format("--length {}: the context has room for {} tokens; --context makes it larger",
                            *o.length, context - begin));
  return std::min(o.length.value_or(context - begin), static_cast<std::int64_t>(tokens));
}

std::string progress_sentence(std::int64_t done, std::int64_t total, double seconds) {
  const double per_second = static_cast<double>(done) / std::max(seconds, 1e-9);
  return fmt::format("{} of {} tokens ({:.0f} %), {:.0f} tokens/s, {} left", grouped(done), grouped(total),
                     100.0 * static_cast<double>(done) / static_cast<double>(total), per_second,
                     duration(static_cast<double>(total - done) / std::max(per_second, 1e-9)));
}

void save(const PerplexityOptions& o, const Json& results) {
  if (!o.json.empty() && o.json != "-") write_text(o.json, results.dump(1) + "\n");
}

PerplexityRun prepare(const model::Model& model, const PerplexityOptions& o,
                      std::span<const model::Token> text, std::int64_t length) {
  PerplexityRun run;
  const auto tokens = static_cast<std::int64_t>(text.size());
  run.tokens = tokens;
  run.wanted_chunks = (tokens + length - 1) / length;
  // A chunk of one token predicts nothing.
  if (tokens % length == 1 && run.wanted_chunks > 1) --run.wanted_chunks;
  run.settings = {{"model", model_json(model, o.model)},
                  {"text", o.text.text},
                  {"tokens", tokens},
                  {"fingerprint", fmt::format("{:016x}", fingerprint_of(text))},
                  {"length", length},
                  {"special", o.text.special}};
  if (o.resume && std::filesystem::exists(o.json)) run.chunks = chunks_in(o.json, run);
  return run;
}

void check_files(const PerplexityOptions& o) {
  CallFiles call(o.overwrite);
  call.reads_model(o.model.model).reads("--text", o.text.text).reads("--normalizers", o.model.normalizers);
  call.writes("--json", o.json, results_kind(kPerplexitySchema));
  declare_report_files(call, o.report);
  call.check();
  check_report_files(o.report);
}

// Before the work: what an interrupt will say, and where a resumed run goes on.
void tell_resumption(const PerplexityOptions& o, const PerplexityRun& run) {
  if (o.json.empty() || o.json == "-")
    return cannot_resume(
        "nothing was saved; with --json FILE finished chunks are saved, and --resume goes on");
  can_resume("finished chunks are saved");
  if (o.resume)
    narrate(fmt::format("resuming: {} of {} chunks are measured", run.chunks.size(), run.wanted_chunks));
}

int measure(const PerplexityOptions& o) {
  if (o.resume && (o.json.empty() || o.json == "-")) refuse("--resume goes with --json FILE");
  check_files(o);
  const model::Model model = open_model(o.model);
  const std::vector<model::Token> tokens = tokens_of(model, o.text, 2);
  const std::int64_t length = length_of(model, o, tokens.size()),
                     count = static_cast<std::int64_t>(tokens.size());
  PerplexityRun run = prepare(model, o, tokens, length);
  const auto session = open_session(model, o.model, length);  // the last token is not read
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  tell_resumption(o, run);
  save(o, to_json(run, 0));  // a file that cannot be written is known now, not after the work
  Progress progress(Progress::Elsewhere::lines);
  const std::int64_t before = static_cast<std::int64_t>(run.chunks.size()) * length;
  for (auto at = static_cast<std::int64_t>(run.chunks.size()); at < run.wanted_chunks; ++at) {
    const std::int64_t first = at * length, part = std::min(length, count - first);
    const auto chunk = with_beginning(
        model, std::span(tokens).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(part)));
    run.chunks.push_back(model::chunk_losses(*session, chunk, first, [&](std::int64_t done) {
      if (done % 32 == 0) progress.show(progress_sentence(first - before + done, count - before, seconds()));
    }));
    save(o, to_json(run, seconds()));
  }
  progress.show("");
  const Json results = to_json(run, seconds());
  save(o, results);
  write_report_files(o.report, results);
  hand_over([&] { return results; });
  if (o.json == "-") {
    print(results.dump(1) + "\n");
  } else {
    print(report_of(run, colour_wanted()));
  }
  return kOk;
}

}  // namespace

Command add_perplexity(CLI::App& program) {
  auto options = std::make_shared<PerplexityOptions>();
  PerplexityOptions& o = *options;
  CLI::App* words = program.add_subcommand("perplexity", "A model's loss on a text, by position");
  words->footer(kFooter);
  add_model_options(*words, o.model);
  add_text_options(*words, o.text);
  words->add_option("--length", o.length, "Tokens of a chunk (default: the context)")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 30))
      ->group("Text");
  add_json_option(*words, o.json, kPerplexitySchema, "Results");
  add_report_files(*words, o.report);
  add_overwrite_option(*words, o.overwrite, "Results");
  words->add_flag("--resume", o.resume, "Go on from what is in the file of --json")->group("Results");
  return {words, [options] { return measure(*options); }};
}

}  // namespace sharpmax::cli
