// `sharpmax bound`: what no row of scores can do, given how far scores spread, or the weights of a model.
#include "sharpmax/bound.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/door.h"
#include "cli/fields.h"
#include "cli/table.h"

namespace sharpmax::cli {

// bound_report.cc
std::string text_of(const BoundResult& result, bool colour);
std::string text_of(const ModelBoundResult& result, bool every_head, bool colour);

namespace {

constexpr const char* kFooter =
    "Paper A measured spreads of 5.69 on average in Gemma 2B, 14.78 at most.\n"
    "\n"
    "With a MODEL, the spread of every head is bounded from the weights, under\n"
    "softmax; --peak is then 0.5 unless it is given.\n"
    "\n"
    "Examples:\n"
    "  sharpmax bound --spread 5.69 --n 16384 --normalizer all\n"
    "  sharpmax bound --spread 5.69 --n 128,8192,1e6 --peak 0.5 \\\n"
    "      --normalizer softmax --normalizer ssmax:s=0.4 -o bounds.html\n"
    "  sharpmax bound MODEL                 what the weights of a model prove";

// Options of a bound of a model that a bound of a spread does not have.
struct ModelWords {
  ModelBoundRequest request;
  bool all = false;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    ModelBoundRequest::each_model_field(self.request, visit);
    visit({"all", "", "Results", "Show every head of the model (default: the surest, and one line per layer)"}, self.all);
  }
};

struct Words {
  BoundRequest spread;
  ModelWords model;
  Pictures pictures;
};

std::string next_of(const BoundResult& result) {
  const SoftmaxBound& most = result.softmax.back();
  constexpr double kWritableOut = 1e15;
  const std::string keys = most.n < kWritableOut ? grouped(std::llround(most.n)) : fmt::format("{:.4g}", most.n);
  return closing(fmt::format("In short: under softmax no key among {} can have more than {} of the weight.", keys,
                             short_number(most.tight.high)),
                 "To see what the weights of a model prove", "bound MODEL");
}

std::string next_of(const ModelBoundRequest& request) {
  return closing("", "To see what its heads do on a text",
                 "audit " + quoted_word(request.model.model) + " --text FILE");
}

[[noreturn]] void refuse(const std::string& sentence) { throw RequestError(ErrorCode::bad_argument, sentence); }

int run_model(Words& words) {
  const BoundRequest& given = words.spread;
  if (given.spread || given.level || given.n != BoundRequest{}.n || !given.normalizer.empty())
    refuse(fmt::format("{}, {}, {} and {} do not go with {}: its spreads are found from the weights, under softmax",
                       named("spread"), named("n"), named("normalizer"), named("level"), named("model")));
  ModelBoundRequest& request = words.model.request;
  request.peak = given.peak.value_or(request.peak);
  request.beta = given.beta;
  request.file = given.file;
  const Delivery delivery{takes_standard_output(request.file.json), words.pictures.files};
  check_pictures(files_of(request, request.file.overwrite, kModelBoundSchema), delivery.pictures);
  request.command = command_line();
  ConsoleListener listener;
  const ModelBoundResult result = bound_model(request, listener);
  deliver(delivery, to_json(result), [&] { return text_of(result, words.model.all, colour_wanted()) + next_of(request); });
  return kOk;
}

int run(Words& words) {
  const ModelRequest& model = words.model.request.model;
  if (!model.model.empty()) return run_model(words);
  if (words.model.all || model.threads > 0 || !model.rope_scaling.empty() || model.rope_base)
    refuse(fmt::format("{}, {}, {} and {} go with {}; none was given", named("all"), named("rope_scaling"),
                       named("rope_base"), named("threads"), named("model")));
  BoundRequest& request = words.spread;
  const Delivery delivery{takes_standard_output(request.file.json), words.pictures.files};
  check_pictures(files_of(request, request.file.overwrite, kBoundSchema), delivery.pictures);
  request.command = command_line();
  ConsoleListener listener;
  const BoundResult result = bound(request, listener);
  deliver(delivery, to_json(result), [&] { return text_of(result, colour_wanted()) + next_of(result); });
  return kOk;
}

}  // namespace

Command add_bound(CLI::App& program) {
  const auto words = std::make_shared<Words>();
  CLI::App* app = program.add_subcommand("bound", "How sharp attention can be at all (bounds)");
  app->footer(kFooter);
  add_fields(*app, words->spread);
  add_fields(*app, words->model);
  add_fields(*app, words->pictures);
  return {app, [words] { return run(*words); }};
}

}  // namespace sharpmax::cli
