// A test set that is never in memory: shares of its items are drawn where they are tested, in every round again.
//
// The shares of a set may be spread over the ranks of a group. All ranks end with the same measurements, and bits do not
// depend on the number of ranks or threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "attention/parts/split_row.h"
#include "retrieval/testing/evaluation_block.h"

namespace sharpmax::retrieval {

class StreamedEvaluator {
 public:
  StreamedEvaluator(const EvaluationPlan& plan, Group& group, int threads);
  ~StreamedEvaluator();

  // One set, under every normalizer. `progress` is given the share of the set that is done, by and large; it may throw.
  BlockResult run(std::int64_t set, std::span<HeatMap> heat_maps, const std::function<void(double)>& progress);

 private:
  class Worker;

  // The query's side of all scores, and the summary of the items once they have been seen.
  struct Asked;

  void tally(const Asked& asked, std::span<const std::unique_ptr<SplitRow>> rows, BlockResult& result);
  bool names_right_class(const Asked& asked, std::span<const double> pooled) const;

  const EvaluationPlan& plan_;
  Group& group_;
  int threads_;
  std::vector<std::unique_ptr<Worker>> workers_;  // one per thread
};

}  // namespace sharpmax::retrieval
