// A whole run in a directory: models trained and tested, everything written as it comes, so that a run that
// was killed goes on where it was and ends in the same results, bit for bit.
//
//   run.json                              the settings; written first
//   checkpoints/ARM-SEED.safetensors      every few seconds, at an interrupt, if a loss diverges, and at the end
//   models/ARM-SEED/                      the trained model: see save_model
//   tested/ARM-SEED-N.json                one model at one size
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "job/run_directory.h"
#include "train/testing/evaluation.h"
#include "train/training/trainer.h"

namespace sharpmax::train {

// Where the files of a run are.
class Directory : public RunDirectory {
 public:
  Directory(const std::filesystem::path& root, const RunSettings& settings, Existing existing);

  std::filesystem::path checkpoint(const std::string& arm, std::uint64_t seed) const;
  std::filesystem::path model(const std::string& arm, std::uint64_t seed) const;
  std::filesystem::path tested(const std::string& arm, std::uint64_t seed, std::int64_t n) const;
};

struct RunOptions {
  int threads = 0;
  double checkpoint_seconds = 10.0;
  // Called from any thread, one at a time; may throw to end the run, which then saves every model in
  // training.
  std::function<void(const std::string& line)> progress;
  std::function<void(const std::string& sentence)> standing;  // how far the run had come, before it goes on
};

// All but where it comes from.
TrainResult run(const RunSettings& settings, const Directory& directory, const RunOptions& options);

// Means over seeds.
std::vector<TrainSummary> summary_of(const std::vector<TrainMeasurement>& results);

// All models of a run, trained side by side, each from its checkpoint if it has one.

struct Trained {
  TrainingPlan plan;
  TrainedModel model;
  std::vector<float> parameters;
  std::vector<AnyNormalizer> normalizers;  // one per layer
};

std::vector<Trained> train_all(const RunSettings& settings, const Directory& directory,
                               const RunOptions& options);

}  // namespace sharpmax::train
