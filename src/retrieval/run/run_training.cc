#include <fmt/format.h>

#include <atomic>
#include <optional>

#include "base/threads.h"
#include "retrieval/run/run.h"
#include "retrieval/training/training.h"
#include "sharpmax/error.h"

namespace sharpmax::retrieval {
namespace {

using Clock = std::chrono::steady_clock;

struct Job {
  const Arm* arm = nullptr;
  std::uint64_t seed = 0;
  std::optional<Checkpoint> begun;
};

// All of them are read before anything is trained: a damaged one ends the run while nothing is lost.
std::vector<Job> jobs_of(const RunSettings& settings, const RunDirectory& directory) {
  std::vector<Job> jobs;
  for (const Arm& arm : settings.arms) {
    for (const std::uint64_t seed : settings.seeds) {
      Job job{.arm = &arm, .seed = seed};
      const auto file = directory.checkpoint(arm.name, seed);
      if (std::filesystem::exists(file)) {
        try {
          job.begun = load_state(file);
        } catch (const Error& error) {
          throw Error(error.code(),
                      fmt::format("{}; delete it to train this head from the beginning", error.what()));
        }
        if (job.begun->arm != arm.name || job.begun->seed != seed || job.begun->training != arm.training)
          throw Error(ErrorCode::bad_file,
                      fmt::format("{}: it is of another head than seed {} of arm {}; delete it to train this "
                                  "head from the beginning",
                                  file.string(), seed, arm.name));
      }
      jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

class Training {
 public:
  Training(Job& job, const RunDirectory& directory)
      : job_(job),
        directory_(directory),
        trainer_(job.begun ? Trainer(settings(), job.seed, job.begun->state) : Trainer(settings(), job.seed)),
        curve_(job.begun ? LossCurve(settings().steps, job.begun->loss_sums) : LossCurve(settings().steps)),
        saved_step_(job.begun ? job.begun->state.step : -1) {
    job.begun.reset();
  }

  bool finished() const { return trainer_.steps_done() >= settings().steps; }
  void step() {
    const std::int64_t step = trainer_.steps_done();
    curve_.add(step, trainer_.step().loss);
  }
  void save() {
    if (trainer_.steps_done() == saved_step_) return;
    save_state(directory_.checkpoint(job_.arm->name, job_.seed), {.arm = job_.arm->name,
                                                                  .training = settings(),
                                                                  .seed = job_.seed,
                                                                  .state = trainer_.state(),
                                                                  .loss_sums = curve_.sums()});
    saved_step_ = trainer_.steps_done();
    saved_at_ = Clock::now();
  }
  double seconds_since_save() const {
    return std::chrono::duration<double>(Clock::now() - saved_at_).count();
  }

  TestedHead result() const {
    TestedHead tested{.head = trainer_.head(), .loss_curve = curve_.points()};
    tested.head.arm = job_.arm->name;
    const auto file = directory_.head(job_.arm->name, job_.seed);
    save_head(file, tested.head);
    tested.file = std::filesystem::relative(file, directory_.root()).generic_string();
    return tested;
  }

 private:
  const TrainingSettings& settings() const { return job_.arm->training; }

  const Job& job_;
  const RunDirectory& directory_;
  Trainer trainer_;
  LossCurve curve_;
  std::int64_t saved_step_;
  Clock::time_point saved_at_ = Clock::now();
};

constexpr std::int64_t kStepsBetweenLooks = 16;  // at the clock, the listener and the other threads

TestedHead train(Job& job, const RunDirectory& directory, double checkpoint_seconds, ProgressMeter& meter,
                 const std::atomic<bool>& given_up) {
  Training training(job, directory);
  while (!training.finished() && !given_up) {
    std::int64_t steps = 0;
    for (; steps < kStepsBetweenLooks && !training.finished(); ++steps) training.step();
    try {
      meter.add(static_cast<double>(steps));
    } catch (...) {  // the listener ends the run: what was trained so far is kept
      training.save();
      throw;
    }
    if (training.seconds_since_save() >= checkpoint_seconds) training.save();
  }
  training.save();
  if (given_up) return {};
  return training.result();
}

RunStanding standing_of(const RunSettings& settings, const std::vector<Job>& jobs,
                        const RunDirectory& directory) {
  RunStanding standing;
  for (const Job& job : jobs) {
    standing.heads.push_back({.arm = job.arm->name,
                              .seed = job.seed,
                              .step = job.begun ? job.begun->state.step : 0,
                              .steps = job.arm->training.steps});
    for (const std::int64_t n : settings.test.sizes) {
      ++standing.tests;
      if (std::filesystem::exists(directory.tested(job.arm->name, job.seed, n))) ++standing.tested;
    }
  }
  return standing;
}

}  // namespace

std::vector<TestedHead> train_all(const RunSettings& settings, const RunDirectory& directory,
                                  const RunOptions& options) {
  std::vector<Job> jobs = jobs_of(settings, directory);
  if (options.standing) options.standing(standing_of(settings, jobs, directory));
  double done = 0.0, total = 0.0;
  for (const Job& job : jobs) {
    done += job.begun ? static_cast<double>(job.begun->state.step) : 0.0;
    total += static_cast<double>(job.arm->training.steps);
  }
  ProgressMeter meter(Phase::training, done, total, options.progress);
  std::atomic<bool> given_up = false;  // one head failed: the others save and end
  std::vector<TestedHead> heads(jobs.size());
  parallel_for(threads_for(options.threads), static_cast<std::int64_t>(jobs.size()),
               [&](std::int64_t i, int) {
                 if (given_up) return;
                 try {
                   heads[static_cast<std::size_t>(i)] = train(jobs[static_cast<std::size_t>(i)], directory,
                                                              options.checkpoint_seconds, meter, given_up);
                 } catch (...) {
                   given_up = true;
                   throw;
                 }
               });
  return heads;
}

}  // namespace sharpmax::retrieval
