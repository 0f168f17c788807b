// `sharpmax perplexity`: how well a model predicts a text, by how much of it it has seen.
#include "sharpmax/perplexity.h"

#include "cli/door.h"
#include "cli/fields.h"

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
  deliver(delivery, to_json(result));
  return kOk;
}

}  // namespace

Command add_perplexity(CLI::App& program) {
  const auto words = std::make_shared<Words>();
  CLI::App* app = program.add_subcommand("perplexity", "A model's loss on a text, by position");
  app->footer(kFooter);
  add_fields(*app, words->request);
  add_fields(*app, words->pictures);
  return {app, [words] { return run(*words); }};
}

}  // namespace sharpmax::cli
