// All models of a run, trained side by side, each from its checkpoint if it has one.
#pragma once

#include <vector>

#include "train/run/run.h"

namespace sharpmax::train {

struct Trained {
  TrainingPlan plan;
  TrainedModel model;
  std::vector<float> parameters;
  std::vector<AnyNormalizer> normalizers;  // one per layer
};

std::vector<Trained> train_all(const RunSettings& settings, const Directory& directory,
                               const RunOptions& options);

}  // namespace sharpmax::train
