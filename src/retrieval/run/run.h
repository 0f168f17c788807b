// A whole run in a directory: heads trained, certified and tested, everything written as it comes, so that
// a run that was killed goes on where it was and ends in the same results, bit for bit.
//
//   run.json                              the settings; written first
//   checkpoints/ARM-SEED.safetensors      every few seconds, at an interrupt, and at the end of a training
//   heads/ARM-SEED.safetensors            the trained head
//   tested/ARM-SEED-N.json                one head at one size
//
// A head to train and a test of one head at one size are the pieces that processes share: sweep/deal.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retrieval/certificate/certificate.h"
#include "retrieval/head/head.h"
#include "retrieval/task/task.h"
#include "retrieval/testing/evaluation.h"
#include "sharpmax/retrieval.h"
#include "sweep/deal.h"
#include "sweep/run_directory.h"
#include "sweep/run_status.h"

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
  Launch launch = {};                                // which pieces to begin with
  Group* group = nullptr;                            // ranks that test large sets together; null: this process alone
  std::function<void(const RunStanding&)> standing;  // called once, before anything is trained
  // Called while other processes work on all that is left; may throw to end the run.
  std::function<void(std::size_t pieces)> waiting;
  std::function<void(const std::string& sentence)> remark;
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

// Of settings and parameters: 16 hexadecimal digits.
std::string fingerprint(const Head& head);

// All but where it comes from.
RetrievalResult result_of(const RunOutcome& outcome);

MeasuredNormalizer measured(const Measurement& measurement);

inline constexpr const char* kCsvHeader =
    "arm,seed,normalizer,n,sets,accuracy,accuracy_low,accuracy_high,entropy,peak_weight,right_weight,"
    "temperature,ranked_first,hard_accuracy,spread,hard_right_rule_right,hard_right_rule_wrong,hard_wrong_rule_right,"
    "hard_wrong_rule_wrong,largest_peak_weight,weight_bound,bound_violations";

// Readable and small: one element of a list to a line.
std::string text_of(const Json& results);

// Parts of a run: its directory, training on threads, progress, one head at one size, rows of scores.

// Where the files of a run are.
class RunFiles {
 public:
  explicit RunFiles(std::filesystem::path root) : root_(std::move(root)) {}

  std::filesystem::path checkpoint(std::string_view arm, std::uint64_t seed) const;
  std::filesystem::path head(std::string_view arm, std::uint64_t seed) const;
  std::filesystem::path tested(std::string_view arm, std::uint64_t seed, std::int64_t n) const;

 private:
  std::filesystem::path root_;
};

class RunDirectory : public sharpmax::RunDirectory, public RunFiles {
 public:
  RunDirectory(const RunSettings& settings, const RunOptions& options);
};

// Heads, arm by arm and seed by seed, and their tests, head by head and size by size.
PiecesByKind run_pieces(const RunSettings& settings, const RunFiles& files);

// The heads of a run, one thread each.
class HeadTraining {
 public:
  // Reads every checkpoint: a damaged one ends the run while nothing is lost.
  HeadTraining(const RunSettings& settings, const RunDirectory& directory, const RunOptions& options);
  ~HeadTraining();

  // Trains the heads that nobody works on, each from its checkpoint if it has one. Returns how many others work on.
  std::size_t train_free();
  // Reads the heads that are trained and not yet in `heads`, which has a place for each; one that is missing has no
  // parameters.
  void load(std::vector<TestedHead>& heads) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Work done by several threads, reported to one listener now and then.

class ProgressMeter {
 public:
  using Clock = std::chrono::steady_clock;

  // `done` of `total` were done before this process began; they say nothing of its speed.
  ProgressMeter(Phase phase, double done, double total, std::function<void(const RunProgress&)> listener)
      : phase_(phase), before_(done), done_(done), total_(total), listener_(std::move(listener)) {}

  void add(double work) {
    if (!listener_) return;
    const std::lock_guard guard(mutex_);
    done_ += work;
    const auto now = Clock::now();
    if (now - told_ < kInterval && done_ < total_) return;
    told_ = now;
    const double seconds = std::chrono::duration<double>(now - began_).count();
    const double speed = seconds > 0.0 ? (done_ - before_) / seconds : 0.0;
    listener_(
        {.phase = phase_,
         .done = done_,
         .total = total_,
         .per_second = speed,
         .seconds_left = speed > 0.0 ? (total_ - done_) / speed : std::numeric_limits<double>::quiet_NaN()});
  }

 private:
  static constexpr auto kInterval = std::chrono::milliseconds(100);

  Phase phase_;
  double before_, done_, total_;
  std::function<void(const RunProgress&)> listener_;
  Clock::time_point began_ = Clock::now(), told_{};
  std::mutex mutex_;
};

// One head at one size, as measured: a small JSON file, so that a run that was killed need not test again.

void save_tested(const std::filesystem::path& path, const Head& head, const Evaluation& evaluation);

// Throws Error{bad_file} if the file is damaged, or of another head, size or list of normalizers.
Evaluation load_tested(const std::filesystem::path& path, const Head& head, const EvaluationRequest& request);

// A row of scores of each arm, small enough to be kept: what the report's playground starts from.

// At most so many numbers stand for a row. Odd, so that the median is one of them.
constexpr std::size_t kQuantiles = 65;

// `count` values evenly spaced over the sorted scores, the least and the largest among them, linear between
// two scores; all of the scores, sorted, if there are no more. Scores must not be empty.
std::vector<double> even_quantiles(std::vector<double> scores, std::size_t count);

// The first test set at the largest size whose sets are held in memory, of the first seed of each arm; none without such a
// size.
std::vector<ScoreRow> score_rows(std::span<const TestedHead> heads, const TestSettings& test);

}  // namespace sharpmax::retrieval
