// `perplexity`: how well a model predicts a text, by how much of it the model has seen.
#include "sharpmax/perplexity.h"

#include <fmt/format.h>

#include "cli/table.h"
#include "cli/verbs.h"

namespace sharpmax::cli {
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

const char* const PerplexityVerb::kSummary = "Loss of a model on a text, by position";
const char* const PerplexityVerb::kFooter =
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

void PerplexityVerb::check(const Given&) const {
  check_pictures(files_of(request, request.saving.overwrite, kPerplexitySchema), pictures);
}

Outcome PerplexityVerb::run(const Caller& caller) {
  request.command = caller.command;
  const PerplexityResult result = perplexity(request, caller.listener);
  Json results = to_json(result);
  write_report_files(pictures, {&results, 1}, caller.listener);
  return {results, shown_text(results, next_of(result, request))};
}

}  // namespace sharpmax::cli
