// `sharpmax perplexity`: how well a model predicts a text, by how much of it it has seen.
#include "cli/perplexity.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "base/text_file.h"
#include "cli/command.h"
#include "cli/table.h"
#include "sharpmax/error.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "The text is cut into chunks of --length tokens, each read from an empty cache.\n"
    "With --json FILE every finished chunk is saved at once, and --resume goes on\n"
    "from there to the same answer.\n"
    "\n"
    "Examples:\n"
    "  sharpmax perplexity SmolLM2.gguf --text book.txt --length 2048 --tokens 8192\n"
    "  sharpmax perplexity SmolLM2.gguf --text book.txt --normalizer adaptive\n"
    "  sharpmax perplexity SmolLM2.gguf --text book.txt --context 12288 \\\n"
    "      --rope-scaling ntk:1.5 --json ntk.json --resume";

using Clock = std::chrono::steady_clock;

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::bad_argument, sentence); }

std::vector<model::Token> tokens_of(const model::Model& model, const PerplexityOptions& o) {
  if (o.text.empty()) refuse("no text was given; --text FILE was wanted");
  const std::string text =
      o.text == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : read_text(o.text);
  const auto special = o.special ? model::SpecialText::as_tokens : model::SpecialText::as_text;
  std::vector<model::Token> tokens = model.tokenizer().encode(text, special);
  if (o.tokens) tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(*o.tokens)));
  if (tokens.size() < 2) refuse(fmt::format("the text has {} tokens; at least 2 were wanted", tokens.size()));
  return tokens;
}

// Each chunk begins with the token that the model expects before a text.
std::vector<model::Token> chunk_of(const model::Model& model, std::span<const model::Token> part) {
  std::vector<model::Token> chunk;
  const auto& ends = model.tokenizer().ends();
  if (ends.add_begin && ends.begin) chunk.push_back(*ends.begin);
  chunk.insert(chunk.end(), part.begin(), part.end());
  return chunk;
}

std::int64_t length_of(const model::Model& model, const PerplexityOptions& o, std::size_t tokens) {
  const std::int64_t context = context_of(model, o.model);
  const std::int64_t begin = model.tokenizer().ends().add_begin ? 1 : 0;
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

void save(const PerplexityOptions& o, const PerplexityRun& run, double seconds) {
  if (!o.json.empty() && o.json != "-") write_text(o.json, to_json(run, seconds).dump(1) + "\n");
}

// That a resumed run reads the same text: FNV-1a over the tokens.
std::string fingerprint(std::span<const model::Token> tokens) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const model::Token token : tokens) hash = (hash ^ static_cast<std::uint32_t>(token)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

PerplexityRun prepare(const model::Model& model, const PerplexityOptions& o,
                      std::span<const model::Token> text, std::int64_t length) {
  PerplexityRun run;
  const auto tokens = static_cast<std::int64_t>(text.size());
  run.tokens = tokens;
  run.wanted_chunks = (tokens + length - 1) / length;
  // A chunk of one token predicts nothing.
  if (tokens % length == 1 && run.wanted_chunks > 1) --run.wanted_chunks;
  run.settings = {{"model", model_json(model, o.model)}, {"text", o.text},   {"tokens", tokens},
                  {"fingerprint", fingerprint(text)},    {"length", length}, {"special", o.special}};
  if (o.resume && o.json.empty()) refuse("--resume goes with --json FILE");
  if (o.resume && std::filesystem::exists(o.json)) run.chunks = chunks_in(read_text(o.json), o.json, run);
  return run;
}

int measure(const PerplexityOptions& o) {
  const model::Model model = open_model(o.model);
  const std::vector<model::Token> tokens = tokens_of(model, o);
  const std::int64_t length = length_of(model, o, tokens.size()),
                     count = static_cast<std::int64_t>(tokens.size());
  PerplexityRun run = prepare(model, o, tokens, length);
  const auto session = open_session(model, o.model, length);  // the last token is not read
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  save(o, run, 0);  // a file that cannot be written is known now, not after the work
  Progress progress(Progress::Elsewhere::lines);
  const std::int64_t before = static_cast<std::int64_t>(run.chunks.size()) * length;
  for (auto at = static_cast<std::int64_t>(run.chunks.size()); at < run.wanted_chunks; ++at) {
    const std::int64_t first = at * length, part = std::min(length, count - first);
    const auto chunk = chunk_of(
        model, std::span(tokens).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(part)));
    run.chunks.push_back(model::chunk_losses(*session, chunk, first, [&](std::int64_t done) {
      if (done % 32 == 0) progress.show(progress_sentence(first - before + done, count - before, seconds()));
    }));
    save(o, run, seconds());
  }
  progress.show("");
  if (o.json == "-") {
    print(to_json(run, seconds()).dump(1) + "\n");
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
  constexpr const char* kText = "Text";
  words->add_option("--text", o.text, "The text; -: standard input")->option_text("FILE")->group(kText);
  words->add_option("--length", o.length, "Tokens of a chunk (default: the context)")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 30))
      ->group(kText);
  words->add_option("--tokens", o.tokens, "Read only so many of the text (default: all)")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 40))
      ->group(kText);
  words->add_flag("--special", o.special, "Read <|special|> words in the text as the tokens that they name")
      ->group(kText);
  words->add_option("--json", o.json, "Write the results, schema sharpmax.perplexity/1; -: standard output")
      ->option_text("FILE")
      ->group("Results");
  words->add_flag("--resume", o.resume, "Go on from what is in the file of --json")->group("Results");
  return {words, [options] { return measure(*options); }};
}

}  // namespace sharpmax::cli
