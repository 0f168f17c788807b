#include "train/run/run.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>

#include "base/numbers.h"
#include "base/threads.h"
#include "learning/kernels.h"

namespace sharpmax::train {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct Job {
  TrainingPlan plan;
  std::int64_t steps = 0;
  std::optional<Checkpoint> begun;
};

// All checkpoints are read before anything is trained: a damaged one ends the run while nothing is lost.
std::vector<Job> jobs_of(const RunSettings& settings, const Directory& directory) {
  std::vector<Job> jobs;
  for (const Arm& arm : settings.arms) {
    for (const std::uint64_t seed : settings.seeds) {
      Job job{.plan = {settings.task, settings.decoder, settings.optimizer, arm, seed}};
      job.steps = Course(settings.optimizer, arm).steps();
      const auto file = directory.checkpoint(arm.name, seed);
      if (std::filesystem::exists(file)) job.begun = load_checkpoint(file, job.plan);
      jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

// Steps of all models, told to the listener now and then.
class Meter {
 public:
  Meter(double done, double total, const std::function<void(const std::string&)>& listener)
      : before_(done), done_(done), total_(total), listener_(listener) {}

  void add(double steps, double loss) {
    const std::lock_guard guard(mutex_);
    done_ += steps;
    if (!listener_ || (since(told_) < kSeconds && done_ < total_)) return;
    told_ = Clock::now();
    const double seconds = since(began_), speed = (done_ - before_) / std::max(seconds, 1e-9);
    listener_(fmt::format("training: step {} of {} ({:.0f} %), {} steps/s, loss {:.3g}, {} left",
                          grouped(static_cast<long long>(done_)), grouped(static_cast<long long>(total_)),
                          100.0 * done_ / total_, one_decimal(speed), loss,
                          duration((total_ - done_) / speed)));
  }

 private:
  static constexpr double kSeconds = 0.1;
  double before_, done_, total_;
  const std::function<void(const std::string&)>& listener_;
  Clock::time_point began_ = Clock::now(), told_{};
  std::mutex mutex_;
};

class Training {
 public:
  Training(Job& job, const Directory& directory, int threads)
      : job_(job),
        directory_(directory),
        curve_(job.begun ? learning::LossCurve(job.steps, job.begun->loss_sums)
                         : learning::LossCurve(job.steps)),
        saved_step_(job.begun ? job.begun->state.step : -1),
        trainer_(job.begun ? Trainer(job.plan, threads, std::move(job.begun->state))
                           : Trainer(job.plan, threads)) {}

  bool finished() const { return trainer_.finished(); }
  double step() {
    const std::int64_t at = trainer_.state().step;
    const double loss = trainer_.step().loss;
    curve_.add(at, loss);
    return loss;
  }
  void save() {
    if (trainer_.state().step == saved_step_) return;
    save_checkpoint(directory_.checkpoint(job_.plan.arm.name, job_.plan.seed), job_.plan,
                    {trainer_.state(), curve_.sums()});
    saved_step_ = trainer_.state().step;
    saved_at_ = Clock::now();
  }
  double seconds_since_save() const { return since(saved_at_); }

  Trained result() const {
    const Arm& arm = job_.plan.arm;
    const auto file = directory_.model(arm.name, job_.plan.seed);
    const TrainingState& state = trainer_.state();
    save_model(file, job_.plan, state, trainer_.normalizers());
    Trained trained{job_.plan,
                    {.arm = arm.name,
                     .seed = job_.plan.seed,
                     .file = std::filesystem::relative(file, directory_.root()).generic_string(),
                     .parameters = static_cast<std::int64_t>(state.parameters.size()),
                     .steps = state.step,
                     .tokens = state.tokens,
                     .loss_curve = curve_.points()},
                    state.parameters,
                    trainer_.normalizers()};
    const auto& curve = trained.model.loss_curve;
    trained.model.loss = curve.empty() ? std::numeric_limits<double>::quiet_NaN() : curve.back().second;
    for (const AnyNormalizer& normalizer : trained.normalizers)
      trained.model.normalizers.push_back(normalizer.text());
    return trained;
  }

 private:
  const Job& job_;
  const Directory& directory_;
  learning::LossCurve curve_;
  std::int64_t saved_step_;
  Trainer trainer_;
  Clock::time_point saved_at_ = Clock::now();
};

// Saves before any exception leaves: an interrupt, or a loss that diverged, whose last good state is kept.
Trained train_one(Job& job, const Directory& directory, int threads, double checkpoint_seconds, Meter& meter,
                  const std::atomic<bool>& given_up) {
  constexpr int kStepsBetweenLooks = 4;
  Training training(job, directory, threads);
  try {
    while (!training.finished() && !given_up) {
      int steps = 0;
      double loss = 0.0;
      for (; steps < kStepsBetweenLooks && !training.finished(); ++steps) loss = training.step();
      meter.add(steps, loss);
      if (training.seconds_since_save() >= checkpoint_seconds) training.save();
    }
  } catch (...) {
    training.save();
    throw;
  }
  training.save();
  if (given_up) return {};
  return training.result();
}

}  // namespace

std::vector<Trained> train_all(const RunSettings& settings, const Directory& directory,
                               const RunOptions& options) {
  std::vector<Job> jobs = jobs_of(settings, directory);
  double done = 0.0, total = 0.0;
  std::size_t finished = 0;
  for (const Job& job : jobs) {
    const std::int64_t step = job.begun ? job.begun->state.step : 0;
    done += static_cast<double>(step);
    total += static_cast<double>(job.steps);
    finished += step == job.steps ? 1 : 0;
  }
  if (options.standing)
    options.standing(fmt::format("{} of {} models are trained, {} of {} steps are done", finished,
                                 jobs.size(), grouped(static_cast<long long>(done)),
                                 grouped(static_cast<long long>(total))));
  Meter meter(done, total, options.progress);
  std::atomic<bool> given_up = false;  // one model failed: the others save and end
  std::vector<Trained> trained(jobs.size());
  // Side by side is faster than together, but leaves threads idle if there are fewer models. Bits are the
  // same.
  const int threads = threads_for(options.threads);
  const bool side_by_side = static_cast<int>(jobs.size()) >= threads;
  parallel_for(side_by_side ? threads : 1, static_cast<std::int64_t>(jobs.size()), [&](std::int64_t i, int) {
    if (given_up) return;
    const auto at = static_cast<std::size_t>(i);
    try {
      trained[at] = train_one(jobs[at], directory, side_by_side ? 1 : threads, options.checkpoint_seconds,
                              meter, given_up);
    } catch (...) {
      given_up = true;
      throw;
    }
  });
  return trained;
}

}  // namespace sharpmax::train
