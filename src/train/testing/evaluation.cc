#include "train/testing/evaluation.h"

#include <algorithm>

#include "base/numbers.h"
#include "normalizer/of_head.h"
#include "statistics/significance.h"

namespace sharpmax::train {
namespace {

// All models are tested on the same sequences.
constexpr std::uint64_t kTestSeed = 0x5ee1a5;
// Places that one batch of a test may have: its memory is some kilobytes for each.
constexpr std::int64_t kPlacesPerBatch = 1 << 14;

struct Counts {
  std::vector<HeadSums> heads;
  std::vector<bool> right, found;  // all answers, in order: see Answers

  void add(const Answers& answers);
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

void Counts::add(const Answers& answers) {
  right.insert(right.end(), answers.right.begin(), answers.right.end());
  found.insert(found.end(), answers.found.begin(), answers.found.end());
  train::add(heads, answers.heads);
}

// The rule with hard attention in one head that sees everything; `head` counts layer by layer.
TableRule with_hard_head(const TableRule& rule, const DecoderSettings& decoder, std::int64_t head) {
  TableRule changed = rule;
  const std::int64_t heads = decoder.global_heads();
  LayerRule& layer = changed[to_size(decoder.local_layers + head / heads)];
  if (layer.size() == 1) {
    const AnyNormalizer all = layer.front();
    layer.clear();
    for (std::int64_t h = 0; h < heads; ++h) layer.push_back(normalizer_of_head(all, h));
  }
  layer[to_size(head % heads)] = Hard{};
  return changed;
}

TrainMeasurement measured(const TestedRule& rule, const Counts& counts, const Counts& hard, std::int64_t n,
                          std::int64_t asked, const DecoderSettings& decoder) {
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
    m.binding += !hard_right && !right && hard.found[to_size(i)] ? 1 : 0;
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
    m.heads.push_back({.layer = decoder.local_layers + static_cast<std::int64_t>(i) / decoder.global_heads(),
                       .head = static_cast<std::int64_t>(i) % decoder.global_heads(),
                       .entropy = sums.entropy / questions,
                       .peak_weight = sums.peak_weight / questions,
                       .right_weight = sums.right_weight / static_cast<double>(sums.with_place),
                       .fixed = {}});
  }
  return m;
}

}  // namespace

std::int64_t answers_at(std::int64_t n, const TestSettings& settings) {
  if (settings.answers > 0) return settings.answers;
  return n <= 1024 ? 4096 : n <= 4096 ? 2048 : 1024;
}

TableRule rule_of_layers(std::span<const AnyNormalizer> normalizers) {
  TableRule layers;
  for (const AnyNormalizer& normalizer : normalizers) layers.push_back({normalizer});
  return layers;
}

std::vector<TrainMeasurement> evaluate(std::span<const float> parameters, const EvaluationRequest& request) {
  const DecoderSettings& decoder_of = request.decoder;
  const auto find = [&](auto wanted) {
    return to_size(std::find_if(request.rules.begin(), request.rules.end(), wanted) - request.rules.begin());
  };
  const std::size_t hard = find([](const TestedRule& rule) { return rule.text == "hard"; });
  const std::size_t own = find([](const TestedRule& rule) { return rule.own; });
  std::vector<TableRule> rules, by_head;
  for (const TestedRule& rule : request.rules) rules.push_back(rule.layers);
  if (hard == rules.size())
    rules.push_back(rule_of_layers(std::vector<AnyNormalizer>(to_size(decoder_of.layers), Hard{})));
  if (own < request.rules.size())
    for (std::int64_t h = 0; h < decoder_of.global_layers() * decoder_of.global_heads(); ++h)
      by_head.push_back(with_hard_head(request.rules[own].layers, decoder_of, h));
  const bool one_head = by_head.size() == 1;  // then hard attention has been asked already

  const std::vector<std::int64_t> places = request.task->places(request.size, Asking::test);
  const auto asked = static_cast<std::int64_t>(places.size()), length = places.back() + 1;
  const std::int64_t sequences =
      std::min((request.answers + asked - 1) / asked, request.task->sequences(request.size, Asking::test));
  const std::int64_t per_batch = std::clamp<std::int64_t>(kPlacesPerBatch / length, 1, sequences);
  Decoder<float> decoder(decoder_of, request.task->shape(), request.threads);
  std::vector<Counts> counts(rules.size()), counts_by_head(by_head.size());
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
    decoder.answer(parameters, rules, batch, Watch::heads,
                   [&](std::size_t rule, const Answers& answers) { counts[rule].add(answers); });
    if (!one_head && !by_head.empty())
      decoder.answer(parameters, by_head, batch, Watch::nothing,
                     [&](std::size_t head, const Answers& answers) { counts_by_head[head].add(answers); });
    if (request.progress)
      request.progress(static_cast<double>(first + count) / static_cast<double>(sequences));
  }
  if (one_head) counts_by_head.front() = counts[hard];
  std::vector<TrainMeasurement> all;
  for (std::size_t i = 0; i < request.rules.size(); ++i) {
    all.push_back(measured(request.rules[i], counts[i], counts[hard], request.size, asked, decoder_of));
    all.back().subtask = request.task->subtask();
  }
  for (std::size_t h = 0; h < by_head.size(); ++h) {
    std::int64_t fixed = 0;
    for (std::size_t i = 0; i < counts[own].right.size(); ++i)
      fixed += !counts[own].right[i] && counts_by_head[h].right[i] ? 1 : 0;
    all[own].heads[h].fixed = fixed;
  }
  return all;
}

}  // namespace sharpmax::train
