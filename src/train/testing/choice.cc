#include <algorithm>
#include <map>

#include "base/numbers.h"
#include "normalizer/of_head.h"
#include "sharpmax/attention.h"
#include "train/testing/evaluation.h"

namespace sharpmax::train {
namespace {

// Sequences to choose by, which no training and no test has.
constexpr std::uint64_t kChoiceSeed = 0xc401ce;
constexpr std::int64_t kChoiceAnswers = 512;  // per size and subtask, at least
constexpr std::int64_t kChoiceRounds = 3;     // over all heads, at most
// A head's normalizer is changed if the cost falls by more than this share of itself: rounding does not choose.
constexpr double kFall = 1e-3;

// What the loss must fall by for a normalizer that does not hold its peak, if all heads have one. Sizes to choose by are
// small, and there such a normalizer looks as good as any.
constexpr double kForFallingPeak = 0.05;

// Whether a key 8 nats ahead of 65,535 others keeps most of the weight.
bool holds_peak(const AnyNormalizer& normalizer) {
  constexpr std::int64_t kKeys = 1 << 16;
  std::vector<double> scores(to_size(kKeys), 0.0), weights(scores.size());
  scores[0] = 8.0;
  normalize(std::span<const double>(scores), normalizer, std::span<double>(weights));
  return weights[0] > 0.5;
}

struct Outcome {
  double loss = 0.0, accuracy = 0.0;  // means over subtasks and sizes
  double cost = 0.0;                  // what the choice goes by: the loss, and kForFallingPeak per head that does not hold
};

class Choice {
 public:
  Choice(std::span<const float> parameters, const ChoiceRequest& request)
      : parameters_(parameters), r_(request), decoder_(request.decoder, request.task->shape(), request.threads) {
    for (const Task* task : r_.task->subtasks())
      for (const std::int64_t size : r_.sizes) draw(*task, size);
    for (const std::string& text : r_.candidates) candidates_.push_back(AnyNormalizer::parse(text));
    for (const AnyNormalizer& candidate : candidates_) remember(candidate);
    for (const LayerRule& layer : table_of_own())
      for (const AnyNormalizer& normalizer : layer) remember(normalizer);
  }

  ChosenTable table() {
    const std::int64_t heads = r_.decoder.global_heads();
    std::vector<TableRule> all = {table_of_own()};
    for (const AnyNormalizer& candidate : candidates_)
      all.emplace_back(to_size(r_.decoder.layers), LayerRule(to_size(heads), candidate));
    const std::vector<Outcome> outcomes = tried(all);
    const std::size_t first = best(outcomes);
    rule_ = all[first], now_ = outcomes[first];
    for (std::int64_t round = 0; round < kChoiceRounds; ++round) {
      bool changed = false;
      for (std::int64_t h = 0; h < r_.decoder.global_layers() * heads; ++h)
        changed |= improve(r_.decoder.local_layers + h / heads, h % heads);
      if (!changed) break;
    }
    ChosenTable table{.sizes = r_.sizes,
                      .answers = answers_,
                      .trials = trials_,
                      .loss_own = outcomes[0].loss,
                      .accuracy_own = outcomes[0].accuracy,
                      .loss = now_.loss,
                      .accuracy = now_.accuracy};
    for (std::int64_t layer = r_.decoder.local_layers; layer < r_.decoder.layers; ++layer)
      for (std::int64_t head = 0; head < heads; ++head)
        table.heads.push_back({layer, head, rule_[to_size(layer)][to_size(head)].text()});
    return table;
  }

 private:
  void draw(const Task& task, std::int64_t size) {
    const auto asked = static_cast<std::int64_t>(task.places(size, Asking::test).size());
    const std::int64_t count =
        std::min((kChoiceAnswers + asked - 1) / asked, task.sequences(size, Asking::test));
    draw_batch(task, {.seed = kChoiceSeed, .purpose = Purpose::test, .step = size, .count = count, .size = size},
               batches_.emplace_back());
    answers_ += count * asked;
  }

