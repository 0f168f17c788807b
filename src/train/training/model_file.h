// Checkpoints as .safetensors files, one tensor per part under its name, settings in the metadata; trained models as
// folders that every command opens.
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

// The plan as JSON in one line.
std::string plan_text(const TrainingPlan& plan);

// model.safetensors, config.json, tokenizer.json and normalizers.json: src/model opens it if a place of the task has one
// token. normalizers: one per layer.
void save_model(const std::filesystem::path& folder, const TrainingPlan& plan, const TrainingState& state,
                const std::vector<AnyNormalizer>& normalizers);
void save_checkpoint(const std::filesystem::path& path, const TrainingPlan& plan,
                     const Checkpoint& checkpoint);
Checkpoint load_checkpoint(const std::filesystem::path& path, const TrainingPlan& plan);

}  // namespace sharpmax::train
