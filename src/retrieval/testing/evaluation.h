// Testing a head: the same sets and the same scores under every normalizer, and why an answer is wrong.
//
// Scores are computed in double; normalizers that do not change when a constant is added to every score see
// the gaps to the largest, rounded to float, so that rounding does not decide between items. The others see
// the scores.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "retrieval/head/head.h"
#include "sharpmax/attention.h"
#include "sharpmax/cluster.h"

namespace sharpmax::retrieval {

// One normalizer at one size, over all sets.
struct Measurement {
  std::string normalizer;  // text form
  std::int64_t n = 0;
  std::int64_t sets = 0;
  std::int64_t right = 0;         // answers that name the right class
  std::int64_t ranked_first = 0;  // sets whose largest score is the right item's
  // hard attention over the same scores (right, wrong) x this normalizer (right, wrong)
  std::int64_t hard_right_rule_right = 0;
  std::int64_t hard_right_rule_wrong = 0;  // dispersion
  std::int64_t hard_wrong_rule_right = 0;  // helpful averaging
  std::int64_t hard_wrong_rule_wrong = 0;
  // Means over sets.
  double entropy = 0.0;       // nats
  double peak_weight = 0.0;   // largest weight, of w / sum w
  double right_weight = 0.0;  // weight on the right item, of w / sum w
  double temperature = 0.0;   // beta; NaN where the rule has none
  double spread = 0.0;        // largest - least score
  // Extremes over sets, for checking bounds.
  double largest_peak_weight = 0.0;
  double largest_spread = 0.0;

  double accuracy() const noexcept {
    return sets ? static_cast<double>(right) / static_cast<double>(sets) : 0.0;
  }
  double hard_accuracy() const noexcept {
    return sets ? static_cast<double>(hard_right_rule_right + hard_right_rule_wrong) /
                      static_cast<double>(sets)
                : 0.0;
  }

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("normalizer", self.normalizer);
    visit("n", self.n);
    visit("sets", self.sets);
    visit("right", self.right);
    visit("ranked_first", self.ranked_first);
    visit("hard_right_rule_right", self.hard_right_rule_right);
    visit("hard_right_rule_wrong", self.hard_right_rule_wrong);
    visit("hard_wrong_rule_right", self.hard_wrong_rule_right);
    visit("hard_wrong_rule_wrong", self.hard_wrong_rule_wrong);
    visit("entropy", self.entropy);
    visit("peak_weight", self.peak_weight);
    visit("right_weight", self.right_weight);
    visit("temperature", self.temperature);
    visit("spread", self.spread);
    visit("largest_peak_weight", self.largest_peak_weight);
    visit("largest_spread", self.largest_spread);
  }
};

// Weights on the largest items of the first few sets, least of them first, so that the largest is at the
// right.
struct HeatMap {
  std::string normalizer;
  std::int64_t n = 0;
  std::int64_t sets = 0;
  std::int64_t items = 0;
  std::vector<float> weights;  // [sets, items]

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("normalizer", self.normalizer);
    visit("n", self.n);
    visit("sets", self.sets);
    visit("items", self.items);
    visit("weights", self.weights);
  }
};

struct Evaluation {
  std::vector<Measurement> measurements;  // one per normalizer, in the order given
  std::vector<HeatMap> heat_maps;         // likewise; empty unless heat_map_sets > 0
  std::int64_t bound_violations = 0;      // rows whose weight or spread exceeds what the certificate allows
};

// Items of a set that is held in memory: 24 bytes each, and 4 for each normalizer, in every thread.
inline constexpr std::int64_t kHeldItems = std::int64_t{1} << 22;

struct EvaluationRequest {
  std::int64_t n = 0;
  std::int64_t sets = 0;
  std::span<const AnyNormalizer> normalizers;
  std::int64_t heat_map_sets = 0;
  std::int64_t heat_map_items = 16;
  double certified_spread = 0.0;                         // check every row against it; 0: no check
  std::function<void(double sets_done)> progress;        // called from any thread, one at a time
  // Larger sets are drawn share by share where they are tested, and never held: testing/streamed_set.h.
  std::int64_t held_items = kHeldItems;
  // Ranks that test the sets which are not held together; every rank calls evaluate(). Null: this process alone.
  Group* group = nullptr;
};

// The scores of one of the sets that evaluate() tests, in the order of its items. // [n]
std::vector<double> scores_of_test_set(const Head& head, std::int64_t n, std::int64_t index);

// Bitwise the same for any number of threads and of ranks. The sets are those of the head's own seed.
Evaluation evaluate(const Head& head, const EvaluationRequest& request, const Execution& execution = {});

}  // namespace sharpmax::retrieval
