#include "train/run/run.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/numbers.h"
#include "base/threads.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "learning/kernels.h"
#include "storage/files.h"

namespace sharpmax::train {

using Clock = std::chrono::steady_clock;

inline double seconds_past(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct ModelJob {
  TrainingPlan plan;
  std::int64_t steps = 0;
  bool per_head = false;                // whether a table of normalizers is chosen, and
  std::vector<std::string> candidates;  // of which
};

// Steps of all models, told to the listener now and then.
class StepMeter {
 public:
  StepMeter(double done, double total, const std::function<void(const std::string&)>& listener)
      : before_(done), done_(done), total_(total), listener_(listener) {}

  void add(double steps, double loss) {
    const std::lock_guard guard(mutex_);
    done_ += steps;
    if (!listener_ || (seconds_past(told_) < kSeconds && done_ < total_)) return;
    told_ = Clock::now();
    const double seconds = seconds_past(began_), speed = (done_ - before_) / std::max(seconds, 1e-9);
    listener_(fmt::format("training: step {} of {} ({:.0f} %), {} steps/s, loss {:.3g}, {} left",
                          grouped(static_cast<long long>(done_)), grouped(static_cast<long long>(total_)),
                          100.0 * done_ / total_, one_decimal(speed), loss,
                          duration((total_ - done_) / speed)));
  }

  void say(const std::string& line) {
    const std::lock_guard guard(mutex_);
    if (listener_) listener_(line);
  }

 private:
  static constexpr double kSeconds = 0.1;
  double before_, done_, total_;
  const std::function<void(const std::string&)>& listener_;
  Clock::time_point began_ = Clock::now(), told_{};
  std::mutex mutex_;
};

namespace {

std::vector<ModelJob> jobs_of(const RunSettings& settings) {
  std::vector<ModelJob> jobs;
  for (const Arm& arm : settings.arms)
    for (const std::uint64_t seed : settings.seeds)
      jobs.push_back({.plan = {settings.task, settings.decoder, settings.optimizer, arm, seed},
                      .steps = Course(settings.optimizer, arm).steps(),
                      .per_head = settings.test.per_head,
                      .candidates = settings.test.normalizers});
  return jobs;
}

// A file that this run wrote before it was killed.
ChosenTable load_chosen(const std::filesystem::path& path) {
  ChosenTable table;
  try {
    read_json(parse_json(read_text(path), path.string()), table);
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: not a table of normalizers per head: {}; delete it to choose again",
                                                 path.string(), error.what()));
  }
  return table;
}

// Nothing if the training has not begun.
std::optional<Checkpoint> checkpoint_of(const ModelJob& job, const RunFiles& files) {
  const auto file = files.checkpoint(job.plan.arm.name, job.plan.seed);
  if (!std::filesystem::exists(file)) return std::nullopt;
  return load_checkpoint(file, job.plan);
}

class Training {
 public:
  Training(const ModelJob& job, const Directory& directory, int threads, std::optional<Checkpoint> begun)
      : job_(job),
        directory_(directory),
        curve_(begun ? learning::LossCurve(job.steps, begun->loss_sums) : learning::LossCurve(job.steps)),
        saved_step_(begun ? begun->state.step : -1),
        trainer_(begun ? Trainer(job.plan, threads, std::move(begun->state)) : Trainer(job.plan, threads)) {}

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
  double seconds_since_save() const { return seconds_past(saved_at_); }

  // Chooses a normalizer per head, if the run does, and keeps it.
  void choose_table(int threads, StepMeter* meter) {
    if (!job_.per_head) return;
    const TrainingPlan& plan = job_.plan;
    const auto task = task_kind(plan.task.task).make(plan.task);
    ChoiceRequest request{.task = task.get(),
                          .decoder = plan.decoder,
                          .sizes = sizes_to_choose_at(*task, plan.task.largest_size),
                          .own = trainer_.normalizers(),
                          .candidates = job_.candidates,
                          .threads = threads,
                          .progress = {}};
    if (meter)
      request.progress = [&](std::int64_t trials) {
        meter->say(fmt::format("choosing a normalizer per head: arm {}, seed {}, {} tables tried", plan.arm.name, plan.seed,
                               trials));
      };
    table_ = choose(trainer_.state().parameters, request);
    table_->arm = plan.arm.name;
    table_->seed = plan.seed;
    write_text(directory_.chosen(plan.arm.name, plan.seed), json_of(*table_).dump() + "\n");
  }
  void load_table() {
    const auto file = directory_.chosen(job_.plan.arm.name, job_.plan.seed);
    if (job_.per_head && std::filesystem::exists(file))
      table_ = load_chosen(file);
    else
      choose_table(1, nullptr);
  }

