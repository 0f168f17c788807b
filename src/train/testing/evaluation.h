// One trained model tested at one size, under several normalizers on the same sequences.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "train/decoder/decoder.h"

namespace sharpmax::train {

using TableRule = Decoder<float>::Rule;  // one LayerRule per layer

// One normalizer that is tested, as every layer has it: what a training learned differs by layer, a table by head.
struct TestedRule {
  std::string text;
  bool own = false;
  TableRule layers;
};

// One normalizer per layer, for all of its heads.
TableRule rule_of_layers(std::span<const AnyNormalizer> normalizers);

struct EvaluationRequest {
  const Task* task = nullptr;  // one of its subtasks, if it is a mixture
  DecoderSettings decoder;
  std::int64_t size = 0;
  std::int64_t answers = 0;  // at least
  std::span<const TestedRule> rules;
  int threads = 0;
  std::function<void(double share)> progress;  // may throw
};

// Measurements, in the order of the rules; arm and seed are left to the caller. Hard attention on the same
// weights splits the answers, whether it is among the rules or not, and head by head those of the model's own rule. Bits
// do not depend on the number of threads.
std::vector<TrainMeasurement> evaluate(std::span<const float> parameters, const EvaluationRequest& request);

// Number of answers at a size unless the settings say it.
std::int64_t answers_at(std::int64_t n, const TestSettings& settings);

// A normalizer for each head that sees everything, chosen for one model on sequences of its own: neither those of the
// training nor those of a test. A greedy search: the best candidate for all heads first, then head by head what lowers the
// loss, until a round changes nothing.
struct ChoiceRequest {
  const Task* task = nullptr;
  DecoderSettings decoder;
  std::vector<std::int64_t> sizes;
  std::vector<AnyNormalizer> own;      // of the training, one per layer; a candidate too
  std::vector<std::string> candidates;  // as AnyNormalizer has them in text
  int threads = 0;
  std::function<void(std::int64_t trials)> progress;  // may throw
};
ChosenTable choose(std::span<const float> parameters, const ChoiceRequest& request);

// The table as a rule to test.
TableRule rule_of_table(std::span<const ChosenHead> heads, const DecoderSettings& decoder);

}  // namespace sharpmax::train
