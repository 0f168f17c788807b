#include "train/testing/evaluation.h"

#include <algorithm>

#include "base/numbers.h"
#include "statistics/significance.h"

namespace sharpmax::train {
namespace {

// All models are tested on the same sequences.
constexpr std::uint64_t kTestSeed = 0x5ee1a5;
// Places that one batch of a test may have: its memory is some kilobytes for each.
constexpr std::int64_t kPlacesPerBatch = 1 << 14;

struct Counts {
  std::vector<HeadSums> heads;
  std::vector<bool> right;  // all answers, in order
};

void add(std::vector<HeadSums>& sums, const std::vector<HeadSums>& more) {
  sums.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) {
    sums[i].entropy += more[i].entropy;
    sums[i].peak_weight += more[i].peak_weight;
    sums[i].right_weight += more[i].right_weight;
    sums[i].questions += more[i].questions;
    sums[i].with_place += more[i].with_place;
  }
}

TrainMeasurement measured(const TestedRule& rule, const Counts& counts, const Counts& hard, std::int64_t n,
                          std::int64_t asked, std::int64_t global_heads) {
  TrainMeasurement m{.normalizer = rule.text, .own = rule.own, .n = n};
  m.answers = static_cast<std::int64_t>(counts.right.size());
  m.sequences = m.answers / asked;
  std::int64_t exact = 0;
  for (std::int64_t i = 0; i < m.answers; ++i) {
    const bool right = counts.right[to_size(i)], hard_right = hard.right[to_size(i)];
    m.right += right ? 1 : 0;
    (hard_right ? right ? m.hard_right_rule_right : m.hard_right_rule_wrong
     : right    ? m.hard_wrong_rule_right
                : m.hard_wrong_rule_wrong) += 1;
  }
  for (std::int64_t s = 0; s < m.sequences; ++s) {
    const auto begin = counts.right.begin() + s * asked;
    exact += std::all_of(begin, begin + asked, [](bool right) { return right; }) ? 1 : 0;
  }
  m.accuracy = static_cast<double>(m.right) / static_cast<double>(m.answers);
  const Interval interval = share_interval(m.right, m.answers);
  m.accuracy_low = interval.low;
  m.accuracy_high = interval.high;
  m.exact = static_cast<double>(exact) / static_cast<double>(m.sequences);
  for (std::size_t i = 0; i < counts.heads.size(); ++i) {
    const HeadSums& sums = counts.heads[i];
    const auto questions = static_cast<double>(sums.questions);
    m.heads.push_back({.layer = static_cast<std::int64_t>(i) / global_heads,
                       .head = static_cast<std::int64_t>(i) % global_heads,
                       .entropy = sums.entropy / questions,
                       .peak_weight = sums.peak_weight / questions,
                       .right_weight = sums.right_weight / static_cast<double>(sums.with_place)});
  }
  return m;
}

}  // namespace

std::int64_t answers_at(std::int64_t n, const TestSettings& settings) {
  if (settings.answers > 0) return settings.answers;
  return n <= 1024 ? 4096 : n <= 4096 ? 2048 : 1024;
}

std::vector<TrainMeasurement> evaluate(std::span<const float> parameters, const EvaluationRequest& request) {
  const auto hard = std::find_if(request.rules.begin(), request.rules.end(),
                                 [](const TestedRule& rule) { return rule.text == "hard"; });
  std::vector<Decoder<float>::Rule> rules;
  for (const TestedRule& rule : request.rules) rules.push_back(rule.layers);
  const auto hard_at = static_cast<std::size_t>(hard - request.rules.begin());
  if (hard == request.rules.end()) rules.emplace_back(to_size(request.decoder.layers), AnyNormalizer(Hard{}));

  const std::vector<std::int64_t> places = request.task->places(request.size, Asking::test);
  const auto asked = static_cast<std::int64_t>(places.size()), length = places.back() + 1;
  const std::int64_t sequences =
      std::min((request.answers + asked - 1) / asked, request.task->sequences(request.size, Asking::test));
  const std::int64_t per_batch = std::clamp<std::int64_t>(kPlacesPerBatch / length, 1, sequences);
  Decoder<float> decoder(request.decoder, request.task->shape(), request.threads);
  std::vector<Counts> counts(rules.size());
  Batch batch;
  for (std::int64_t first = 0; first < sequences; first += per_batch) {
    const std::int64_t count = std::min(per_batch, sequences - first);
    draw_batch(*request.task,
               {.seed = kTestSeed,
                .purpose = Purpose::test,
                .step = request.size,
                .first = first,
                .count = count,
                .size = request.size},
               batch);
    decoder.answer(parameters, rules, batch, [&](std::size_t rule, const Answers& answers) {
      counts[rule].right.insert(counts[rule].right.end(), answers.right.begin(), answers.right.end());
      add(counts[rule].heads, answers.heads);
    });
    if (request.progress)
      request.progress(static_cast<double>(first + count) / static_cast<double>(sequences));
  }
  std::vector<TrainMeasurement> all;
  for (std::size_t i = 0; i < request.rules.size(); ++i)
    all.push_back(measured(request.rules[i], counts[i], counts[hard_at], request.size, asked,
                           std::max<std::int64_t>(request.decoder.global_heads(), 1)));
  return all;
}

}  // namespace sharpmax::train
