// Training of one head: loss and gradient of a batch, and the steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "learning/kernels.h"
#include "retrieval/head/head.h"
#include "retrieval/task/task.h"

namespace sharpmax::retrieval {

// Training one head, step by step, by counter: a state and the settings determine everything after it.

// All that the next step depends on, besides settings and seed. Values of single precision are held widened,
// exactly. moments hold Adam's first and second, of the parameters and then of the normalizer's.
struct TrainingState {
  std::int64_t step = 0;  // steps done
  std::vector<double> parameters;
  std::vector<double> normalizer_parameters;
  std::vector<double> first_moment;
  std::vector<double> second_moment;
  bool operator==(const TrainingState&) const = default;
};

struct StepReport {
  double loss = 0.0;           // mean cross-entropy of the batch
  double accuracy = 0.0;       // of the batch
  double gradient_norm = 0.0;  // before clipping
};

// Runs on the calling thread alone; several Trainers run side by side.
class Trainer {
 public:
  Trainer(const TrainingSettings& settings, std::uint64_t seed);  // from the beginning
  Trainer(const TrainingSettings& settings, std::uint64_t seed, const TrainingState& state);
  ~Trainer();
  Trainer(Trainer&&) noexcept;

  std::int64_t steps_done() const noexcept;
  StepReport step();  // throws Error{unsupported} if loss or gradient is no longer a number
  TrainingState state() const;
  Head head() const;  // arm left empty

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

// Loss and gradient of the head over a batch of sets of different sizes, with its linear maps folded.
//
// Per item there remain its features, one dot product for the score and one weighted sum: what is linear on
// either side of them is multiplied out once a step (head_parts.h). Sets are laid end to end, so
// that there is no padding to compute. One thread; the order of every sum is fixed by the shapes.

// Sets end to end.
struct Batch {
  std::vector<std::int64_t> begin = {0};  // set b holds items [begin[b], begin[b + 1])
  std::vector<double> priorities;
  std::vector<std::int32_t> classes;
  std::vector<double> queries;        // one a set
  std::vector<std::int32_t> answers;  // class of the largest item

  std::int64_t sets() const noexcept { return static_cast<std::int64_t>(queries.size()); }
  std::int64_t items() const noexcept { return static_cast<std::int64_t>(priorities.size()); }
  void clear();
  void add(const Set& set);
};

// The batch of a training step.
void draw_batch(const TrainingSettings& settings, std::uint64_t seed, std::int64_t step, Batch& batch);

template <class Real>
class HeadGradient {
 public:
  explicit HeadGradient(const TrainingSettings& settings);
  ~HeadGradient();
  HeadGradient(HeadGradient&&) noexcept;

  // Mean cross-entropy over the sets and its gradient, in Layout's order; d_normalizer (one per parameter of
  // the normalizer) is overwritten too. gradient_norm of the report is left 0.
  StepReport run(std::span<const Real> parameters, const AnyNormalizer& normalizer, const Batch& batch,
                 std::span<Real> gradient, std::span<double> d_normalizer);

  // How many points the queries of the last batch were computed at.
  std::int64_t query_columns() const noexcept;

 private:
  struct Workspace;
  std::unique_ptr<Workspace> workspace_;
};

// Heads and checkpoints as .safetensors files: one tensor for each part of the head, under its name, in the
// precision of training; how it was trained stands in the metadata.
//
// Loading checks all of it: the format's name, the settings, that the tensors are those of such a head and
// no others, their shapes, and that every number is one. Errors are {bad_file}, with the byte.

using learning::LossCurve;

void save_head(const std::filesystem::path& path, const Head& head);
Head load_head(const std::filesystem::path& path);

// A training that was interrupted, or has ended.
struct Checkpoint {
  std::string arm;
  TrainingSettings training;
  std::uint64_t seed = 0;
  TrainingState state;
  std::vector<double> loss_sums;  // LossCurve's
};

void save_state(const std::filesystem::path& path, const Checkpoint& checkpoint);
Checkpoint load_state(const std::filesystem::path& path);

}  // namespace sharpmax::retrieval
