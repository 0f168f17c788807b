// Parts of a run: its directory, training on threads, progress, one head at one size, rows of scores.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "retrieval/run/run.h"
#include "retrieval/testing/evaluation.h"

namespace sharpmax::retrieval {

// Where the files of a run are.

class RunDirectory : public sharpmax::RunDirectory {
 public:
  RunDirectory(const RunSettings& settings, const RunOptions& options);

  std::filesystem::path checkpoint(std::string_view arm, std::uint64_t seed) const;
  std::filesystem::path head(std::string_view arm, std::uint64_t seed) const;
  std::filesystem::path tested(std::string_view arm, std::uint64_t seed, std::int64_t n) const;
};

// The heads of a run, one thread each.

// Goes on from the checkpoints that are there. Heads come arm by arm, seed by seed, saved and not yet tested.
std::vector<TestedHead> train_all(const RunSettings& settings, const RunDirectory& directory,
                                  const RunOptions& options);

// Work done by several threads, told to one listener now and then.

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

// The first test set at the largest size, of the first seed of each arm.
std::vector<ScoreRow> score_rows(std::span<const TestedHead> heads, const TestSettings& test);

}  // namespace sharpmax::retrieval
