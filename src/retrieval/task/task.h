// The task of paper A: a set of items, each a priority in [0, 1) and a class; a query scalar that says
// nothing; the answer is the class of the item with the largest priority.
//
// Every number is a function of (seed, purpose, size or step, index of the set, index of the item): the
// same sets for any thread count and any order. Sets with a tie for first place are drawn again.
#pragma once

#include <cstdint>
#include <vector>

#include "retrieval/task/settings.h"

namespace sharpmax::retrieval {

struct Set {
  std::vector<double> priorities;
  std::vector<std::int32_t> classes;
  double query = 0.0;
  std::int64_t right = 0;  // index of the largest priority

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(priorities.size()); }
};

// Test set number `index` of size n: priorities U(0, 1), 44 random bits each.
void draw_test_set(std::uint64_t seed, std::int64_t classes, std::int64_t n, std::int64_t index, Set& set);

// Set number `index` of training step `step`, its size and crowding drawn too.
void draw_training_set(const TrainingSettings& settings, std::uint64_t seed, std::int64_t step,
                       std::int64_t index, Set& set);

}  // namespace sharpmax::retrieval
