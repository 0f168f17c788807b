// `bound`: what no row of scores can do, given how far scores spread, or the weights of a model.
#include "sharpmax/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "cli/table.h"
#include "cli/verbs.h"
#include "sweep/shared_job.h"

namespace sharpmax::cli {
namespace {

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

bool any_of(const Given& given, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return given.contains(name); });
}

}  // namespace

const char* const BoundVerb::kSummary = "Bound how sharp attention can be, from scores or from a model";
const char* const BoundVerb::kFooter =
    "Paper A measured spreads of 5.69 on average in Gemma 2B, 14.78 at most.\n"
    "\n"
    "With a MODEL, the spread of every head is bounded from the weights, under\n"
    "softmax; --peak is then 0.5 unless it is given. With --directory DIR any number\n"
    "of processes share the heads: start them by srun, mpirun or torchrun, or by hand\n"
    "with --join.\n"
    "\n"
    "Examples:\n"
    "  sharpmax bound --spread 5.69 --n 16384 --normalizer all\n"
    "  sharpmax bound --spread 5.69 --n 128,8192,1e6 --peak 0.5 \\\n"
    "      --normalizer softmax --normalizer ssmax:s=0.4 -o bounds.html\n"
    "  sharpmax bound MODEL                 what the weights of a model prove";

ModelBoundRequest BoundVerb::model_request() const {
  ModelBoundRequest request = of_model;
  request.peak = spread.peak.value_or(request.peak);
  request.beta = spread.beta;
  request.file = spread.file;
  return request;
}

// A process that joins may take the model from the directory.
bool BoundVerb::is_of_model() const { return !of_model.model.model.empty() || of_model.sharing.join || status; }

void BoundVerb::check(const Given& given) const {
  if (status) return;
  if (!is_of_model()) {
    for (const char* const field : {"all", "rope_scaling", "rope_base", "threads", "directory", "resume"})
      if (given.contains(field)) refuse(fmt::format("{} goes with {}; none was given", named(field), named("model")));
    return check_pictures(files_of(spread, spread.file.overwrite, kBoundSchema), pictures);
  }
  if (any_of(given, {"spread", "n", "normalizer", "level"}))
    refuse(fmt::format("{}, {}, {} and {} do not go with {}: its spreads are found from the weights, under softmax",
                       named("spread"), named("n"), named("normalizer"), named("level"), named("model")));
  check_pictures(files_of(model_request(), spread.file.overwrite, kModelBoundSchema), pictures);
}

Outcome BoundVerb::run(const Caller& caller) {
  Outcome outcome;
  if (status) return status_outcome(status_of(model_request()));
  if (!is_of_model()) {
    spread.command = caller.command;
    const BoundResult result = bound(spread, caller.listener);
    outcome.results = to_json(result);
    outcome.text = shown_text(outcome.results, next_of(result));
  } else {
    ModelBoundRequest request = joined(model_request(), kName);
    request.command = caller.command;
    const ModelBoundResult result = bound_model(request, caller.listener);
    outcome.results = to_json(result);
    outcome.text = shown_text(outcome.results, next_of(request), all ? Rows::all : Rows::first);
  }
  write_report_files(pictures, {&outcome.results, 1}, caller.listener);
  return outcome;
}

}  // namespace sharpmax::cli
