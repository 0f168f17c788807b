// Requests for runs and fits that take a fraction of a second.
#pragma once

#include <filesystem>
#include <string>

#include "sharpmax/fit.h"
#include "sharpmax/retrieval.h"

namespace sharpmax::test {

inline RetrievalRequest short_run(const std::string& arm, const std::filesystem::path& directory) {
  RetrievalRequest request;
  request.arms = {arm};
  request.seeds = 2;
  request.directory = directory.string();
  request.threads = 2;
  request.training.width = 8;
  request.training.steps = 40;
  request.training.batch = 8;
  request.test.sizes = {16, 64};
  request.test.sets_scale = 0.01;
  request.test.normalizers = {Softmax{}, Adaptive{}, Sigmoid{}, EntropyTarget{.nats = 0.1}};
  request.test.heat_map_sets = 2;
  request.test.heat_map_items = 4;
  return request;
}

inline FitRequest short_fit(const std::filesystem::path& head) {
  FitRequest request;
  request.head = head.string();
  request.degree = 1;
  request.sizes = {16, 64};
  request.test_sizes = {16, 32};
  request.sets_scale = 0.1;
  request.threads = 2;
  return request;
}

}  // namespace sharpmax::test
