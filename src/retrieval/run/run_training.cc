#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <optional>

#include "base/threads.h"
#include "retrieval/run/run.h"
#include "retrieval/training/training.h"
#include "sharpmax/error.h"

namespace sharpmax::retrieval {

struct HeadJob {
  const Arm* arm = nullptr;
  std::uint64_t seed = 0;
};

namespace {

using Clock = std::chrono::steady_clock;

std::vector<HeadJob> jobs_of(const RunSettings& settings) {
  std::vector<HeadJob> jobs;
  for (const Arm& arm : settings.arms)
    for (const std::uint64_t seed : settings.seeds) jobs.push_back({.arm = &arm, .seed = seed});
  return jobs;
}

// Nothing if the training has not begun.
std::optional<Checkpoint> checkpoint_of(const HeadJob& job, const RunFiles& files) {
  const auto file = files.checkpoint(job.arm->name, job.seed);
  if (!std::filesystem::exists(file)) return std::nullopt;
  Checkpoint begun;
  try {
    begun = load_state(file);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}; delete it to train this head from the beginning", error.what()));
  }
  if (begun.arm != job.arm->name || begun.seed != job.seed || begun.training != job.arm->training)
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: it is of another head than seed {} of arm {}; delete it to train this "
                            "head from the beginning",
                            file.string(), job.seed, job.arm->name));
  return begun;
}

class Training {
 public:
  Training(const HeadJob& job, const RunDirectory& directory, const std::optional<Checkpoint>& begun)
      : job_(job),
        directory_(directory),
        trainer_(begun ? Trainer(settings(), job.seed, begun->state) : Trainer(settings(), job.seed)),
        curve_(begun ? LossCurve(settings().steps, begun->loss_sums) : LossCurve(settings().steps)),
        saved_step_(begun ? begun->state.step : -1) {}

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
    tested.file = std::filesystem::relative(file(), directory_.root()).generic_string();
    return tested;
  }
  void save_result() const { save_head(file(), result().head); }

 private:
  const TrainingSettings& settings() const { return job_.arm->training; }
  std::filesystem::path file() const { return directory_.head(job_.arm->name, job_.seed); }

  const HeadJob& job_;
  const RunDirectory& directory_;
  Trainer trainer_;
  LossCurve curve_;
  std::int64_t saved_step_;
  Clock::time_point saved_at_ = Clock::now();
};

constexpr std::int64_t kStepsBetweenLooks = 16;  // at the clock, the listener and the other threads

void train(const HeadJob& job, const RunDirectory& directory, double checkpoint_seconds, ProgressMeter& meter,
           const std::atomic<bool>& given_up) {
  Training training(job, directory, checkpoint_of(job, directory));
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
  if (!given_up) training.save_result();
}

// A head whose checkpoint was deleted is to be trained from the beginning. Processes write the checkpoint first.
void train_again(const HeadJob& job, const RunDirectory& directory) {
  std::error_code ignored;
  std::filesystem::remove(directory.head(job.arm->name, job.seed), ignored);
}

RunStanding standing_of(const RunSettings& settings, const std::vector<HeadJob>& jobs,
                        const RunDirectory& directory) {
  RunStanding standing;
  for (const HeadJob& job : jobs) {
    const std::optional<Checkpoint> begun = checkpoint_of(job, directory);
    if (!begun) train_again(job, directory);
    standing.heads.push_back({.arm = job.arm->name,
                              .seed = job.seed,
                              .step = begun ? begun->state.step : 0,
                              .steps = job.arm->training.steps});
    for (const std::int64_t n : settings.test.sizes) {
      ++standing.tests;
      if (std::filesystem::exists(directory.tested(job.arm->name, job.seed, n))) ++standing.tested;
    }
  }
  return standing;
}

double steps_in(const RunStanding& standing, std::int64_t RunStanding::Training::*which) {
  double sum = 0.0;
  for (const auto& head : standing.heads) sum += static_cast<double>(head.*which);
  return sum;
}

}  // namespace

struct HeadTraining::Parts {
  Parts(const RunSettings& settings, const RunDirectory& in, const RunOptions& with, const RunStanding& standing)
      : directory(in),
        options(with),
        jobs(jobs_of(settings)),
        deal(in.claims(), run_pieces(settings, in).front().second, with.launch),
        meter(Phase::training, steps_in(standing, &RunStanding::Training::step),
              steps_in(standing, &RunStanding::Training::steps), with.progress) {}

  const RunDirectory& directory;
  const RunOptions& options;
  std::vector<HeadJob> jobs;
  Deal deal;
  ProgressMeter meter;
};

HeadTraining::HeadTraining(const RunSettings& settings, const RunDirectory& directory, const RunOptions& options) {
  const RunStanding standing = standing_of(settings, jobs_of(settings), directory);
  if (options.standing) options.standing(standing);
  parts_ = std::make_unique<Parts>(settings, directory, options, standing);
}

HeadTraining::~HeadTraining() = default;

std::size_t HeadTraining::train_free() {
  Parts& p = *parts_;
  std::atomic<bool> given_up = false;  // one head failed: the others save and end
  const auto heads = static_cast<std::int64_t>(p.jobs.size());
  parallel_for(threads_for(p.options.threads), heads, [&](std::int64_t, int) {
    if (given_up) return;
    try {
      const std::optional<Deal::Taken> taken = p.deal.next();
      if (!taken) return;
      train(p.jobs[taken->index], p.directory, p.options.checkpoint_seconds, p.meter, given_up);
    } catch (...) {
      given_up = true;
      throw;
    }
  });
  return p.deal.left();
}

void HeadTraining::load(std::vector<TestedHead>& heads) const {
  const Parts& p = *parts_;
  heads.resize(p.jobs.size());
  for (std::size_t i = 0; i < p.jobs.size(); ++i) {
    const HeadJob& job = p.jobs[i];
    if (!heads[i].file.empty() || !std::filesystem::exists(p.directory.head(job.arm->name, job.seed))) continue;
    Training training(job, p.directory, checkpoint_of(job, p.directory));
    while (!training.finished()) training.step();  // without locks, a slower process may have replaced the last checkpoint
    training.save();
    heads[i] = training.result();
  }
}

}  // namespace sharpmax::retrieval
