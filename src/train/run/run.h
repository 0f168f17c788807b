// A whole run in a directory: models trained and tested, everything written as it comes, so that a run that
// was killed goes on where it was and ends in the same results, bit for bit.
//
//   run.json                              the settings; written first
//   checkpoints/ARM-SEED.safetensors      every few seconds, at an interrupt, if a loss diverges, and at the end
//   models/ARM-SEED/                      the trained model: see save_model
//   chosen/ARM-SEED.json                  its table of normalizers per head, if asked for; written before the model
//   tested/ARM-SEED-N.json                one model at one size
//
// A model to train and a test of one model at one size are the pieces that processes share: sweep/deal.h.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sweep/run_directory.h"
#include "sweep/run_status.h"
#include "train/testing/evaluation.h"
#include "train/training/trainer.h"

namespace sharpmax::train {

// Where the files of a run are.
class RunFiles {
 public:
  explicit RunFiles(std::filesystem::path root) : root_(std::move(root)) {}

  std::filesystem::path checkpoint(const std::string& arm, std::uint64_t seed) const;
  std::filesystem::path model(const std::string& arm, std::uint64_t seed) const;
  std::filesystem::path chosen(const std::string& arm, std::uint64_t seed) const;
  std::filesystem::path tested(const std::string& arm, std::uint64_t seed, std::int64_t n) const;

 private:
  std::filesystem::path root_;
};

class Directory : public RunDirectory, public RunFiles {
 public:
  Directory(const std::filesystem::path& root, const RunSettings& settings, Existing existing);
};

// Models, arm by arm and seed by seed, and their tests, model by model and size by size.
PiecesByKind run_pieces(const RunSettings& settings, const RunFiles& files);

struct RunOptions {
  int threads = 0;
  double checkpoint_seconds = 10.0;
  Launch launch = {};  // which pieces to begin with
  // Called from any thread, one at a time; may throw to end the run, which then saves every model in
  // training.
  std::function<void(const std::string& line)> progress;
  std::function<void(const std::string& sentence)> standing;  // how far the run had come, before it goes on
  std::function<void(const std::string& sentence)> remark;
};

// All but where it comes from.
TrainResult run(const RunSettings& settings, const Directory& directory, const RunOptions& options);

// Means over seeds.
std::vector<TrainSummary> summary_of(const std::vector<TrainMeasurement>& results);

// The models of a run, trained side by side, each from its checkpoint if it has one.

struct Trained {
  TrainingPlan plan;
  TrainedModel model;
  std::vector<float> parameters;
  std::vector<AnyNormalizer> normalizers;  // one per layer
  std::optional<ChosenTable> table;
};

class ModelTraining {
 public:
  // Reads every checkpoint: a damaged one ends the run while nothing is lost.
  ModelTraining(const RunSettings& settings, const Directory& directory, const RunOptions& options);
  ~ModelTraining();

  // Trains the models that nobody works on. Returns how many others work on.
  std::size_t train_free();
  // Reads the models that are trained and not yet in `models`, which has a place for each; one that is missing has no
  // parameters.
  void load(std::vector<Trained>& models) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sharpmax::train
