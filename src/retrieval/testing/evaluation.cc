#include "retrieval/testing/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "attention/rows/call.h"
#include "base/threads.h"
#include "machine/blas.h"
#include "normalizer/definition.h"
#include "retrieval/testing/evaluation_block.h"
#include "retrieval/testing/streamed_set.h"
#include "sharpmax/error.h"

namespace sharpmax::retrieval {
namespace {

void check(const Head& head, const EvaluationRequest& request) {
  validate(RunSettings{.arms = {Arm{.training = head.training}},
                       .seeds = {head.seed},
                       .test = {.sizes = {request.n},
                                .normalizers = {request.normalizers.begin(), request.normalizers.end()}}});
  const auto wanted = static_cast<std::size_t>(head.layout().size());
  if (head.parameters.size() != wanted)
    throw Error(ErrorCode::bad_argument,
                fmt::format("retrieve: the head has {} parameters; its settings call for {}",
                            head.parameters.size(), wanted));
  if (request.sets < 1)
    throw Error(ErrorCode::bad_argument,
                fmt::format("retrieve: the number of test sets is {}; it must be 1 or more", request.sets));
}

std::vector<HeatMap> empty_heat_maps(const EvaluationRequest& request) {
  std::vector<HeatMap> maps;
  const std::int64_t sets = std::min(request.heat_map_sets, request.sets);
  const std::int64_t items = std::min(request.heat_map_items, request.n);
  if (sets <= 0 || items <= 0) return maps;
  for (const AnyNormalizer& normalizer : request.normalizers)
    maps.push_back({.normalizer = normalizer.text(),
                    .n = request.n,
                    .sets = sets,
                    .items = items,
                    .weights = std::vector<float>(static_cast<std::size_t>(sets * items))});
  return maps;
}

void add(Measurement& sum, const Measurement& part) {
  for (const auto count : {&Measurement::sets, &Measurement::right, &Measurement::ranked_first,
                           &Measurement::hard_right_rule_right, &Measurement::hard_right_rule_wrong,
                           &Measurement::hard_wrong_rule_right, &Measurement::hard_wrong_rule_wrong})
    sum.*count += part.*count;
  for (const auto total : {&Measurement::entropy, &Measurement::peak_weight, &Measurement::right_weight,
                           &Measurement::temperature, &Measurement::spread})
    sum.*total += part.*total;
  sum.largest_peak_weight = std::max(sum.largest_peak_weight, part.largest_peak_weight);
  sum.largest_spread = std::max(sum.largest_spread, part.largest_spread);
}

void divide_by_sets(Measurement& sum) {
  for (const auto total : {&Measurement::entropy, &Measurement::peak_weight, &Measurement::right_weight,
                           &Measurement::temperature, &Measurement::spread})
    sum.*total /= static_cast<double>(sum.sets);
}

// In the order of the blocks, whoever computed them.
void join(std::span<const BlockResult> blocks, const EvaluationRequest& request, Evaluation& evaluation) {
  for (std::size_t which = 0; which < request.normalizers.size(); ++which) {
    Measurement sum{.normalizer = request.normalizers[which].text(), .n = request.n};
    for (const BlockResult& block : blocks) add(sum, block.sums[which]);
    divide_by_sets(sum);
    evaluation.measurements.push_back(std::move(sum));
  }
  for (const BlockResult& block : blocks) evaluation.bound_violations += block.bound_violations;
}

}  // namespace

std::vector<double> scores_of_test_set(const Head& head, std::int64_t n, std::int64_t index) {
  const AnyNormalizer softmax = Softmax{};
  const EvaluationRequest request{.n = n, .sets = 1, .normalizers = {&softmax, 1}};
  check(head, request);
  choose_target();
  const SerialBlas serial;
  const EvaluationPlan plan(head, request);
  return BlockEvaluator(plan).scores_of(index);
}

namespace {

// Sets that are held: a block of them on each thread.
std::vector<BlockResult> test_held(const EvaluationPlan& plan, int threads, Evaluation& evaluation) {
  const EvaluationRequest& request = plan.request;
  const std::int64_t blocks = (request.sets + plan.block_sets - 1) / plan.block_sets;
  std::vector<BlockResult> results(static_cast<std::size_t>(blocks));
  std::vector<std::unique_ptr<BlockEvaluator>> evaluators(static_cast<std::size_t>(threads));
  std::mutex progress_mutex;
  std::int64_t sets_done = 0;
  parallel_for(threads, blocks, [&](std::int64_t block, int thread) {
    auto& evaluator = evaluators[static_cast<std::size_t>(thread)];
    if (!evaluator) evaluator = std::make_unique<BlockEvaluator>(plan);
    const std::int64_t first = block * plan.block_sets;
    const std::int64_t count = std::min(plan.block_sets, request.sets - first);
    results[static_cast<std::size_t>(block)] = evaluator->run(first, count, evaluation.heat_maps);
    if (!request.progress) return;
    const std::lock_guard lock(progress_mutex);
    sets_done += count;
    request.progress(static_cast<double>(sets_done));
  });
  return results;
}

// Sets that are not: one after the other, all threads and ranks at one of them.
std::vector<BlockResult> test_streamed(const EvaluationPlan& plan, int threads, Evaluation& evaluation) {
  const EvaluationRequest& request = plan.request;
  const std::unique_ptr<Group> alone = serial_group();
  StreamedEvaluator evaluator(plan, request.group ? *request.group : *alone, threads);
  std::vector<BlockResult> results;
  for (std::int64_t set = 0; set < request.sets; ++set) {
    const auto tell = [&](double share) {
      if (request.progress) request.progress(static_cast<double>(set) + share);
    };
    results.push_back(evaluator.run(set, evaluation.heat_maps, tell));
    tell(1.0);
  }
  return results;
}

// Rules that need the whole row in one place have it, as far as memory goes.
bool held(const EvaluationRequest& request) {
  constexpr std::int64_t kMostHeld = std::int64_t{1} << 28;
  if (request.n <= request.held_items) return true;
  if (request.n > kMostHeld) return false;
  return !std::all_of(request.normalizers.begin(), request.normalizers.end(),
                      [&](const AnyNormalizer& normalizer) { return can_be_split(normalizer, 0, request.n); });
}

}  // namespace

Evaluation evaluate(const Head& head, const EvaluationRequest& request, const Execution& execution) {
  check(head, request);
  choose_target();
  const int threads = threads_for(execution.threads);
  const SerialBlas serial;
  const EvaluationPlan plan(head, request);
  Evaluation evaluation{.heat_maps = empty_heat_maps(request)};
  join(held(request) ? test_held(plan, threads, evaluation) : test_streamed(plan, threads, evaluation),
       request, evaluation);
  return evaluation;
}

}  // namespace sharpmax::retrieval
