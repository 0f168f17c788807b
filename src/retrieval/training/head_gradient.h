// Loss and gradient of the head over a batch of sets of different sizes, with its linear maps folded.
//
// Per item there remain its features, one dot product for the score and one weighted sum: what is linear on
// either side of them is multiplied out once a step (head_parts.h). Sets are laid end to end, so
// that there is no padding to compute. One thread; the order of every sum is fixed by the shapes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "retrieval/head/head.h"
#include "retrieval/task/task.h"
#include "retrieval/training/training.h"

namespace sharpmax::retrieval {

// Sets end to end.
struct Batch {
  std::vector<std::int64_t> begin = {0};  // set b holds items [begin[b], begin[b + 1])
  std::vector<double> priorities;
  std::vector<std::int32_t> classes;
  std::vector<double> queries;        // one a set
  std::vector<std::int32_t> answers;  // class of the largest item

  std::int64_t sets() const noexcept { return static_cast<std::int64_t>(queries.size()); }
  std::int64_t items() const noexcept { return static_cast<std::int64_t>(priorities.size()); }
  void clear();
  void add(const Set& set);
};

// The batch of a training step.
void draw_batch(const TrainingSettings& settings, std::uint64_t seed, std::int64_t step, Batch& batch);

template <class Real>
class HeadGradient {
 public:
  explicit HeadGradient(const TrainingSettings& settings);
  ~HeadGradient();
  HeadGradient(HeadGradient&&) noexcept;

  // Mean cross-entropy over the sets and its gradient, in Layout's order; d_normalizer (one per parameter of
  // the normalizer) is overwritten too. gradient_norm of the report is left 0.
  StepReport run(std::span<const Real> parameters, const AnyNormalizer& normalizer, const Batch& batch,
                 std::span<Real> gradient, std::span<double> d_normalizer);

  // How many points the queries of the last batch were computed at.
  std::int64_t query_columns() const noexcept;

 private:
  struct Workspace;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace sharpmax::retrieval
