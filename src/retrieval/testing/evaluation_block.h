// One thread's part of testing: a block of sets of one size, through the head, under every normalizer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "machine/blas.h"
#include "retrieval/head/folded.h"
#include "retrieval/task/task.h"
#include "retrieval/testing/evaluation.h"
#include "retrieval/testing/item_kernels.h"
#include "sharpmax/normalizer.h"

namespace sharpmax::retrieval {

// Scores of many items from a few: for one query the score of an item of class c is a smooth curve in its
// priority, so the curve of each class is computed at Chebyshev nodes and its series summed for every item.
//
// As the nodes of folded.h, in double: the series errs by rounding, times what cancels in query . g. Worth it from a
// few items a node on.

class ScoreCurves {
 public:
  explicit ScoreCurves(const FoldedHead& head);  // of an mlp

  // Whether sets of n items are scored faster this way than item by item.
  bool worth_it(std::int64_t n) const noexcept { return n >= kItemsPerNode * nodes_ * classes_; }

  struct Workspace {
    std::vector<double> values, coefficients;  // [classes, nodes]
    std::vector<std::int64_t> begin;           // [classes + 1]: where a class's items lie once sorted
    std::vector<std::int64_t> order;           // [n]: sorted place of each item
    std::vector<double> priorities, scores;    // [n], sorted by class
  };
  // As score_items().
  void score(const ItemLayer& layer, std::span<const double> query, double query_bias, Items items,
             Workspace& workspace, std::span<double> scores) const;

  std::int64_t nodes() const noexcept { return nodes_; }

 private:
  static constexpr std::int64_t kItemsPerNode = 2;

  std::int64_t classes_, nodes_;
  std::vector<double> node_priorities_;     // [classes, nodes]
  std::vector<std::int32_t> node_classes_;  // likewise
  std::vector<double> transform_;           // [nodes, nodes]: coefficients from values
};

// Features of a set, summed under several rows of weights in one pass.

// One thread's. Items whose weights are negligible in every row are passed over: together they are below the
// rounding of the sums.
class Pooler {
 public:
  // `layer`: null for a linear encoder. `rows`: the most rows of weights in one call.
  Pooler(const FoldedHead& head, const ItemLayer* layer, std::int64_t rows);

  // pooled: [row, item_features + 1], sum_i w_i [g_i; 1] for every row of weights: [row, item].
  void pool(const Set& set, Matrix<const float> weights, Matrix<double> pooled);
  // [g_i; 1] of one item: what pool() gives for a weight of 1 on it.
  void item(const Set& set, std::int64_t index, std::span<double> pooled);

 private:
  void pool_features(const Set& set, Matrix<const float> weights, Matrix<double> pooled);
  void pool_chunk(const Set& set, Matrix<const float> weights, Matrix<double> pooled);
  void pool_linear(const Set& set, Matrix<const float> weights, Matrix<double> pooled);

  const FoldedHead& head_;
  const ItemLayer* layer_;
  std::vector<std::uint8_t> used_;     // [item]: some row gives it weight that counts
  std::vector<std::int64_t> indices_;  // of the chunk's items
  std::vector<float> features_;        // [chunk, stride]
  std::vector<float> chunk_weights_;   // [row, chunk]
  std::vector<float> sums_;            // [row, stride]
};

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
  std::int64_t group = 0;             // normalizers whose weights are held together

  std::int64_t normalizers() const noexcept { return static_cast<std::int64_t>(request.normalizers.size()); }
};

// Measurements of one block: counts, and sums over sets where a Measurement has means.
struct BlockResult {
  std::vector<Measurement> sums;
  std::int64_t bound_violations = 0;
};

// One row on its way into a Measurement.
struct MeasuredRow {
  double entropy = 0.0, peak_weight = 0.0, mass = 0.0, temperature = 0.0;
  double right = 0.0;   // weight of the right item
  double spread = 0.0;  // of the scores
};
// Adds a row. Returns 1 if its peak is above what the certified spread allows, otherwise 0.
std::int64_t record_row(const EvaluationRequest& request, const RuleFacts& facts, const MeasuredRow& row, Measurement& sums);
// Whether scores spread further than the certificate allows.
bool breaks_spread(const EvaluationRequest& request, double spread);

// What became of one set.
struct SetAnswer {
  bool hard = false, rule = false;  // whether hard attention, and the normalizer, name the right class
  bool ranked_first = false;
};
void record_answer(const SetAnswer& answer, Measurement& sums);

// The lowest index of the largest; -1 if some logit is NaN: such an answer is wrong.
std::int64_t largest_logit(std::span<const double> logits);

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