  void save_result() const {
    save_model(directory_.model(job_.plan.arm.name, job_.plan.seed), job_.plan, trainer_.state(),
               trainer_.normalizers(), table_ ? table_->heads : std::vector<ChosenHead>{});
  }
  Trained result() const {
    const Arm& arm = job_.plan.arm;
    const auto file = directory_.model(arm.name, job_.plan.seed);
    const TrainingState& state = trainer_.state();
    Trained trained{job_.plan,
                    {.arm = arm.name,
                     .seed = job_.plan.seed,
                     .file = std::filesystem::relative(file, directory_.root()).generic_string(),
                     .parameters = static_cast<std::int64_t>(state.parameters.size()),
                     .steps = state.step,
                     .tokens = state.tokens,
                     .loss_curve = curve_.points()},
                    state.parameters,
                    trainer_.normalizers(),
                    table_};
    const auto& curve = trained.model.loss_curve;
    trained.model.loss = curve.empty() ? std::numeric_limits<double>::quiet_NaN() : curve.back().second;
    for (const AnyNormalizer& normalizer : trained.normalizers)
      trained.model.normalizers.push_back(normalizer.text());
    return trained;
  }

 private:
  const ModelJob& job_;
  const Directory& directory_;
  learning::LossCurve curve_;
  std::int64_t saved_step_;
  Trainer trainer_;
  std::optional<ChosenTable> table_;
  Clock::time_point saved_at_ = Clock::now();
};

// Saves before any exception leaves: an interrupt, or a loss that diverged, whose last good state is kept.
void train_one(const ModelJob& job, const Directory& directory, int threads, double checkpoint_seconds,
               StepMeter& meter, const std::atomic<bool>& given_up) {
  constexpr int kStepsBetweenLooks = 4;
  Training training(job, directory, threads, checkpoint_of(job, directory));
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
  if (given_up) return;
  training.choose_table(threads, &meter);
  training.save_result();
}

struct Standing {
  double done = 0.0, total = 0.0;  // steps
  std::size_t finished = 0;        // models
};

// A model whose checkpoint was deleted is to be trained from the beginning. Processes write the checkpoint first.
Standing standing_of(const std::vector<ModelJob>& jobs, const Directory& directory) {
  Standing standing;
  for (const ModelJob& job : jobs) {
    const std::optional<Checkpoint> begun = checkpoint_of(job, directory);
    std::error_code ignored;
    if (!begun)
      std::filesystem::remove(directory.model(job.plan.arm.name, job.plan.seed) / "config.json", ignored);
    const std::int64_t step = begun ? begun->state.step : 0;
    standing.done += static_cast<double>(step);
    standing.total += static_cast<double>(job.steps);
    standing.finished += step == job.steps ? 1 : 0;
  }
  return standing;
}

}  // namespace

struct ModelTraining::Parts {
  Parts(const RunSettings& settings, const Directory& in, const RunOptions& with, const Standing& standing)
      : directory(in),
        options(with),
        jobs(jobs_of(settings)),
        deal(in.claims(), run_pieces(settings, in).front().second, with.launch),
        meter(standing.done, standing.total, with.progress) {}

  const Directory& directory;
  const RunOptions& options;
  std::vector<ModelJob> jobs;
  Deal deal;
  StepMeter meter;
};

ModelTraining::ModelTraining(const RunSettings& settings, const Directory& directory, const RunOptions& options) {
  const std::vector<ModelJob> jobs = jobs_of(settings);
  const Standing standing = standing_of(jobs, directory);
  if (options.standing)
    options.standing(fmt::format("{} of {} models are trained, {} of {} steps are done", standing.finished,
                                 jobs.size(), grouped(static_cast<long long>(standing.done)),
                                 grouped(static_cast<long long>(standing.total))));
  parts_ = std::make_unique<Parts>(settings, directory, options, standing);
}

ModelTraining::~ModelTraining() = default;

std::size_t ModelTraining::train_free() {
  Parts& p = *parts_;
  std::atomic<bool> given_up = false;  // one model failed: the others save and end
  // Side by side is faster than together, but leaves threads idle if there are fewer models. Bits are the
  // same.
  const int threads = threads_for(p.options.threads);
  const auto models = static_cast<std::int64_t>(p.jobs.size());
  const bool side_by_side = models >= threads;
  parallel_for(side_by_side ? threads : 1, models, [&](std::int64_t, int) {
    if (given_up) return;
    try {
      const std::optional<Deal::Taken> taken = p.deal.next();
      if (!taken) return;
      train_one(p.jobs[taken->index], p.directory, side_by_side ? 1 : threads, p.options.checkpoint_seconds,
                p.meter, given_up);
    } catch (...) {
      given_up = true;
      throw;
    }
  });
  return p.deal.left();
}

void ModelTraining::load(std::vector<Trained>& models) const {
  const Parts& p = *parts_;
  models.resize(p.jobs.size());
  for (std::size_t i = 0; i < p.jobs.size(); ++i) {
    const ModelJob& job = p.jobs[i];
    if (!models[i].parameters.empty() || !std::filesystem::exists(p.deal.pieces()[i].file)) continue;
    Training training(job, p.directory, 1, checkpoint_of(job, p.directory));
    // Without locks, a slower process may have replaced the last checkpoint.
    while (!training.finished()) training.step();
    training.save();
    training.load_table();
    models[i] = training.result();
  }
}

}  // namespace sharpmax::train
