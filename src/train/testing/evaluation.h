// One trained model tested at one size, under several normalizers on the same sequences.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "train/decoder/decoder.h"

namespace sharpmax::train {

// One normalizer that is tested: one per layer, because what a training learned differs by layer.
struct TestedRule {
  std::string text;
  bool own = false;
  std::vector<AnyNormalizer> layers;
};

struct EvaluationRequest {
  const Task* task = nullptr;
  DecoderSettings decoder;
  std::int64_t size = 0;
  std::int64_t answers = 0;  // at least
  std::span<const TestedRule> rules;
  int threads = 0;
  std::function<void(double share)> progress;  // may throw
};

// Measurements, in the order of the rules; arm and seed are left to the caller. Hard attention on the same
// weights splits the answers, whether it is among the rules or not. Bits do not depend on the number of
// threads.
std::vector<TrainMeasurement> evaluate(std::span<const float> parameters, const EvaluationRequest& request);

// Number of answers at a size unless the settings say it.
std::int64_t answers_at(std::int64_t n, const TestSettings& settings);

}  // namespace sharpmax::train
