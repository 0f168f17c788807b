// Training one head, step by step, by counter: a state and the settings determine everything after it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "retrieval/head/head.h"
#include "retrieval/task/settings.h"

namespace sharpmax::retrieval {

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

}  // namespace sharpmax::retrieval
