// A whole run in a directory: heads trained, certified and tested, everything written as it comes, so that
// a run that was killed goes on where it was and ends in the same results, bit for bit.
//
//   run.json                              the settings; written first
//   checkpoints/ARM-SEED.safetensors      every few seconds, at an interrupt, and at the end of a training
//   heads/ARM-SEED.safetensors            the trained head
//   tested/ARM-SEED-N.json                one head at one size
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "job/run_directory.h"
#include "retrieval/certificate/certificate.h"
#include "retrieval/head/head.h"
#include "retrieval/task/settings.h"
#include "retrieval/testing/evaluation.h"
#include "sharpmax/retrieval.h"

namespace sharpmax::retrieval {

enum class Phase { training, certifying, testing };

struct RunProgress {
  Phase phase = Phase::training;
  double done = 0.0;  // training: steps of all heads; certifying: heads; testing: items
  double total = 0.0;
  double per_second = 0.0;    // of this phase, in this process; 0 before anything is known
  double seconds_left = 0.0;  // of this phase; NaN before anything is known
};

using sharpmax::Existing;

// How far a run had come when this process began.
struct RunStanding {
  struct Training {
    std::string arm;
    std::uint64_t seed = 0;
    std::int64_t step = 0, steps = 0;
  };
  std::vector<Training> heads;         // all of them, arm by arm, seed by seed
  std::int64_t tested = 0, tests = 0;  // a test is one head at one size
};

struct RunOptions {
  std::filesystem::path directory;
  Existing existing = Existing::refuse;
  int threads = 0;  // the results do not depend on it
  double checkpoint_seconds = 10.0;
  std::function<void(const RunStanding&)> standing;  // called once, before anything is trained
  // Called from any thread, one at a time. It may throw to end the run, which then writes a checkpoint of
  // every head in training.
  std::function<void(const RunProgress&)> progress;
};

// One head with all that was found out about it.
struct TestedHead {
  Head head;
  std::string file;                                         // within the directory; empty: not of a run
  std::vector<std::pair<std::int64_t, double>> loss_curve;  // (steps done, mean loss since the one before)
  SpreadCertificate spread;
  std::vector<Evaluation> by_size;  // in the order of the settings' sizes
};

struct RunOutcome {
  RunSettings settings;
  std::vector<TestedHead> heads;  // arm by arm, seed by seed
  std::vector<ScoreRow> rows;     // one of each arm
  double training_seconds = 0.0;  // of this process
  double testing_seconds = 0.0;
};

// Throws Error{bad_argument} where a run is already and `existing` does not say what to do, or where its
// settings differ; {bad_file} for a damaged file, before anything is written; {io}.
RunOutcome run(const RunSettings& settings, const RunOptions& options);

// A head that was trained before, certified and tested; nothing is written.
RunOutcome test_again(const Head& head, const TestSettings& test, const RunOptions& options);

// What a run found: from its outcome to a RetrievalResult, and its JSON as text (schema sharpmax.retrieval/1,
// docs/reference/retrieval-json.md).

// All but where it comes from.
RetrievalResult result_of(const RunOutcome& outcome);

MeasuredNormalizer measured(const Measurement& measurement);

inline constexpr const char* kCsvHeader =
    "arm,seed,normalizer,n,sets,accuracy,accuracy_low,accuracy_high,entropy,peak_weight,right_weight,"
    "temperature,ranked_first,hard_accuracy,spread,hard_right_rule_right,hard_right_rule_wrong,hard_wrong_rule_right,"
    "hard_wrong_rule_wrong,largest_peak_weight,weight_bound,bound_violations";

// Readable and small: one element of a list to a line.
std::string text_of(const Json& results);

}  // namespace sharpmax::retrieval