  void remember(const AnyNormalizer& normalizer) { holds_.try_emplace(normalizer.text(), holds_peak(normalizer)); }

  double share_of_falling(const TableRule& rule) const {
    std::int64_t falling = 0, all = 0;
    for (const LayerRule& layer : std::span(rule).subspan(to_size(r_.decoder.local_layers)))
      for (const AnyNormalizer& normalizer : layer) falling += holds_.at(normalizer.text()) ? 0 : 1, ++all;
    return static_cast<double>(falling) / static_cast<double>(all);
  }

  TableRule table_of_own() const {
    TableRule rule(to_size(r_.decoder.layers));
    for (std::size_t layer = 0; layer < rule.size(); ++layer)
      for (std::int64_t head = 0; head < r_.decoder.global_heads(); ++head)
        rule[layer].push_back(normalizer_of_head(r_.own[layer], head));
    return rule;
  }

  std::vector<Outcome> tried(const std::vector<TableRule>& rules) {
    std::vector<Outcome> outcomes(rules.size());
    const auto share = 1.0 / static_cast<double>(batches_.size());
    for (const Batch& batch : batches_)
      decoder_.answer(parameters_, rules, batch, Watch::nothing, [&](std::size_t i, const Answers& answers) {
        const auto right = std::count(answers.right.begin(), answers.right.end(), true);
        outcomes[i].loss += share * answers.loss;
        outcomes[i].accuracy += share * static_cast<double>(right) / static_cast<double>(answers.right.size());
      });
    for (std::size_t i = 0; i < rules.size(); ++i)
      outcomes[i].cost = outcomes[i].loss + kForFallingPeak * share_of_falling(rules[i]);
    trials_ += static_cast<std::int64_t>(rules.size());
    if (r_.progress) r_.progress(trials_);
    return outcomes;
  }

  static std::size_t best(const std::vector<Outcome>& outcomes) {
    const auto least = std::min_element(outcomes.begin(), outcomes.end(),
                                        [](const Outcome& a, const Outcome& b) { return a.cost < b.cost; });
    return to_size(least - outcomes.begin());
  }

  // Tries every other normalizer in one head. Returns whether one is better.
  bool improve(std::int64_t layer, std::int64_t head) {
    const AnyNormalizer& here = rule_[to_size(layer)][to_size(head)];
    std::vector<AnyNormalizer> others = {normalizer_of_head(r_.own[to_size(layer)], head)};
    others.insert(others.end(), candidates_.begin(), candidates_.end());
    std::vector<TableRule> rules;
    for (const AnyNormalizer& other : others) {
      if (other == here) continue;
      rules.push_back(rule_);
      rules.back()[to_size(layer)][to_size(head)] = other;
    }
    if (rules.empty()) return false;
    const std::vector<Outcome> outcomes = tried(rules);
    const std::size_t found = best(outcomes);
    if (!(outcomes[found].cost < now_.cost * (1.0 - kFall))) return false;
    rule_ = rules[found], now_ = outcomes[found];
    return true;
  }

  std::span<const float> parameters_;
  const ChoiceRequest& r_;
  Decoder<float> decoder_;
  std::vector<Batch> batches_;
  std::vector<AnyNormalizer> candidates_;
  std::map<std::string, bool> holds_;  // by text
  TableRule rule_;
  Outcome now_;
  std::int64_t answers_ = 0, trials_ = 0;
};

}  // namespace

ChosenTable choose(std::span<const float> parameters, const ChoiceRequest& request) {
  return Choice(parameters, request).table();
}

TableRule rule_of_table(std::span<const ChosenHead> heads, const DecoderSettings& decoder) {
  TableRule rule(to_size(decoder.layers), LayerRule(to_size(decoder.global_heads()), Softmax{}));
  for (const ChosenHead& one : heads)
    rule.at(to_size(one.layer)).at(to_size(one.head)) = AnyNormalizer::parse(one.normalizer);
  return rule;
}

}  // namespace sharpmax::train
