// `sharpmax perplexity`: how well a model predicts a text, by how much of it it has seen.
#include "sharpmax/perplexity.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/door.h"
#include "cli/fields.h"
#include "cli/table.h"

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

std::vector<Cell> row_of(const PositionBucket& b, const std::string& label, Ink ink) {
  const std::string interval = std::isnan(b.low) ? "" : fmt::format("{:.3f} to {:.3f}", b.low, b.high);
  return {{label, ink},
          {grouped(b.tokens), ink},
          {fmt::format("{:.4f}", b.loss), ink},
          {interval, ink},
          {fmt::format("{:.2f}", std::exp(b.loss)), ink}};
}

std::string text_of(const PerplexityResult& result, bool colour) {
  Table table({Align::right, Align::right, Align::right, Align::left, Align::right}, 3);
  table.add({{"tokens before", Ink::bold},
             {"tokens", Ink::bold},
             {"loss", Ink::bold},
             {"95 %", Ink::bold},
             {"perplexity", Ink::bold}});
  for (const PositionBucket& bucket : buckets_of(result.chunks))
    table.add(row_of(bucket, fmt::format("{}-{}", bucket.from, bucket.to), Ink::plain));
  table.add(row_of(bucket_of_all(result.chunks), "all", Ink::bold));
  return table.text(colour) + fmt::format("\nloss in nats per token; the model put {:.1f} % of the tokens first\n",
                                          100.0 * result.likeliest_right());
}

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
                 fmt::format("audit {} --text {}", quoted_word(request.model.model), quoted_word(request.text.text)));
}

struct Words {
  PerplexityRequest request;
  Pictures pictures;
};

int run(Words& words) {
  PerplexityRequest& request = words.request;
  const Delivery delivery{takes_standard_output(request.saving.json), words.pictures.files};
  check_pictures(files_of(request, request.saving.overwrite, kPerplexitySchema), delivery.pictures);
  read_standard_input(request.text);
  request.command = command_line();
  ConsoleListener listener;
  const PerplexityResult result = perplexity(request, listener);
  deliver(delivery, to_json(result), [&] { return text_of(result, colour_wanted()) + next_of(result, request); });
  return kOk;
}

}  // namespace

Command add_perplexity(CLI::App& program) {
  const auto words = std::make_shared<Words>();
  CLI::App* app = program.add_subcommand("perplexity", "Loss of a model on a text, by position");
  app->footer(kFooter);
  add_fields(*app, words->request);
  add_fields(*app, words->pictures);
  return {app, [words] { return run(*words); }};
}

}  // namespace sharpmax::cli
