// Trained models and checkpoints as .safetensors files: one tensor per part under its name; settings stand in
// the metadata.
//
// Loading checks the format's name, that the file is of this plan, that its tensors are those of such a
// model, and that every number is finite. Errors are {bad_file}.
#pragma once

#include <filesystem>
#include <vector>

#include "train/training/trainer.h"

namespace sharpmax::train {

// A training that was interrupted, or has ended. loss_sums are learning::LossCurve's.
struct Checkpoint {
  TrainingState state;
  std::vector<double> loss_sums;
};

void save_model(const std::filesystem::path& path, const TrainingPlan& plan, const TrainingState& state);
void save_checkpoint(const std::filesystem::path& path, const TrainingPlan& plan,
                     const Checkpoint& checkpoint);
Checkpoint load_checkpoint(const std::filesystem::path& path, const TrainingPlan& plan);

}  // namespace sharpmax::train
