// One thread's part of testing: a block of sets of one size, through the head, under every normalizer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "retrieval/head/folded.h"
#include "retrieval/task/task.h"
#include "retrieval/testing/evaluation.h"
#include "retrieval/testing/item_kernels.h"
#include "retrieval/testing/score_curves.h"
#include "sharpmax/normalizer.h"

namespace sharpmax::retrieval {

// What testing has to know of a normalizer besides its weights.
struct RuleFacts {
  // Weights stay as they are when a constant is added to every score. Such rules are given the gaps to the
  // largest score, which float holds to its full precision where it matters.
  bool ignores_shift = false;
  // Weights are softmax's at one temperature for the row, so that the lemma about spread bounds them.
  bool is_softmax = false;
};

// Of rows of n keys.
RuleFacts facts_of(const AnyNormalizer& normalizer, std::int64_t n);

// What every block has in common. Cuts depend on the size and the number of normalizers alone.
struct EvaluationPlan {
  EvaluationPlan(const Head& head, const EvaluationRequest& request);

  const EvaluationRequest& request;
  std::uint64_t seed = 0;
  FoldedHead head;
  std::optional<ItemLayer> layer;     // mlp
  std::optional<ScoreCurves> curves;  // mlp, where sets are large enough for it
  std::vector<RuleFacts> facts;       // of each normalizer
  std::int64_t block_sets = 0;        // sets that share one call of normalize()
  std::int64_t group = 0;             // normalizers whose weights are held at once

  std::int64_t normalizers() const noexcept { return static_cast<std::int64_t>(request.normalizers.size()); }
};

// Measurements of one block: counts, and sums over sets where a Measurement has means.
struct BlockResult {
  std::vector<Measurement> sums;
  std::int64_t bound_violations = 0;
};

class BlockEvaluator {
 public:
  explicit BlockEvaluator(const EvaluationPlan& plan);
  // Sets [first, first + count), count <= plan.block_sets. Writes their rows of the heat maps.
  BlockResult run(std::int64_t first, std::int64_t count, std::span<HeatMap> heat_maps);
  std::vector<double> scores_of(std::int64_t set);  // [n]

 private:
  void draw(std::int64_t first);
  void score();
  void compare_scores();  // the largest and the least of each set, and the gaps
  void weigh_group(std::int64_t from, std::int64_t to, BlockResult& result, std::span<HeatMap> heat_maps);
  void record(std::int64_t which, std::int64_t row, BlockResult& result) const;
  void map_heat(HeatMap& map, std::int64_t row) const;
  void answer();
  void tally(BlockResult& result) const;
  std::span<float> weights_of(std::int64_t row, std::int64_t set);
  std::span<const float> weights_of(std::int64_t row, std::int64_t set) const;

  const EvaluationPlan& plan_;
  std::int64_t first_ = 0;
  std::int64_t count_ = 0;
  std::vector<Set> sets_;
  std::vector<double> query_inputs_;  // [set, query_features + 1]
  std::vector<double> queries_;       // [set, item_features + 1]
  std::vector<double> padded_query_;  // [stride]
  ScoreCurves::Workspace curves_;
  std::vector<double> scores_;        // [set, n]
  std::vector<float> gaps_;           // [set, n]: score - largest
  std::vector<float> plain_;          // [set, n]: scores, if some normalizer wants them
  std::vector<std::int64_t> ranked_;  // [set]: the item with the largest score
  std::vector<double> spread_;        // [set]
  std::vector<float> weights_;        // [row of the group, set, n]
  std::vector<double> entropy_;       // [row of the group, set]; likewise the next three
  std::vector<double> peak_;
  std::vector<double> mass_;
  std::vector<double> temperature_;
  std::vector<double> pooled_;  // [normalizer or hard, set, item_features + 1]
  std::vector<double> hidden_;  // [normalizer or hard, set, width]
  std::vector<double> logits_;  // [normalizer or hard, set, classes]
  Pooler pooler_;
};

}  // namespace sharpmax::retrieval
